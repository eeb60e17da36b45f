/**
 * One turn as every follower in this process sees it: its durable events in order, and the live frames of what
 * is still open. One read serves all followers; each of them holds nothing but its place in these lists.
 *
 * States: starting → following → ended (the closing event was read, or the last follower left).
 * Invariants: a live frame is shown only after every record before it was read; a frame of a step or tool that
 * has completed is dropped; `live` is bounded, its oldest frames go first.
 */
import type { TurnNews } from '../db/queries/read-turn-events.ts';
import type { DeltaFrame } from '../queues/bus.ts';
import { type LiveId, parseLiveId } from './event-ids.ts';
import { eventOf, isClosing, type TurnEvent } from './events.ts';

/** Says again that somebody follows before the last word runs out. */
export const WATCH_MS = 15_000;
const RENEW_MS = 5_000;
/** A notice may be lost; a read costs one statement. */
const POLL_MS = 2_000;
const MAX_LIVE_FRAMES = 500;

export interface LiveFrame {
  /** Counts the frames of this feed. */
  readonly ordinal: number;
  readonly id: LiveId;
  readonly type: DeltaFrame['type'];
  readonly data: DeltaFrame['data'];
}

export interface FeedSource {
  /** Says for `WATCH_MS` that somebody follows. */
  watch(): Promise<void>;
  read(afterSeq: number): Promise<TurnNews | null>;
  frames(onFrame: (frame: DeltaFrame) => void): Promise<() => Promise<void>>;
  /** Commits of the session. */
  notices(onNotice: () => void): Promise<() => Promise<void>>;
  readonly onError: (error: unknown) => void;
}

export class TurnFeed {
  readonly #source: FeedSource;
  readonly #followers = new Set<() => void>();
  readonly #events: TurnEvent[] = [];
  readonly #stops: (() => Promise<void>)[] = [];
  #live: LiveFrame[] = [];
  #early: DeltaFrame[] = [];
  #ordinal = 0;
  #lastSeq = 0;
  #readTo = 0;
  #ended = false;
  #isReading = false;
  #again = false;
  #timers: NodeJS.Timeout[] = [];

  constructor(source: FeedSource) {
    this.#source = source;
  }

  get events(): readonly TurnEvent[] {
    return this.#events;
  }

  get live(): readonly LiveFrame[] {
    return this.#live;
  }

  /** No event will follow those in `events`. */
  get ended(): boolean {
    return this.#ended;
  }

  get followed(): boolean {
    return this.#followers.size > 0;
  }

  /** Resolves when the events stored so far are read. A turn that has ended is read once and not followed. */
  async start(closed: boolean): Promise<void> {
    if (!closed) {
      // First of all: from here on commits give notice, so nothing falls between the read and the listening.
      await this.#source.watch();
      this.#stops.push(await this.#source.notices(() => this.#wake()));
      this.#stops.push(await this.#source.frames((frame) => this.#arrive(frame)));
      this.#every(RENEW_MS, () => void this.#source.watch().catch(this.#source.onError));
      this.#every(POLL_MS, () => this.#wake());
    }
    await this.#read();
    if (closed) await this.stop();
  }

  /** `onChange` is told that there is more to see, or that the feed ended. */
  follow(onChange: () => void): () => void {
    this.#followers.add(onChange);
    return () => {
      this.#followers.delete(onChange);
    };
  }

  /** Nothing more is read; followers are told. */
  async stop(): Promise<void> {
    this.#ended = true;
    for (const timer of this.#timers.splice(0)) clearInterval(timer);
    const stops = this.#stops.splice(0);
    this.#tell();
    await Promise.all(stops.map((stop) => stop().catch(this.#source.onError)));
  }

  #every(periodMs: number, act: () => void): void {
    this.#timers.push(setInterval(act, periodMs));
  }

  #wake(): void {
    if (this.#ended) return;
    this.#again = true;
    if (!this.#isReading) void this.#readAll();
  }

  async #readAll(): Promise<void> {
    this.#isReading = true;
    while (this.#again && !this.#ended) {
      this.#again = false;
      // What a failed read missed, the next poll brings.
      await this.#read().catch(this.#source.onError);
    }
    this.#isReading = false;
  }

  async #read(): Promise<void> {
    const news = await this.#source.read(this.#lastSeq);
    if (news === null || this.#ended) return;
    for (const record of news.records) {
      // Two reads may have been under way at the start.
      if (record.seq <= this.#lastSeq) continue;
      const event = eventOf({ ...record, body: JSON.parse(record.body) as unknown });
      this.#lastSeq = record.seq;
      if (event !== null) this.#accept(event);
    }
    this.#readTo = news.readTo;
    // One that came during this read may be ahead of it still.
    for (const frame of this.#early.splice(0)) {
      if (seqOf(frame) > this.#readTo) this.#early.push(frame);
      else this.#show(frame);
    }
    const last = this.#events.at(-1);
    if (last !== undefined && isClosing(last.type)) await this.stop();
    else this.#tell();
  }

  #accept(event: TurnEvent): void {
    this.#events.push(event);
    const done = event.data as { readonly step?: number; readonly index?: number };
    if (event.type === 'step.completed')
      this.#live = this.#live.filter((frame) => stepOf(frame) > (done.step ?? 0));
    if (event.type === 'tool.completed')
      this.#live = this.#live.filter((frame) => stepOf(frame) !== done.step || indexOf(frame) !== done.index);
  }

  #arrive(frame: DeltaFrame): void {
    if (this.#ended) return;
    const id = parseLiveId(frame.id);
    if (id === null) return;
    if (id.seq > this.#readTo) {
      this.#early.push(frame);
      if (this.#early.length > MAX_LIVE_FRAMES) this.#early.shift();
      this.#wake();
      return;
    }
    this.#show(frame);
    this.#tell();
  }

  #show(frame: DeltaFrame): void {
    const id = parseLiveId(frame.id);
    if (id === null || this.#isOver(frame)) return;
    this.#ordinal += 1;
    this.#live.push({ ordinal: this.#ordinal, id, type: frame.type, data: frame.data });
    if (this.#live.length > MAX_LIVE_FRAMES) this.#live.shift();
  }

  /** The bus replays what it holds; a step or tool that has completed is told by its durable event. */
  #isOver(frame: DeltaFrame): boolean {
    return this.#events.some((event) => {
      const done = event.data as { readonly step?: number; readonly index?: number };
      if (event.type === 'step.completed')
        return frame.type !== 'tool.started'
          ? stepOf(frame) <= (done.step ?? 0)
          : stepOf(frame) < (done.step ?? 0);
      return event.type === 'tool.completed' && stepOf(frame) === done.step && indexOf(frame) === done.index;
    });
  }

  #tell(): void {
    for (const follower of [...this.#followers]) follower();
  }
}

function seqOf(frame: DeltaFrame): number {
  return parseLiveId(frame.id)?.seq ?? 0;
}

function stepOf(frame: Pick<DeltaFrame, 'data'>): number {
  return (frame.data as { readonly step?: number }).step ?? 0;
}

function indexOf(frame: Pick<DeltaFrame, 'data'>): number | undefined {
  return (frame.data as { readonly index?: number }).index;
}
