/**
 * Users of the HTTP API. Each asks, follows, asks again, and must get through whatever is broken: what is refused
 * for a while is sent again under the same key. What they were told is their log, and the log is what is judged.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { TurnOptions } from '../../src/client/contract.ts';
import { type Fetch, type TurnHandle, Turnwright, TurnwrightApiError } from '../../src/client/index.ts';
import { draw } from '../../src/sim/random.ts';
import { type Question, questionOf } from './questions.ts';

export interface TurnEnd {
  readonly atMs: number;
  readonly outcome: string;
  readonly reason: string;
  readonly answer: string | null;
  readonly steps: number;
}

/** `unsure`: the cancellation was refused, after another try of it whose answer was lost. */
export type Cancelling = 'no' | 'confirmed' | 'refused' | 'unsure';

/** One accepted turn, as its producer saw it. */
export interface Asked {
  readonly user: number;
  readonly session: string;
  readonly turn: string;
  readonly question: Question;
  readonly sentAtMs: number;
  readonly acceptedAtMs: number;
  /** Turns that the same key and body were answered with when sent again. */
  readonly resentAs: readonly string[];
  readonly cancelling: Cancelling;
  /** null: the producer never saw an end. */
  readonly end: TurnEnd | null;
}

/** An answer that was no success. */
export interface Refusal {
  readonly atMs: number;
  readonly request: string;
  readonly status: number;
  readonly code: string;
  readonly retryAfter: boolean;
}

export interface ProducersLog {
  readonly asked: readonly Asked[];
  readonly sessions: readonly string[];
  readonly refusals: readonly Refusal[];
  /** What a producer gave up over: none, when all is well. */
  readonly failures: readonly string[];
}

export interface ProducerLeg {
  readonly name: string;
  readonly ordersOnly: boolean;
}

export interface ProducersOptions {
  readonly url: string;
  readonly key: string;
  readonly seed: number;
  readonly users: number;
  /** Dealt to users in turn. */
  readonly legs: readonly [ProducerLeg, ...ProducerLeg[]];
  readonly goesOn: () => boolean;
  /** Nobody waits any longer. */
  readonly signal: AbortSignal;
}

/** How a second turn is sent while the first runs. */
const ALONG_MODES: readonly [NonNullable<TurnOptions['mode']>, ...NonNullable<TurnOptions['mode']>[]] = [
  'enqueue',
];
const ALONG_SHARE = 0.2;
const CANCEL_SHARE = 0.1;
const RESEND_SHARE = 0.2;
const LONGEST_CANCEL_DELAY_MS = 1_500;
/** Between a user's turns. */
const SHORTEST_THOUGHT_MS = 300;
const LONGEST_THOUGHT_MS = 3_000;
const LEAST_TURNS = 2;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;
const POLL_MS = 200;
const FOLLOW_PATIENCE_MS = 3_600_000;

export interface Producers {
  readonly log: ProducersLog;
  /** Resolves when every user has stopped: never rejects. */
  readonly done: Promise<void>;
}

export function startProducers(options: ProducersOptions): Producers {
  const asked: Asked[] = [];
  const sessions: string[] = [];
  const refusals: Refusal[] = [];
  const failures: string[] = [];
  const client = new Turnwright({ url: options.url, key: options.key, fetch: noting(refusals) });
  const users = Array.from({ length: options.users }, (_, user) =>
    new User(client, options, user, asked, sessions)
      .run()
      .catch((error: unknown) => void failures.push(`user ${user}: ${String(error)}`)),
  );
  return {
    log: { asked, sessions, refusals, failures },
    done: Promise.all(users).then(() => undefined),
  };
}

type Draft = { -readonly [Key in keyof Asked]: Asked[Key] } & { resentAs: string[] };

class User {
  readonly #client: Turnwright;
  readonly #options: ProducersOptions;
  readonly #user: number;
  readonly #asked: Asked[];
  readonly #sessions: string[];
  readonly #leg: ProducerLeg;
  #session = '';

  constructor(
    client: Turnwright,
    options: ProducersOptions,
    user: number,
    asked: Asked[],
    sessions: string[],
  ) {
    this.#client = client;
    this.#options = options;
    this.#user = user;
    this.#asked = asked;
    this.#sessions = sessions;
    this.#leg = options.legs[user % options.legs.length] ?? options.legs[0];
  }

  async run(): Promise<void> {
    const { goesOn, signal } = this.#options;
    const leg = this.#leg.name;
    this.#session = (await this.#persist(() => this.#client.sessions.create({ leg }))).id;
    this.#sessions.push(this.#session);
    for (let n = 0; n < LEAST_TURNS || goesOn(); n += 2) {
      await this.#round(n);
      const thoughtMs =
        SHORTEST_THOUGHT_MS + (LONGEST_THOUGHT_MS - SHORTEST_THOUGHT_MS) * this.#draw('think', n);
      await delay(thoughtMs, undefined, { signal });
    }
  }

