/** What the server, or the way to it, refused. */

/** No answer came: refused, reset or timed out. */
export const SERVER_UNREACHABLE = 'server_unreachable';

/** Statuses after which the same request may succeed. */
const RETRYABLE_STATUSES: ReadonlySet<number> = new Set([0, 429, 502, 503, 504]);
/** Conflicts that pass by themselves. */
const RETRYABLE_CODES: ReadonlySet<string> = new Set(['turn_running', 'item_open', 'busy']);

export class TurnwrightApiError extends Error {
  /** Stable: of the error catalogue, or `server_unreachable`. */
  readonly code: string;
  /** HTTP status; 0 when there was no answer. */
  readonly status: number;
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(
    code: string,
    status: number,
    message: string,
    options: { cause?: unknown; details?: Readonly<Record<string, unknown>> | undefined } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'TurnwrightApiError';
    this.code = code;
    this.status = status;
    this.details = options.details;
  }

  /** Whether the same request may succeed later. */
  get retryable(): boolean {
    return RETRYABLE_STATUSES.has(this.status) || RETRYABLE_CODES.has(this.code);
  }
}

/** Reads `{ error: { code, message, details? } }`; another body, as a proxy sends it, is named by its status. */
export async function errorOfResponse(response: Response): Promise<TurnwrightApiError> {
  const text = await response.text().catch(() => '');
  const error = memberOf(parsed(text), 'error');
  const code = memberOf(error, 'code');
  const message = memberOf(error, 'message');
  if (typeof code === 'string' && typeof message === 'string') {
    const details = memberOf(error, 'details');
    return new TurnwrightApiError(code, response.status, message, {
      details: isRecord(details) ? details : undefined,
    });
  }
  return new TurnwrightApiError(
    response.status === 503 ? 'unavailable' : 'unexpected_answer',
    response.status,
    `The server answered ${response.status} without an error of Turnwright; check that the URL is the server's own.`,
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function memberOf(value: unknown, key: string): unknown {
  return isRecord(value) ? value[key] : undefined;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
