/**
 * One call to a provider, from its deadline to its outcome. The adapter's part either returns what it
 * read or throws; here, and only here, what was thrown becomes a failure.
 */
import type { Delta, ProviderFailure } from './contract.ts';
import { classify } from './failures.ts';
import type { LineWatch } from './line-scanner.ts';
import { MalformedReply } from './malformed-reply.ts';
import { safeMessage } from './redaction.ts';
import { Transport } from './transport.ts';

/** The longest a Node timer can run; beyond it a timer fires at once. */
const MAX_TIMER_MS = 2_147_483_647;
/** An SDK's own timer only has to be later than ours, which tells a timeout from an abort. */
const SDK_SLACK_MS = 60_000;

export interface Wire {
  readonly fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>;
  readonly sdkTimeoutMs: number;
  readonly elapsedMs: () => number;
  readonly deliver: (delta: Delta) => void;
}

interface ExchangeOptions {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly onDelta?: (delta: Delta) => void;
}

export interface ExchangeSettings {
  readonly baseUrl: string;
  readonly secret: string | undefined;
  readonly watch: LineWatch;
  /** The provider's error inside a stream that began well, as the SDK throws it; undefined for any other error. */
  readonly streamError: (error: unknown) => unknown;
}

type Exchanged<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly failure: ProviderFailure };

/** @throws what `onDelta` throws, after closing the request. */
export async function exchange<T>(
  options: ExchangeOptions,
  settings: ExchangeSettings,
  talk: (wire: Wire) => Promise<T>,
): Promise<Exchanged<T>> {
  const stop = new Stop(options);
  const transport = new Transport(stop.signal, settings.watch);
  const startedMs = performance.now();
  const callback = new Callback(options.onDelta, stop);
  try {
    if (stop.cause !== null) return failed(stopFailure(stop.cause, options), settings);
    const value = await talk({
      fetch: transport.fetch,
      sdkTimeoutMs: Math.min(options.timeoutMs + SDK_SLACK_MS, MAX_TIMER_MS),
      elapsedMs: () => Math.round(performance.now() - startedMs),
      deliver: (delta) => callback.deliver(delta),
    });
    return { ok: true, value };
  } catch (error) {
    callback.rethrow();
    if (stop.cause !== null) return failed(stopFailure(stop.cause, options), settings);
    return failed(failureOf(error, transport, settings), settings);
  } finally {
    stop.clear();
    transport.release();
  }
}

/** The caller's abort and our deadline, told apart by which came first. */
class Stop {
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal;
  readonly #timer: NodeJS.Timeout;
  #cause: 'aborted' | 'timeout' | 'callback' | null = null;

  constructor({ signal, timeoutMs }: ExchangeOptions) {
    this.#caller = signal;
    this.#timer = setTimeout(() => this.end('timeout'), Math.min(timeoutMs, MAX_TIMER_MS));
    if (signal.aborted) this.end('aborted');
    else signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get cause(): 'aborted' | 'timeout' | 'callback' | null {
    return this.#cause;
  }

  end(cause: 'aborted' | 'timeout' | 'callback'): void {
    this.#cause ??= cause;
    this.#controller.abort();
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#caller.removeEventListener('abort', this.#onAbort);
  }

  readonly #onAbort = (): void => this.end('aborted');
}

/** Keeps what `onDelta` threw apart from what the wire did. */
class Callback {
  readonly #onDelta: ((delta: Delta) => void) | undefined;
  readonly #stop: Stop;
  #thrown: { readonly error: unknown } | null = null;

  constructor(onDelta: ((delta: Delta) => void) | undefined, stop: Stop) {
    this.#onDelta = onDelta;
    this.#stop = stop;
  }

  /** After the end of a call nothing more is delivered, whatever an SDK still held. */
  deliver(delta: Delta): void {
    if (this.#stop.cause !== null) throw new MalformedReply('The call has ended.');
    try {
      this.#onDelta?.(delta);
    } catch (error) {
      this.#thrown = { error };
      this.#stop.end('callback');
      throw error;
    }
  }

  rethrow(): void {
    if (this.#thrown !== null) throw this.#thrown.error;
  }
}

function stopFailure(
  cause: 'aborted' | 'timeout' | 'callback',
  { timeoutMs }: ExchangeOptions,
): ProviderFailure {
  if (cause !== 'timeout') return { kind: 'aborted', message: 'The caller ended the call.' };
  return {
    kind: 'retryable',
    code: 'timeout',
    message: `The provider did not finish within ${timeoutMs} ms.`,
  };
}

function failureOf(error: unknown, transport: Transport, settings: ExchangeSettings): ProviderFailure {
  if (transport.refusal !== null) return classify(transport.refusal, Date.now());
  if (transport.fault !== null) return malformed(transport.fault.message);
  if (error instanceof MalformedReply) return malformed(error.message);
  const body = settings.streamError(error);
  if (body !== undefined) return classify({ headers: new Headers(), body }, Date.now());
  if (transport.answered) return malformed(`The reply could not be read: ${messageOf(error)}`);
  if (transport.sent) {
    const message = `No answer from ${new URL(settings.baseUrl).host}: ${rootMessage(error)}`;
    return { kind: 'retryable', code: 'network', message };
  }
  return { kind: 'bad_request', message: `The request could not be built: ${messageOf(error)}` };
}

function malformed(message: string): ProviderFailure {
  return { kind: 'retryable', code: 'malformed_reply', message };
}

function failed<T>(failure: ProviderFailure, { secret }: ExchangeSettings): Exchanged<T> {
  return { ok: false, failure: { ...failure, message: safeMessage(failure.message, secret) } };
}

/** SDKs say "Connection error."; the reason is the innermost cause. */
function rootMessage(error: unknown): string {
  let root = error;
  while (root instanceof Error && root.cause instanceof Error) root = root.cause;
  const code = root instanceof Error && 'code' in root ? root.code : undefined;
  return typeof code === 'string' ? code : messageOf(root);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
