/** The `Idempotency-Key` header: the same key and body name the same turn. */
import { TurnwrightError } from '../ledger/errors.ts';

const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,200}$/u;

export const IDEMPOTENCY_HEADER = {
  name: 'Idempotency-Key',
  description: 'Printable ASCII, at most 200. The same key and body name the same turn.',
} as const;

/** null when there is none. @throws TurnwrightError `invalid_request` for one that is no key. */
export function idempotencyKey(header: string | readonly string[] | undefined): string | null {
  if (header === undefined) return null;
  if (typeof header === 'string' && IDEMPOTENCY_KEY.test(header)) return header;
  throw new TurnwrightError(
    'invalid_request',
    'The Idempotency-Key must be 1 to 200 printable ASCII characters.',
  );
}
