/** The sessions of a deployment, from afar. Every call may throw `TurnwrightApiError`. */
import type {
  Anchor,
  CheckedOut,
  Cleared,
  Compacted,
  CostedSession,
  DryPlan,
  Evicted,
  Feedback,
  Head,
  ImportedCheckpoint,
  Link,
  NewEviction,
  NewFork,
  NewSession,
  PlanFor,
  Presentations,
  PresentationsPage,
  Rebuild,
  Recalled,
  Session,
  SessionContext,
  TranscriptFound,
  TranscriptGrep,
  TranscriptIndex,
  TranscriptItems,
  TranscriptPage,
  Turn,
  TurnInput,
  TurnOptions,
  Verdict,
} from './contract.ts';
import { type Http, queryOf } from './http.ts';
import { TurnHandle } from './turn-handle.ts';

const CHECKPOINT = 'application/x-ndjson';

export class Sessions {
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

  async get(id: string, signal?: AbortSignal): Promise<CostedSession> {
    const answer = await this.#http.json<{ session: CostedSession }>('GET', pathOf(id), { signal });
    return answer.session;
  }

  /** Checks every record of the session against its chain. */
  async verify(id: string, signal?: AbortSignal): Promise<Verdict> {
    return this.#http.json('GET', `${pathOf(id)}/verify`, { signal });
  }

  /** Makes every projection of the session anew of its records and events, and mends what differs. */
  async rebuild(id: string, signal?: AbortSignal): Promise<Rebuild> {
    return this.#http.json('POST', `${pathOf(id)}/rebuild`, { signal });
  }

  /** Its checkpoint, as bytes of one JSON object a line. Needs a key with the scope `content`. */
  async export(id: string, signal?: AbortSignal): Promise<ReadableStream<Uint8Array>> {
    return this.#http.stream(`${pathOf(id)}/export`, { signal }, CHECKPOINT);
  }

  /** Takes in a checkpoint that `export` wrote, here or elsewhere. Needs a key with the scope `admin`. */
  async import(checkpoint: ReadableStream<Uint8Array>, signal?: AbortSignal): Promise<ImportedCheckpoint> {
    const streamed = { type: CHECKPOINT, stream: checkpoint };
    return this.#http.json('POST', '/v1/sessions/import', { streamed, signal });
  }

