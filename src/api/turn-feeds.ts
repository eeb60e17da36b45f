/** The feeds of this process by turn: opened for the first follower, stopped when the last one leaves. */
import type { Services } from '../app/services.ts';
import type { SessionRef } from '../db/contract.ts';
import { readTurnEvents } from '../db/queries/read-turn-events.ts';
import { watchSession } from '../db/queries/watch-session.ts';
import { turnTopic } from '../workers/deltas.ts';
import { EVENT_KINDS } from './events.ts';
import { type FeedSource, TurnFeed, WATCH_MS } from './turn-feed.ts';

const SESSION_CHANNEL = 'turnwright_session';

interface Entry {
  readonly feed: TurnFeed;
  readonly started: Promise<void>;
  followers: number;
}

export class TurnFeeds {
  readonly #services: Services;
  readonly #entries = new Map<string, Entry>();
  #closing: Promise<void> | null = null;

  constructor(services: Services) {
    this.#services = services;
  }

  /** The feed with all stored events read, and the function that lets it go. */
  async open(
    ref: SessionRef,
    turn: string,
    closed: boolean,
  ): Promise<{ readonly feed: TurnFeed; readonly release: () => Promise<void> }> {
    const key = turnTopic(ref, turn);
    const known = this.#entries.get(key);
    const entry = known ?? this.#begin(key, ref, turn, closed);
    entry.followers += 1;
    let released = false;
    const release = async (): Promise<void> => {
      if (released) return;
      released = true;
      entry.followers -= 1;
      if (entry.followers > 0) return;
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
      await entry.feed.stop();
    };
    try {
      await entry.started;
    } catch (error) {
      await release();
      throw error;
    }
    return { feed: entry.feed, release };
  }

  /** Ends every stream. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= Promise.all([...this.#entries.values()].map(({ feed }) => feed.stop())).then(() => {});
    return this.#closing;
  }

  #begin(key: string, ref: SessionRef, turn: string, closed: boolean): Entry {
    const feed = new TurnFeed(this.#source(ref, turn));
    const entry = { feed, started: feed.start(closed), followers: 0 };
    this.#entries.set(key, entry);
    entry.started.catch(() => {
      if (this.#entries.get(key) === entry) this.#entries.delete(key);
    });
    return entry;
  }

  #source(ref: SessionRef, turn: string): FeedSource {
    const { pool, notices, bus, logger } = this.#services;
    return {
      watch: () => watchSession(pool, ref, WATCH_MS),
      read: (after) => readTurnEvents(pool, ref, turn, { after, kinds: EVENT_KINDS }),
      frames: (onFrame) => bus.watch(turnTopic(ref, turn), onFrame),
      notices: (onNotice) =>
        notices.listen(SESSION_CHANNEL, (session) => {
          // An empty notice follows a reconnect: anything may have been missed.
          if (session === '' || session === ref.session) onNotice();
        }),
      onError: (error) => logger.warn({ err: error, turn }, 'a turn could not be read; it is tried again'),
    };
  }
}
