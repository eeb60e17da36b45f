/** From what a provider answered, in a status or in the middle of a stream, to a failure class. */
import type { ProviderFailure } from './contract.ts';
import { saysOverLength, statedLimit } from './over-length.ts';
import { list, lookUp, record, text } from './reading.ts';
import { rateLimitWaitMs, retryAfterMs, statedWaitMs } from './retry-after.ts';

/** A refusal as it came: `body` is parsed JSON, or the text when it was none. */
export interface Refusal {
  /** Absent for an error event inside a stream that began with 200. */
  readonly status?: number;
  readonly headers: Headers;
  readonly body: unknown;
}

interface Reading {
  readonly status: number | undefined;
  readonly codes: readonly (string | null)[];
  readonly message: string;
  readonly error: Fields | null;
}

type Fields = Readonly<Record<string, unknown>>;

/** Statuses under which servers report an over-long prompt; 500 is some runners' way of saying it. */
const OVER_LENGTH_STATUSES: ReadonlySet<number> = new Set([400, 413, 422, 500]);

/** Statuses of error types, for events in a stream, which have none. */
const STATUS_OF_TYPE: Readonly<Record<string, number>> = {
  // https://docs.claude.com/en/api/errors
  invalid_request_error: 400,
  authentication_error: 401,
  permission_error: 403,
  not_found_error: 404,
  rate_limit_error: 429,
  api_error: 500,
  timeout_error: 504,
  overloaded_error: 529,
  // https://platform.openai.com/docs/guides/error-codes
  invalid_api_key: 401,
  rate_limit_exceeded: 429,
  server_error: 500,
};

/** Account states that no wait within a turn repairs, though some come as 400 or 429. */
const ACCOUNT_CODES: ReadonlySet<string> = new Set([
  'insufficient_quota', // https://platform.openai.com/docs/guides/error-codes
  'billing_error', // https://docs.claude.com/en/api/errors
  'enforced_spend_limit_reached', // https://docs.claude.com/en/api/rate-limits
  'API_KEY_INVALID', // https://github.com/continuedev/continue/issues/8516
]);
const ACCOUNT_WORDING = /credit balance is too low/i;

const CONTENT_CODES: ReadonlySet<string> = new Set([
  'content_filter', // https://learn.microsoft.com/azure/ai-services/openai/concepts/content-filter
  'content_policy_violation',
  'ResponsibleAIPolicyViolation',
  'refusal', // https://openrouter.ai/docs/api/reference/errors-and-debugging
]);
const CONTENT_WORDING = /content filter|content management policy|content policy|usage polic(?:y|ies)/i;

/** `nowMs` is the wall clock, for headers that name an instant. Messages are made safe by the caller. */
export function classify(refusal: Refusal, nowMs: number): ProviderFailure {
  const reading = read(refusal);
  const { status, message } = reading;
  const base = { message, ...(refusal.status === undefined ? {} : { status: refusal.status }) };
  if (isOverLength(reading)) {
    const limitTokens = statedLimit(reading.error, message);
    return { kind: 'over_length', ...base, ...(limitTokens === undefined ? {} : { limitTokens }) };
  }
  if (
    isFlagged(reading) ||
    has(reading, CONTENT_CODES) ||
    (status === 400 && CONTENT_WORDING.test(message))
  ) {
    return { kind: 'content', ...base };
  }
  if (has(reading, ACCOUNT_CODES) || status === 402 || ACCOUNT_WORDING.test(message)) {
    return { kind: 'auth', ...base };
  }
  const code = retryCode(reading);
  if (code !== null) {
    const stated = (code === 'rate_limited' ? rateLimitWaitMs : retryAfterMs)(refusal.headers, nowMs);
    const waitMs = stated ?? retryInfoMs(reading);
    return { kind: 'retryable', code, ...base, ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }) };
  }
  return { kind: status === 401 || status === 403 ? 'auth' : 'bad_request', ...base };
}

function isOverLength({ status, codes, message }: Reading): boolean {
  // Also what Groq answers to a request above the minute's allowance of its account, which no wait makes smaller:
  // https://github.com/assafelovic/gpt-researcher/issues/985
  if (status === 413) return true;
  return (status === undefined || OVER_LENGTH_STATUSES.has(status)) && saysOverLength(codes, message);
}

