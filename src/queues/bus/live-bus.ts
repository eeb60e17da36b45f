/**
 * The bus over either medium: publishers hold frames back until someone watches, watchers of one turn
 * share one read.
 *
 * Watchers announce their turns when they come and every `ANNOUNCE_MS` after; publishers write a turn's
 * frames while its announcements last. Each tick also reads every watched turn once, so a lost wake-up
 * or a publisher that started later costs one tick, and nothing else.
 */
import type { Bus, DeltaFrame } from '../bus.ts';
import { settledWithin } from '../deadline.ts';
import { HELD_FRAMES, Holdback } from './holdback.ts';
import { type OnFrame, type StoredFrame, TurnChannel } from './turn-channel.ts';

const ANNOUNCE_MS = 2_000;
/** Two announcements may be lost before a publisher holds back again. */
const OPEN_FOR_MS = 3 * ANNOUNCE_MS;
/** A watcher is not kept waiting by a medium that is down: it is served when the medium is back. */
const START_MS = 1_000;

export interface Signals {
  /** New frames of a turn are stored; `undefined`: of any turn, after a reconnect. */
  woken(turn: string | undefined): void;
  announced(turn: string): void;
  dropped(turn: string): void;
}

/** Where frames are stored and how processes call each other. */
export interface Medium<C> {
  /** Starts to deliver signals; called once. */
  start(signals: Signals): Promise<void>;
  /** Signals of this turn are wanted, or no longer. */
  follow(turn: string): Promise<void>;
  unfollow(turn: string): Promise<void>;
  /** Stores frames in order and wakes the turn's watchers. */
  append(turn: string, frames: readonly DeltaFrame[]): Promise<void>;
  since(turn: string, after: C | undefined): Promise<readonly StoredFrame<C>[]>;
  announce(turns: readonly string[]): Promise<void>;
  drop(turn: string): Promise<void>;
  close(): Promise<void>;
}

export class LiveBus<C> implements Bus {
  readonly #medium: Medium<C>;
  readonly #onError: (error: unknown) => void;
  readonly #holdback = new Holdback(OPEN_FOR_MS);
  readonly #channels = new Map<string, TurnChannel<C>>();
  /** The last write of each turn: the next one follows it. */
  readonly #writes = new Map<string, Promise<void>>();
  readonly #started: Promise<void>;
  #ticking: NodeJS.Timeout | undefined;
  #closing: Promise<void> | undefined;

  constructor(medium: Medium<C>, onError: (error: unknown) => void) {
    this.#medium = medium;
    this.#onError = onError;
    this.#started = this.#quietly(
      medium.start({
        woken: (turn) => this.#woken(turn),
        announced: (turn) => this.#announced(turn),
        dropped: (turn) => this.#forget(turn),
      }),
    );
  }

  async publish(turn: string, frames: readonly DeltaFrame[]): Promise<void> {
    if (this.#closing !== undefined || frames.length === 0) return;
    const open = this.#holdback.offer(turn, frames, performance.now());
    if (open.length > 0) await this.#write(turn, () => this.#medium.append(turn, open));
  }

  async watch(turn: string, onFrame: OnFrame): Promise<() => Promise<void>> {
    if (this.#closing !== undefined) return async () => undefined;
    const known = this.#channels.get(turn);
    const channel = known ?? this.#open(turn);
    const remove = channel.add(onFrame);
    if (known === undefined) await settledWithin(this.#quietly(this.#join(turn, channel)), START_MS);
    return async () => {
      remove();
      await this.#leave(turn, channel);
    };
  }

  async drop(turn: string): Promise<void> {
    if (this.#closing !== undefined) return;
    this.#forget(turn);
    // What nobody watched was never written, and what watchers left behind expires.
    if (this.#holdback.isOpen(turn, performance.now()) || this.#channels.has(turn)) {
      await this.#write(turn, () => this.#medium.drop(turn));
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#shutDown();
    return this.#closing;
  }

  #woken(turn: string | undefined): void {
    if (turn !== undefined) void this.#channels.get(turn)?.wake();
    else for (const channel of this.#channels.values()) void channel.wake();
  }

  #announced(turn: string): void {
    const held = this.#holdback.open(turn, performance.now());
    if (held.length > 0) void this.#write(turn, () => this.#medium.append(turn, held));
  }

  #forget(turn: string): void {
    this.#holdback.forget(turn);
    this.#channels.get(turn)?.clear();
  }

  #tick(): void {
    void this.#quietly(this.#medium.announce([...this.#channels.keys()]));
    this.#woken(undefined);
  }

  #open(turn: string): TurnChannel<C> {
    const channel = new TurnChannel<C>(
      (after) => this.#medium.since(turn, after),
      HELD_FRAMES,
      (error) => this.#report(error),
    );
    this.#channels.set(turn, channel);
    this.#ticking ??= setInterval(() => this.#tick(), ANNOUNCE_MS).unref();
    return channel;
  }

  async #join(turn: string, channel: TurnChannel<C>): Promise<void> {
    await this.#started;
    // The medium may have been down for longer than the watcher stayed.
    if (this.#channels.get(turn) !== channel) return;
    await this.#medium.follow(turn);
    await this.#medium.announce([turn]);
    await channel.wake();
  }

  async #leave(turn: string, channel: TurnChannel<C>): Promise<void> {
    if (channel.watched || this.#channels.get(turn) !== channel) return;
    this.#channels.delete(turn);
    if (this.#channels.size === 0) this.#stopTicking();
    if (this.#closing === undefined) await this.#quietly(this.#medium.unfollow(turn));
  }

  #write(turn: string, act: () => Promise<void>): Promise<void> {
    const next = this.#quietly((this.#writes.get(turn) ?? Promise.resolve()).then(act));
    this.#writes.set(turn, next);
    void next.then(() => {
      if (this.#writes.get(turn) === next) this.#writes.delete(turn);
    });
    return next;
  }

  async #shutDown(): Promise<void> {
    this.#stopTicking();
    this.#channels.clear();
    await settledWithin(Promise.all([this.#started, ...this.#writes.values()]), START_MS);
    await this.#quietly(this.#medium.close());
  }

  #stopTicking(): void {
    clearInterval(this.#ticking);
    this.#ticking = undefined;
  }

  #quietly(work: Promise<void>): Promise<void> {
    return work.catch((error: unknown) => this.#report(error));
  }

  /** A medium being hung up rejects what was under way; nobody waits for it any more. */
  #report(error: unknown): void {
    if (this.#closing === undefined) this.#onError(error);
  }
}