  /** Its heads, oldest first, those that were left too. */
  async heads(id: string, signal?: AbortSignal): Promise<readonly Head[]> {
    const { heads } = await this.#http.json<{ heads: readonly Head[] }>('GET', `${pathOf(id)}/heads`, {
      signal,
    });
    return heads;
  }

  /** Goes on from an earlier turn, or from another head; what runs on the live one is cancelled. */
  async checkout(id: string, anchor: Anchor, signal?: AbortSignal): Promise<CheckedOut> {
    return this.#http.json('POST', `${pathOf(id)}/checkout`, { body: anchor, signal });
  }

  /** The plan the next turn would get; nothing is sent or written. */
  async plan(id: string, wanted: PlanFor = {}, signal?: AbortSignal): Promise<DryPlan> {
    return this.#http.json('GET', `${pathOf(id)}/plan${queryOf(wanted)}`, { signal });
  }

  /** What the last request was made of: sizes, ids and digests. */
  async context(id: string, signal?: AbortSignal): Promise<SessionContext> {
    return this.#http.json('GET', `${pathOf(id)}/context`, { signal });
  }

  /** What the session recorded, by the arguments of the recall tool. Needs a key with the scope `content`. */
  async recall(id: string, args: Readonly<Record<string, unknown>>, signal?: AbortSignal): Promise<Recalled> {
    return this.#http.json('POST', `${pathOf(id)}/recall`, { body: args, signal });
  }

  /** Its items, oldest first, a page at a time. Needs a key with the scope `content`, as reading and searching them does. */
  async transcript(id: string, page: TranscriptPage = {}, signal?: AbortSignal): Promise<TranscriptIndex> {
    return this.#http.json('GET', `${pathOf(id)}/transcript${queryOf(page)}`, { signal });
  }

  /** Items as they were recorded, whatever requests still carry of them. */
  async readItems(id: string, items: readonly number[], signal?: AbortSignal): Promise<TranscriptItems> {
    return this.#http.json('POST', `${pathOf(id)}/transcript/read`, { body: { items }, signal });
  }

  /** Lines of items, by an expression. Giving it up ends the search. */
  async grep(id: string, asked: TranscriptGrep, signal?: AbortSignal): Promise<TranscriptFound> {
    return this.#http.json('POST', `${pathOf(id)}/transcript/grep`, { body: asked, signal });
  }

  /** Takes items out of the requests of a session at rest. */
  async evict(id: string, span: NewEviction, signal?: AbortSignal): Promise<Evicted> {
    return this.#http.json('POST', `${pathOf(id)}/evict`, { body: span, signal });
  }

  /** Begins the summary that the next plan wants. */
  async compact(id: string, signal?: AbortSignal): Promise<Compacted> {
    return this.#http.json('POST', `${pathOf(id)}/compact`, { signal });
  }

  /** A session that goes on from where this one stands; neither sees what the other says later. */
  async fork(id: string, own: NewFork = {}, signal?: AbortSignal): Promise<Session> {
    const answer = await this.#http.json<{ session: Session }>('POST', `${pathOf(id)}/fork`, {
      body: own,
      signal,
    });
    return answer.session;
  }

  /** Cancels the session's turns, and begins it anew: nothing of before is carried or recalled. */
  async clear(id: string, signal?: AbortSignal): Promise<Cleared> {
    return this.#http.json('POST', `${pathOf(id)}/clear`, { signal });
  }

  /** Cards the session showed, oldest first; their payloads for a key with the scope `content`. */
  async presentations(
    id: string,
    page: PresentationsPage = {},
    signal?: AbortSignal,
  ): Promise<Presentations> {
    return this.#http.json('GET', `${pathOf(id)}/presentations${queryOf(page)}`, { signal });
  }

  /** Says what a card was worth; returns the number of the record. */
  async feedback(
    id: string,
    presentation: string,
    feedback: Feedback,
    signal?: AbortSignal,
  ): Promise<number> {
    return this.#say(id, presentation, 'feedback', feedback, signal);
  }

  /** Says what was picked on a card; returns the number of the record. */
  async select(
    id: string,
    presentation: string,
    selected: readonly string[],
    signal?: AbortSignal,
  ): Promise<number> {
    return this.#say(id, presentation, 'selection', { selected }, signal);
  }

  /** Takes a link of a turn back: no plan follows it from now on. */
  async retractLink(id: string, link: Link, signal?: AbortSignal): Promise<void> {
    await this.#http.json('POST', `${pathOf(id)}/links/retract`, { body: link, signal });
  }

  /** Enqueues a turn; it runs whether anybody follows it or not. */
  async turn(
    id: string,
    input: TurnInput,
    { idempotencyKey = crypto.randomUUID(), ...options }: TurnOptions = {},
    signal?: AbortSignal,
  ): Promise<TurnHandle> {
    const { turn } = await this.#http.json<{ turn: Turn }>('POST', `${pathOf(id)}/turns`, {
      body: { input, ...options },
      headers: { 'idempotency-key': idempotencyKey },
      signal,
    });
    return new TurnHandle(this.#http, turn.id);
  }

  async #say(id: string, presentation: string, what: string, body: unknown, signal?: AbortSignal) {
    const path = `${pathOf(id)}/presentations/${encodeURIComponent(presentation)}/${what}`;
    const { record } = await this.#http.json<{ record: number }>('POST', path, { body, signal });
    return record;
  }
}

function pathOf(id: string): string {
  return `/v1/sessions/${encodeURIComponent(id)}`;
}
