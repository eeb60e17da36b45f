/** How a command ends, for the shell and for people. */
import { SERVER_UNREACHABLE, TurnwrightApiError } from '../client/index.ts';
import { type ErrorCode, TurnwrightError } from '../ledger/errors.ts';

export const EXIT = { done: 0, failed: 1, usage: 2, unreachable: 3 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The command line itself is wrong. */
export class UsageError extends Error {}

/** Ctrl-C came before the work was done. */
export class Interrupted extends Error {
  constructor() {
    super('Stopped before the work was done.');
  }
}

export interface Failure {
  readonly exit: ExitCode;
  readonly code: string;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

/** Something else must be started, migrated or allowed before this command can work. */
const UNREACHABLE: ReadonlySet<string> = new Set([
  'database_unreachable',
  'queue_unreachable',
  'migration_required',
  'roles_missing',
  SERVER_UNREACHABLE,
] satisfies (ErrorCode | typeof SERVER_UNREACHABLE)[]);

/** The caller asked for something that cannot be. */
const MISUSED: ReadonlySet<string> = new Set([
  'config_invalid',
  'invalid_request',
  'unknown_leg',
  'unknown_tool',
  'body_too_large',
] satisfies ErrorCode[]);

export function failureOf(error: unknown): Failure {
  if (error instanceof UsageError) return failure(EXIT.usage, 'usage', error.message);
  if (error instanceof Interrupted) return failure(EXIT.failed, 'interrupted', error.message);
  if (error instanceof TurnwrightError || error instanceof TurnwrightApiError) {
    return failure(exitOf(error.code, error.status), error.code, error.message, error.details);
  }
  const code = systemCode(error);
  const message = error instanceof Error ? error.message : String(error);
  if (code === 'EADDRINUSE' || code === 'EACCES') return failure(EXIT.failed, code.toLowerCase(), message);
  return failure(EXIT.failed, 'internal', message);
}

function exitOf(code: string, status: number): ExitCode {
  if (UNREACHABLE.has(code) || status === 502 || status === 503 || status === 504) return EXIT.unreachable;
  return MISUSED.has(code) ? EXIT.usage : EXIT.failed;
}

function failure(exit: ExitCode, code: string, message: string, details?: Failure['details']): Failure {
  return { exit, code, message, details };
}

function systemCode(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}
