/** Lines of a body that comes in piece by piece, one at a time, however long the body is. */
import type { Readable } from 'node:stream';
import { TurnwrightError } from '../ledger/errors.ts';

const BREAK = 0x0a;
/** Above the largest record by far; a stranger's endless line must not fill the memory. */
const MAX_LINE_BYTES = 256 * 1024 * 1024;

/**
 * Breaks are left out, and a last line needs none.
 *
 * @throws TurnwrightError `invalid_request` where nothing came for `stallMs`, or a line does not end.
 */
export async function* bodyLines(body: Readable, stallMs: number): AsyncGenerator<string> {
  let begun: Buffer[] = [];
  let bytes = 0;
  for await (const piece of unstalled(body, stallMs)) {
    let from = 0;
    for (let at = piece.indexOf(BREAK); at !== -1; at = piece.indexOf(BREAK, from)) {
      yield Buffer.concat([...begun, piece.subarray(from, at)]).toString('utf8');
      begun = [];
      bytes = 0;
      from = at + 1;
    }
    if (from === piece.length) continue;
    begun.push(piece.subarray(from));
    bytes += piece.length - from;
    if (bytes > MAX_LINE_BYTES)
      throw new TurnwrightError('invalid_request', `A line of the body exceeds ${MAX_LINE_BYTES} bytes.`);
  }
  if (bytes > 0) yield Buffer.concat(begun).toString('utf8');
}

async function* unstalled(body: Readable, stallMs: number): AsyncGenerator<Buffer> {
  const late = () =>
    body.destroy(new TurnwrightError('invalid_request', `The body stopped coming in for ${stallMs} ms.`));
  let timer = setTimeout(late, stallMs);
  try {
    for await (const piece of body) {
      clearTimeout(timer);
      yield piece as Buffer;
      timer = setTimeout(late, stallMs);
    }
  } finally {
    clearTimeout(timer);
  }
}
