/** A request that was made again, in words. */
import type { SentRequest } from '../client/index.ts';

export function requestText(sent: SentRequest): string {
  const messages = sent.messages === null ? '' : `, ${sent.messages} messages`;
  return [
    `step      ${sent.step} of turn ${sent.turn}, ${sent.settlement}`,
    `sent      ${sent.request_digest}`,
    `rebuilt   ${sent.rebuilt_digest ?? 'not possible'}`,
    `size      ${sent.request_bytes} bytes${messages}`,
    verdictOf(sent),
  ].join('\n');
}

function verdictOf({ same, notice }: SentRequest): string {
  if (same === null) return notice ?? 'Whether they are the same cannot be told.';
  return same
    ? 'The records make the bytes that were sent.'
    : 'The records do not make the bytes that were sent: something was altered. Run `turnwright session verify`.';
}
