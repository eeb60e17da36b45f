import { describe, expect, it } from 'vitest';
import { failureOf, Interrupted, UsageError } from '../../../src/cli/exit.ts';
import { TurnwrightApiError } from '../../../src/client/index.ts';
import { ERROR_CATALOGUE, type ErrorCode, TurnwrightError } from '../../../src/ledger/errors.ts';

const CODES = Object.keys(ERROR_CATALOGUE) as ErrorCode[];

describe('exit codes', () => {
  it.each(CODES)('%s keeps its code and message, and is no success', (code) => {
    const failure = failureOf(new TurnwrightError(code, 'what was wrong'));
    expect(failure).toMatchObject({ code, message: 'what was wrong' });
    expect([1, 2, 3]).toContain(failure.exit);
  });

  it.each([
    ['database_unreachable', 3],
    ['queue_unreachable', 3],
    ['migration_required', 3],
    ['roles_missing', 3],
    ['config_invalid', 2],
    ['invalid_request', 2],
    ['unknown_leg', 2],
    ['data_folder_in_use', 1],
    ['turn_closed', 1],
    ['internal', 1],
  ] as const)('%s exits %i', (code, exit) => {
    expect(failureOf(new TurnwrightError(code, 'm')).exit).toBe(exit);
  });

  it('a server that does not answer, or answers that it cannot, exits 3', () => {
    expect(failureOf(new TurnwrightApiError('server_unreachable', 0, 'm')).exit).toBe(3);
    expect(failureOf(new TurnwrightApiError('unavailable', 503, 'm')).exit).toBe(3);
    expect(failureOf(new TurnwrightApiError('turn_not_found', 404, 'm')).exit).toBe(1);
  });

  it('bad usage exits 2, an interruption and a defect 1', () => {
    expect(failureOf(new UsageError('m'))).toMatchObject({ exit: 2, code: 'usage' });
    expect(failureOf(new Interrupted())).toMatchObject({ exit: 1, code: 'interrupted' });
    expect(failureOf(new Error('boom'))).toMatchObject({ exit: 1, code: 'internal', message: 'boom' });
    expect(failureOf('a text')).toMatchObject({ exit: 1, message: 'a text' });
  });
});
