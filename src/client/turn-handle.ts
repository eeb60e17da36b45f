/** One turn, followed from afar. */
import { SERVER_UNREACHABLE, TurnwrightApiError } from './api-error.ts';
import type { Signal, Turn, TurnEvent, TurnOptions } from './contract.ts';
import { readEvents } from './event-stream.ts';
import type { Http } from './http.ts';
import { Seen } from './seen.ts';

export interface FollowOptions {
  readonly signal?: AbortSignal;
  /** Events after this id only. */
  readonly after?: string;
  /** How long connections may go on failing before the iteration does; 60,000 unless given. */
  readonly patienceMs?: number;
}

const PATIENCE_MS = 60_000;
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;
/** A connection that stood so long was a good one, even if nothing happened on the turn. */
const STEADY_MS = 15_000;
/** After one of these nothing follows. */
const CLOSING: ReadonlySet<string> = new Set([
  'turn.completed',
  'turn.degraded',
  'turn.failed',
  'turn.cancelled',
]);

export class TurnHandle {
  readonly id: string;
  readonly #http: Http;

  constructor(http: Http, id: string) {
    this.#http = http;
    this.id = id;
  }

  async get(signal?: AbortSignal): Promise<Turn> {
    const { turn } = await this.#http.json<{ turn: Turn }>('GET', this.#path(), { signal });
    return turn;
  }

  /**
   * Every event until the turn ends. A lost connection is taken up again where it broke: durable events come
   * exactly once and in order; live ones may be missing after a break, never repeated.
   *
   * @throws TurnwrightApiError when the server refuses, or stays away longer than `patienceMs`.
   */
  async *events(options: FollowOptions = {}): AsyncGenerator<TurnEvent, void, void> {
    const { signal, after = '', patienceMs = PATIENCE_MS } = options;
    const seen = new Seen(after);
    let pauseMs = FIRST_PAUSE_MS;
    let troubleSinceMs: number | null = null;
    for (;;) {
      const openedAtMs = performance.now();
      let lost: unknown = new TurnwrightApiError(SERVER_UNREACHABLE, 0, 'The event stream ended too early.');
      try {
        for await (const event of this.#connection(seen.resumeFrom, signal)) {
          troubleSinceMs = null;
          pauseMs = FIRST_PAUSE_MS;
          if (!seen.isNew(event)) continue;
          yield toTurnEvent(event);
          if (CLOSING.has(event.type)) return;
        }
      } catch (error) {
        signal?.throwIfAborted();
        if (error instanceof TurnwrightApiError && !error.retryable) throw error;
        lost = error;
      }
      const nowMs = performance.now();
      if (nowMs - openedAtMs > STEADY_MS) troubleSinceMs = null;
      troubleSinceMs ??= nowMs;
      if (nowMs - troubleSinceMs > patienceMs) throw lost;
      await pause(pauseMs, signal);
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    }
  }

  /** Waits for the end and returns the turn as it stands then. */
  async result(options: Omit<FollowOptions, 'after'> = {}): Promise<Turn> {
    for await (const _ of this.events(options));
    return this.get(options.signal);
  }

  async cancel(): Promise<Turn> {
    return this.#post('/cancel', {});
  }

  /**
   * Gives the turn the result of a call that its client makes. `callId` is the call's own, or as the event `turn.waiting`
   * lists it. The same result again changes nothing.
   */
  async toolResult(
    callId: string,
    content: string,
    { isError = false }: { readonly isError?: boolean } = {},
  ): Promise<Turn> {
    return this.signal({ type: 'tool_result', callId, content, isError });
  }

  /** Answers a turn that waits for a person or its client, or joins it with more to consider. */
  async signal(signal: Signal): Promise<Turn> {
    return this.#post('/signals', signal);
  }

  /**
   * Sets a parked or stuck turn going again. Of one that has ended, enqueues its directive as a new turn and returns
   * that; the same key is then the same new turn. A key is made when left out.
   */
  async retry({
    idempotencyKey = crypto.randomUUID(),
  }: Pick<TurnOptions, 'idempotencyKey'> = {}): Promise<Turn> {
    return this.#post('/retry', {}, { 'idempotency-key': idempotencyKey });
  }

  async #post(path: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Turn> {
    const { turn } = await this.#http.json<{ turn?: Turn }>('POST', `${this.#path()}${path}`, {
      body,
      headers,
    });
    return turn ?? this.get();
  }

  async *#connection(lastId: string, signal: AbortSignal | undefined) {
    const headers: Record<string, string> = lastId === '' ? {} : { 'last-event-id': lastId };
    const body = await this.#http.stream(`${this.#path()}/events`, { headers, signal });
    yield* readEvents(body);
  }

  #path(): string {
    return `/v1/turns/${encodeURIComponent(this.id)}`;
  }
}

function toTurnEvent(event: {
  readonly id: string;
  readonly type: string;
  readonly data: string;
}): TurnEvent {
  return { id: event.id, type: event.type, data: JSON.parse(event.data) as TurnEvent['data'] };
}

async function pause(delayMs: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, delayMs);
    signal?.addEventListener('abort', done, { once: true });
  });
  signal?.throwIfAborted();
}
