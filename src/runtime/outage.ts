/** Tells an outage, which passes, from a defect, which another try would meet again. */
import { TurnwrightError } from '../ledger/errors.ts';

const SQLSTATE = /^[0-9A-Z]{5}$/u;
/** Classes that stay: bad data, a broken rule, a wrong statement, and the refusals of our own functions. */
const LASTING = /^(?:22|23|42|TW)/u;

export function passes(error: unknown): boolean {
  if (error instanceof TurnwrightError) return error.retryable;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return SQLSTATE.test(code) && !LASTING.test(code);
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
