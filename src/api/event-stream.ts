/**
 * One client's event stream: its place in a feed, and the socket. What the client does not read stays in the
 * feed, so a slow one costs its socket's buffer and no more; one that takes nothing for too long is let go and
 * resumes by `Last-Event-ID`.
 */
import type { ServerResponse } from 'node:http';
import { type Place, renderLiveId, wasSeen } from './event-ids.ts';
import { renderEvent } from './events.ts';
import type { LiveFrame, TurnFeed } from './turn-feed.ts';

/** A client that lost its connection tries again after so long. */
const RECONNECT_MS = 1_000;

export interface StreamOptions {
  readonly place: Place;
  readonly heartbeatMs: number;
  readonly stallMs: number;
}

/** Resolves when the stream is over, whoever ended it. The head of the response was written before. */
export function streamEvents(
  feed: TurnFeed,
  response: ServerResponse,
  options: StreamOptions,
): Promise<void> {
  return new Promise((resolve) => {
    const stream = new EventStream(feed, response, options);
    const unfollow = feed.follow(() => stream.pump());
    const heartbeat = setInterval(() => stream.beat(), options.heartbeatMs);
    response.on('drain', () => stream.drained());
    response.on('error', () => response.destroy());
    response.once('close', () => {
      clearInterval(heartbeat);
      unfollow();
      stream.close();
      resolve();
    });
    response.write(`retry: ${RECONNECT_MS}\n\n`);
    stream.pump();
    if (response.destroyed) response.emit('close');
  });
}

class EventStream {
  readonly #feed: TurnFeed;
  readonly #response: ServerResponse;
  readonly #options: StreamOptions;
  #next = 0;
  #seq: number;
  #ordinal = 0;
  #stalled: NodeJS.Timeout | null = null;

  constructor(feed: TurnFeed, response: ServerResponse, options: StreamOptions) {
    this.#feed = feed;
    this.#response = response;
    this.#options = options;
    this.#seq = options.place.seq;
  }

  /** Sends what the client has room for. */
  pump(): void {
    while (this.#isOpen() && !this.#response.writableNeedDrain) {
      if (this.#sendEvent()) continue;
      if (this.#feed.ended) {
        this.#response.end();
        return;
      }
      if (!this.#sendFrame()) return;
    }
    if (this.#isOpen()) this.#awaitDrain();
  }

  drained(): void {
    if (this.#stalled !== null) clearTimeout(this.#stalled);
    this.#stalled = null;
    this.pump();
  }

  beat(): void {
    if (this.#isOpen() && !this.#response.writableNeedDrain) this.#response.write(': still here\n\n');
  }

  close(): void {
    if (this.#stalled !== null) clearTimeout(this.#stalled);
  }

  #isOpen(): boolean {
    return !this.#response.writableEnded && !this.#response.destroyed;
  }

  #awaitDrain(): void {
    this.#stalled ??= setTimeout(() => this.#response.destroy(), this.#options.stallMs);
  }

  #sendEvent(): boolean {
    const { events } = this.#feed;
    for (;;) {
      const event = events[this.#next];
      if (event === undefined) return false;
      this.#next += 1;
      if (Number(event.id) <= this.#seq) continue;
      this.#seq = Number(event.id);
      this.#response.write(renderEvent(event));
      return true;
    }
  }

  #sendFrame(): boolean {
    const frame = this.#feed.live.find(
      (candidate) => candidate.ordinal > this.#ordinal && !this.#hasSeen(candidate),
    );
    if (frame === undefined) return false;
    this.#ordinal = frame.ordinal;
    const { type, data } = frame;
    this.#response.write(renderEvent({ id: renderLiveId(frame.id, this.#seq), type, data }));
    return true;
  }

  #hasSeen(frame: LiveFrame): boolean {
    return wasSeen(this.#options.place, frame.id);
  }
}
