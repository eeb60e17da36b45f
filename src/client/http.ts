/** One request to the server: bearer key, JSON in and out, failures as `TurnwrightApiError`. */
import { errorOfResponse, SERVER_UNREACHABLE, TurnwrightApiError } from './api-error.ts';

export type Fetch = (input: string, init: RequestInit) => Promise<Response>;

/** Bounds a server that accepts and never answers. Accepting a turn takes milliseconds. */
const ANSWER_MS = 30_000;

export interface HttpOptions {
  readonly url: string;
  readonly key: string;
  readonly fetch: Fetch;
}

/** A body that is sent as it is: bytes of this media type, as they come. */
export interface Streamed {
  readonly type: string;
  readonly stream: ReadableStream<Uint8Array>;
}

export interface SendOptions {
  readonly body?: unknown;
  /** In the place of `body`. However long it takes, nothing bounds it but the caller's signal. */
  readonly streamed?: Streamed;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

export class Http {
  readonly #base: string;
  readonly #key: string;
  readonly #fetch: Fetch;

  constructor({ url, key, fetch }: HttpOptions) {
    this.#base = baseOf(url);
    this.#key = key;
    this.#fetch = fetch;
  }

  async json<Answer>(method: string, path: string, options: SendOptions = {}): Promise<Answer> {
    const response = await this.#send(method, path, 'application/json', options);
    try {
      return (await response.json()) as Answer;
    } catch (cause) {
      throw this.#unreachable(cause, options.signal);
    }
  }

  /** The answer's body as it comes in; only the wait for its head is bounded. */
  async stream(
    path: string,
    options: SendOptions = {},
    accept = 'text/event-stream',
  ): Promise<ReadableStream<Uint8Array>> {
    const response = await this.#send('GET', path, accept, options);
    if (response.body === null) throw this.#unreachable(new Error('the answer has no body'), options.signal);
    return response.body;
  }

  async #send(method: string, path: string, accept: string, options: SendOptions): Promise<Response> {
    const late = new AbortController();
    const { body, streamed, headers, signal } = options;
    const timer =
      streamed === undefined
        ? setTimeout(() => late.abort(new Error(`no answer within ${ANSWER_MS} ms`)), ANSWER_MS)
        : undefined;
    const init: RequestInit = {
      method,
      headers: {
        accept,
        authorization: `Bearer ${this.#key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(streamed === undefined ? {} : { 'content-type': streamed.type }),
        ...headers,
      },
      signal: signal === undefined ? late.signal : AbortSignal.any([signal, late.signal]),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      ...(streamed === undefined ? {} : { body: streamed.stream, duplex: 'half' }),
    };
    let response: Response;
    try {
      response = await this.#fetch(`${this.#base}${path}`, init);
    } catch (cause) {
      throw this.#unreachable(cause, signal);
    } finally {
      clearTimeout(timer);
    }
    if (!response.ok) throw await errorOfResponse(response);
    return response;
  }

  /** A caller's own abort stays what it was. */
  #unreachable(cause: unknown, signal: AbortSignal | undefined): unknown {
    if (signal?.aborted === true) return signal.reason;
    return new TurnwrightApiError(
      SERVER_UNREACHABLE,
      0,
      `No server answers at ${this.#base} (${reasonOf(cause)}). Start one with \`turnwright up\`, or set its URL.`,
      { cause },
    );
  }
}

/** What is undefined is left out. */
export function queryOf(members: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(members).flatMap(([name, value]): [string, string][] =>
    value === undefined ? [] : [[name, String(value)]],
  );
  return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
}

function baseOf(url: string): string {
  const found = URL.canParse(url) ? new URL(url) : null;
  if (found === null || (found.protocol !== 'http:' && found.protocol !== 'https:')) {
    throw new TypeError(`The server's URL is "${url}"; write a full http:// or https:// address.`);
  }
  return `${found.origin}${found.pathname.replace(/\/+$/, '')}`;
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { cause } = error;
  if (cause instanceof Error && 'code' in cause && typeof cause.code === 'string') return cause.code;
  return error.message;
}