  /** One turn, or two of which the second is sent while the first runs. */
  async #round(n: number): Promise<void> {
    const first = await this.#ask(n, 'enqueue');
    const all = [first];
    if (this.#draw('along', n) < ALONG_SHARE) {
      const mode = ALONG_MODES[Math.floor(this.#draw('mode', n) * ALONG_MODES.length)] ?? ALONG_MODES[0];
      all.push(await this.#ask(n + 1, mode));
    }
    const cancelled = this.#draw('cancel', n) < CANCEL_SHARE ? all.at(-1) : undefined;
    await Promise.all([
      ...all.map((turn) => this.#follow(turn)),
      cancelled === undefined ? null : this.#cancel(cancelled, n),
    ]);
  }

  async #ask(n: number, mode: NonNullable<TurnOptions['mode']>): Promise<Draft> {
    const question = questionOf(this.#options.seed, this.#user, n, this.#leg.ordersOnly);
    const key = `${this.#user}.${n}`;
    const send = async (): Promise<string> => {
      const { id } = await this.#persist(() =>
        this.#client.sessions.turn(this.#session, question.text, { idempotencyKey: key, mode }),
      );
      return id;
    };
    const sentAtMs = Date.now();
    const resends = this.#draw('resend', n) < RESEND_SHARE;
    // Half of those that send again do so at once, before they know that they were heard.
    const twin = resends && this.#draw('twin', n) < 0.5 ? send() : null;
    const turn = await send();
    const draft: Draft = {
      user: this.#user,
      session: this.#session,
      turn,
      question,
      sentAtMs,
      acceptedAtMs: Date.now(),
      resentAs: [],
      cancelling: 'no',
      end: null,
    };
    this.#asked.push(draft);
    if (resends) draft.resentAs.push(await (twin ?? send()));
    return draft;
  }

  async #follow(draft: Draft): Promise<void> {
    const handle = this.#client.turns.handle(draft.turn);
    const { signal } = this.#options;
    // The half that follows by events watches its session, so that replies are streamed to it.
    if (this.#user % 2 === 0)
      await this.#persist(() => handle.result({ signal, patienceMs: FOLLOW_PATIENCE_MS }));
    for (;;) {
      const { state, outcome, reason, answer, steps } = await this.#persist(() => handle.get(signal));
      if (state === 'closed') {
        draft.end = { atMs: Date.now(), outcome: String(outcome), reason: String(reason), answer, steps };
        return;
      }
      await delay(POLL_MS, undefined, { signal });
    }
  }

  async #cancel(draft: Draft, n: number): Promise<void> {
    const { signal } = this.#options;
    await delay(LONGEST_CANCEL_DELAY_MS * this.#draw('cancel after', n), undefined, { signal });
    draft.cancelling = await this.#cancelled(this.#client.turns.handle(draft.turn));
  }

  async #cancelled(handle: TurnHandle): Promise<Cancelling> {
    let tries = 0;
    try {
      await this.#persist(() => {
        tries += 1;
        return handle.cancel();
      });
      return 'confirmed';
    } catch (error) {
      if (!(error instanceof TurnwrightApiError) || error.code !== 'turn_closed') throw error;
      return tries === 1 ? 'refused' : 'unsure';
    }
  }

  /** What passes by itself is tried again, for as long as anybody waits. */
  async #persist<T>(work: () => Promise<T>): Promise<T> {
    const { signal } = this.#options;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof TurnwrightApiError) || !error.retryable) throw error;
      }
      await delay(pauseMs, undefined, { signal });
    }
  }

  #draw(word: string, n: number): number {
    return draw(this.#options.seed, word, this.#user, n);
  }
}

/** Sees each answer before the client does. */
function noting(refusals: Refusal[]): Fetch {
  return async (input, init) => {
    const response = await fetch(input, init);
    if (response.status < 400) return response;
    const text = await response.clone().text();
    refusals.push({
      atMs: Date.now(),
      request: `${init.method ?? 'GET'} ${new URL(input).pathname.replaceAll(/[0-9a-f-]{36}/gu, ':id')}`,
      status: response.status,
      code: codeIn(text),
      retryAfter: response.headers.has('retry-after'),
    });
    return response;
  };
}

function codeIn(text: string): string {
  try {
    const { error } = JSON.parse(text) as { error?: { code?: unknown } };
    return typeof error?.code === 'string' ? error.code : '';
  } catch {
    return '';
  }
}
