/** The TypeScript client. Runs wherever `fetch` does. */
import type {
  LegInfo,
  ProbeAnswer,
  Profile,
  Replay,
  SentRequest,
  StuckTurn,
  Turn,
  UsageQuery,
  UsageReport,
  Why,
} from './contract.ts';
import { type Fetch, Http, queryOf } from './http.ts';
import { Sessions } from './sessions.ts';
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

  /** What a leg was measured to use; `actor` names a probe of it to follow. */
  async profile(
    leg: string,
    { actor }: { readonly actor?: string } = {},
    signal?: AbortSignal,
  ): Promise<Profile> {
    return this.#http.json('GET', `${legPath(leg)}/profile${queryOf({ actor })}`, { signal });
  }

  /** Begins to measure a leg, or says why there is nothing to do. Needs a key with the scope `admin`. */
  async probe(
    leg: string,
    options: { readonly force?: boolean } = {},
    signal?: AbortSignal,
  ): Promise<ProbeAnswer> {
    return this.#http.json('POST', `${legPath(leg)}/probe`, { body: options, signal });
  }

  /** What calls came to: tokens, caches and cost. */
  async usage(query: UsageQuery = {}, signal?: AbortSignal): Promise<UsageReport> {
    return this.#http.json('GET', `/v1/usage${queryOf(query)}`, { signal });
  }
}

function legPath(leg: string): string {
  return `/v1/legs/${encodeURIComponent(leg)}`;
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

  /** The request a step sent, made again from the records; its words for a key with the scope `content`. */
  async request(id: string, step: number, signal?: AbortSignal): Promise<SentRequest> {
    return this.#http.json('GET', `/v1/turns/${encodeURIComponent(id)}/request?step=${step}`, { signal });
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