function retryCode({ status, codes }: Reading): 'rate_limited' | 'overloaded' | 'server_error' | null {
  if (codes.includes('overloaded_error') || status === 529 || status === 503) return 'overloaded';
  if (status === 429) return 'rate_limited';
  // An error event of unknown type ended a stream that had begun well: the server's trouble, not the request's.
  if (status === undefined || status >= 500 || status === 408 || status === 409) return 'server_error';
  return null;
}

/** https://openrouter.ai/docs/api/reference/errors-and-debugging: moderation and guardrails refuse with 403. */
function isFlagged({ error }: Reading): boolean {
  const metadata = record(error?.metadata);
  return metadata !== null && ('flagged_input' in metadata || 'patterns' in metadata);
}

/** Google sends no header; its body says how long: https://github.com/googleapis/python-genai/pull/2114 */
function retryInfoMs({ error }: Reading): number | undefined {
  const delays = list(error?.details).map((detail) => statedWaitMs(text(record(detail)?.retryDelay)));
  return delays.find((delayMs) => delayMs !== undefined);
}

function has(reading: Reading, codes: ReadonlySet<string>): boolean {
  return reading.codes.some((code) => code !== null && codes.has(code));
}

/** Finds type, code and message in `{error: {…}}`, `{error: "…"}`, `{message}`, `{detail}` or plain text. */
function read({ status, body }: Refusal): Reading {
  // Google wraps the object in a list: https://github.com/leookun/cursor-byok/issues/112
  const outer = record(list(body)[0] ?? body);
  const inner = outer?.error ?? body;
  const error = record(inner);
  const nested = nestedError(error?.message ?? inner);
  const upstream = upstreamError(error);
  const known = [...codesOf(error), text(nested?.type), ...codesOf(upstream)];
  const own =
    text(error?.message) ??
    text(inner) ??
    text(outer?.detail) ??
    text(outer?.message) ??
    // https://docs.aws.amazon.com/bedrock/latest/APIReference/CommonErrors.html
    text(outer?.Message) ??
    '';
  const theirs = text(upstream?.message);
  const message = theirs === null ? own : `${own}: ${theirs}`;
  return {
    status: status ?? statusOf(error, known),
    codes: known,
    message: message === '' ? `The provider answered ${status ?? 'an error'} without a message.` : message,
    error: nested ?? error,
  };
}

function codesOf(error: Fields | null): readonly (string | null)[] {
  const details = record(error?.details);
  const innerError = record(error?.innererror);
  const metadata = record(error?.metadata);
  const reasons = list(error?.details).map((detail) => record(detail)?.reason);
  const codes = [error?.code, error?.type, details?.error_code, innerError?.code, metadata?.error_type];
  return [...codes, ...reasons].map(text);
}

/** Ollama wraps its runner's error as JSON text inside the message. */
function nestedError(value: unknown): Fields | null {
  const message = text(value);
  if (message === null || !message.startsWith('{')) return null;
  const parsed = record(parsedJson(message));
  return record(parsed?.error) ?? parsed;
}

/** OpenRouter says "Provider returned error" and keeps what the upstream said: https://github.com/tailcallhq/forgecode/issues/1146 */
function upstreamError(error: Fields | null): Fields | null {
  const raw = record(error?.metadata)?.raw;
  const parsed = typeof raw === 'string' ? parsedJson(raw) : raw;
  const outer = record(list(parsed)[0] ?? parsed);
  if (outer === null) return text(parsed) === null ? null : { message: parsed };
  return record(outer.error) ?? outer;
}

function statusOf(error: Fields | null, codes: readonly (string | null)[]): number | undefined {
  for (const code of codes) {
    const status = lookUp(STATUS_OF_TYPE, code);
    if (status !== undefined) return status;
  }
  const stated = error?.code ?? error?.status;
  const number = typeof stated === 'string' ? Number(stated) : stated;
  return typeof number === 'number' && Number.isInteger(number) && number >= 400 && number <= 599
    ? number
    : undefined;
}

/** JSON, or the text itself. */
export function parsedJson(source: string): unknown {
  try {
    return JSON.parse(source);
  } catch {
    return source;
  }
}
