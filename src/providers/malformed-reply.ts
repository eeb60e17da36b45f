/** A reply that is not what its wire promises: cut, too large, or of the wrong shape. */
export class MalformedReply extends Error {
  override readonly name = 'MalformedReply';
}
