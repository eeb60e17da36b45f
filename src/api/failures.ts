/** Every failure as an answer: a stable code, a message that says what to do, never a stack. */
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { Logger } from '../app/logger.ts';
import { type ErrorCode, TurnwrightError } from '../ledger/errors.ts';

const RETRY_AFTER_SECONDS = 1;
/** Postgres classes that pass by themselves: connection, rollback, resources, operator intervention, system. */
const PASSING_SQLSTATE = /^(?:08|40|53|57|58)[0-9A-Z]{3}$/u;
const MAX_SHOWN_CHARS = 60;
const MAX_PROBLEMS = 10;
/** How a schema that lists what it takes begins its own words. */
const ALLOWED = 'allowed is ';

interface Failure {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: {
    readonly error: {
      readonly code: ErrorCode;
      readonly message: string;
      readonly details?: Readonly<Record<string, unknown>>;
    };
  };
}

function failureOf(error: unknown, maxBodyBytes: number): Failure {
  const known = knownError(error, maxBodyBytes);
  const { code, message, details, status } = known;
  const headers: Record<string, string> = {};
  if (status === 503 || status === 429) headers['retry-after'] = String(retryAfterOf(known));
  if (status === 401) headers['www-authenticate'] = 'Bearer realm="turnwright"';
  return {
    status,
    headers,
    body: { error: { code, message, ...(details === undefined ? {} : { details }) } },
  };
}

export function sendFailure(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  { logger }: { readonly logger: Logger },
): FastifyReply {
  const failure = failureOf(error, request.routeOptions.bodyLimit);
  if (failure.status >= 500)
    logger.warn({ err: error, method: request.method, route: request.routeOptions.url }, 'a request failed');
  // The board asks a browser for credentials in its own way.
  const asked = reply.getHeader('www-authenticate');
  reply.code(failure.status).headers(failure.headers);
  return (asked === undefined ? reply : reply.header('www-authenticate', asked)).send(failure.body);
}

/** Says of each problem where it is, what was found and what is allowed. */
export function invalidRequest(error: z.ZodError, input: unknown, where: string): TurnwrightError {
  const problems = error.issues.slice(0, MAX_PROBLEMS).map((issue) => problemOf(issue, input, where));
  return new TurnwrightError('invalid_request', problems.join(' '), { details: { problems } });
}

function problemOf(issue: z.core.$ZodIssue, input: unknown, where: string): string {
  const path = issue.path.map(String).join('.');
  const place = path === '' ? `the ${where}` : `"${path}" of the ${where}`;
  if (issue.code === 'unrecognized_keys') {
    const keys = issue.keys.map((key) => JSON.stringify(key.slice(0, MAX_SHOWN_CHARS)));
    const remedy = issue.message.startsWith(ALLOWED)
      ? issue.message
      : `remove ${keys.length === 1 ? 'it' : 'them'}`;
    return `Unknown ${keys.length === 1 ? 'member' : 'members'} ${keys.join(', ')} in ${place}: ${remedy}.`;
  }
  if (issue.code === 'invalid_union') {
    const inner = issue.errors.flatMap((errors) => errors.map((each) => each.message));
    return `Wrong value in ${place}: found ${shown(input, issue.path)}; ${[...new Set(inner)].join(' or ')}.`;
  }
  return `Wrong value in ${place}: found ${shown(input, issue.path)}; ${issue.message}.`;
}

function shown(input: unknown, path: readonly PropertyKey[]): string {
  const value = path.reduce<unknown>(
    (from, key) => (typeof from === 'object' && from !== null ? Reflect.get(from, key) : undefined),
    input,
  );
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === 'object' && value !== null) return 'an object';
  const text = JSON.stringify(value);
  return text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}…` : text;
}

function knownError(error: unknown, maxBodyBytes: number): TurnwrightError {
  if (error instanceof TurnwrightError) return error;
  const code = codeOf(error);
  if (PASSING_SQLSTATE.test(code))
    return new TurnwrightError(
      'database_unreachable',
      'Postgres cannot serve this right now. Nothing was changed; try again.',
      { cause: error },
    );
  return fromFastify(error, code, maxBodyBytes) ?? internal(error);
}

function fromFastify(error: unknown, code: string, maxBodyBytes: number): TurnwrightError | null {
  const refuse = (as: ErrorCode, message: string) => new TurnwrightError(as, message, { cause: error });
  switch (code) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return refuse(
        'body_too_large',
        `The body is larger than ${maxBodyBytes} bytes. Send less in one request.`,
      );
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return refuse('unsupported_media_type', 'Send the body as application/json.');
    case 'FST_ERR_CTP_INVALID_JSON_BODY':
      return refuse('invalid_request', 'The body is not valid JSON. Send one JSON object.');
    default: {
      const status = (error as Partial<FastifyError> | null)?.statusCode ?? 500;
      if (status < 400 || status >= 500) return null;
      const found = error instanceof Error ? error.message : 'it could not be read';
      return refuse('invalid_request', `The request was refused: ${found}. Correct it and send it again.`);
    }
  }
}

function internal(error: unknown): TurnwrightError {
  return new TurnwrightError('internal', 'A defect of this program. Its log says more.', { cause: error });
}

function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('code' in error)) return '';
  return typeof error.code === 'string' ? error.code : '';
}

function retryAfterOf(error: TurnwrightError): number {
  const seconds = error.details?.retry_after_seconds;
  return typeof seconds === 'number' ? seconds : RETRY_AFTER_SECONDS;
}
