/** The TypeScript client. Runs wherever `fetch` does. */
import type {
  LegInfo,
  NewSession,
  Rebuild,
  Replay,
  Session,
  StuckTurn,
  Turn,
  TurnInput,
  TurnOptions,
  Verdict,
  Why,
} from './contract.ts';
import { type Fetch, Http } from './http.ts';
import { TurnHandle } from './turn-handle.ts';

export interface TurnwrightOptions {
  /** Of the server, such as `http://127.0.0.1:4080`. */
  readonly url: string;
  readonly key: string;
  /** The global `fetch` unless given. */
  readonly fetch?: Fetch;
}

/** @throws TypeError when `url` is no http or https address. Every call may throw `TurnwrightApiError`. */
export class Turnwright {
  readonly sessions: Sessions;
  readonly turns: Turns;
  readonly #http: Http;

  constructor({ url, key, fetch = (input, init) => globalThis.fetch(input, init) }: TurnwrightOptions) {
    const http = new Http({ url, key, fetch });
    this.sessions = new Sessions(http);
    this.turns = new Turns(http);
    this.#http = http;
  }

  /** The models a session can be bound to. */
  async legs(signal?: AbortSignal): Promise<readonly LegInfo[]> {
    const answer = await this.#http.json<{ legs: readonly LegInfo[] }>('GET', '/v1/legs', { signal });
    return answer.legs;
  }
}

class Sessions {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  async create(session: NewSession = {}, signal?: AbortSignal): Promise<Session> {
    const answer = await this.#http.json<{ session: Session }>('POST', '/v1/sessions', {
      body: session,
      signal,
    });
    return answer.session;
  }

  async get(id: string, signal?: AbortSignal): Promise<Session> {
    const answer = await this.#http.json<{ session: Session }>('GET', sessionPath(id), { signal });
    return answer.session;
  }

  /** Checks every record of the session against its chain. */
  async verify(id: string, signal?: AbortSignal): Promise<Verdict> {
    return this.#http.json('GET', `${sessionPath(id)}/verify`, { signal });
  }

  /** Makes every projection of the session anew of its records and events, and mends what differs. */
  async rebuild(id: string, signal?: AbortSignal): Promise<Rebuild> {
    return this.#http.json('POST', `${sessionPath(id)}/rebuild`, { signal });
  }

  /** Enqueues a turn; it runs whether anybody follows it or not. */
  async turn(
    id: string,
    input: TurnInput,
    { idempotencyKey = crypto.randomUUID(), ...options }: TurnOptions = {},
    signal?: AbortSignal,
  ): Promise<TurnHandle> {
    const { turn } = await this.#http.json<{ turn: Turn }>('POST', `${sessionPath(id)}/turns`, {
      body: { input, ...options },
      headers: { 'idempotency-key': idempotencyKey },
      signal,
    });
    return new TurnHandle(this.#http, turn.id);
  }
}

class Turns {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Of a turn that exists; nothing is asked yet. */
  handle(id: string): TurnHandle {
    return new TurnHandle(this.#http, id);
  }

  get(id: string, signal?: AbortSignal): Promise<Turn> {
    return this.handle(id).get(signal);
  }

  /** Runs the turn's events again and says of each whether the stored snapshot comes out. */
  async replay(id: string, signal?: AbortSignal): Promise<Replay> {
    return this.#http.json('GET', `/v1/turns/${encodeURIComponent(id)}/replay`, { signal });
  }

  /** What a turn waits for, or how it ended, in a few sentences, with the facts they are made of. */
  async why(id: string, signal?: AbortSignal): Promise<Why> {
    return this.#http.json('GET', `/v1/turns/${encodeURIComponent(id)}/why`, { signal });
  }

  /** Turns that nothing moves, each with the reason and what to do. */
  async stuck(signal?: AbortSignal): Promise<readonly StuckTurn[]> {
    const answer = await this.#http.json<{ turns: readonly StuckTurn[] }>('GET', '/v1/turns/stuck', {
      signal,
    });
    return answer.turns;
  }
}

function sessionPath(id: string): string {
  return `/v1/sessions/${encodeURIComponent(id)}`;
}
