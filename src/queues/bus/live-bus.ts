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

export function createLiveBus<C>(medium: Medium<C>, onError: (error: unknown) => void): Bus {
  const holdback = new Holdback(OPEN_FOR_MS);
  const channels = new Map<string, TurnChannel<C>>();
  /** The last write of each turn: the next one follows it. */
  const writes = new Map<string, Promise<void>>();
  let ticking: NodeJS.Timeout | undefined;
  let closing: Promise<void> | undefined;

  const quietly = (work: Promise<void>): Promise<void> =>
    work.catch((error: unknown) => {
      // A medium being hung up rejects what was under way; nobody waits for it any more.
      if (closing === undefined) onError(error);
    });

  function write(turn: string, act: () => Promise<void>): Promise<void> {
    const next = quietly((writes.get(turn) ?? Promise.resolve()).then(act));
    writes.set(turn, next);
    void next.then(() => {
      if (writes.get(turn) === next) writes.delete(turn);
    });
    return next;
  }

  const started = quietly(
    medium.start({
      woken: (turn) => {
        if (turn === undefined) for (const channel of channels.values()) void channel.wake();
        else void channels.get(turn)?.wake();
      },
      announced: (turn) => {
        const held = holdback.open(turn, performance.now());
        if (held.length > 0) void write(turn, () => medium.append(turn, held));
      },
      dropped: (turn) => {
        holdback.forget(turn);
        channels.get(turn)?.clear();
      },
    }),
  );

  function tick(): void {
    void quietly(medium.announce([...channels.keys()]));
    for (const channel of channels.values()) void channel.wake();
  }

  async function join(turn: string, channel: TurnChannel<C>): Promise<void> {
    await started;
    // The medium may have been down for longer than the watcher stayed.
    if (channels.get(turn) !== channel) return;
    await medium.follow(turn);
    await medium.announce([turn]);
    await channel.wake();
  }

  function openChannel(turn: string): TurnChannel<C> {
    const channel = new TurnChannel<C>((after) => medium.since(turn, after), HELD_FRAMES, onError);
    channels.set(turn, channel);
    ticking ??= setInterval(tick, ANNOUNCE_MS).unref();
    return channel;
  }

  async function leave(turn: string, channel: TurnChannel<C>): Promise<void> {
    if (channel.watched || channels.get(turn) !== channel) return;
    channels.delete(turn);
    if (channels.size === 0) {
      clearInterval(ticking);
      ticking = undefined;
    }
    if (closing === undefined) await quietly(medium.unfollow(turn));
  }

  async function shutDown(): Promise<void> {
    clearInterval(ticking);
    channels.clear();
    await settledWithin(Promise.all([started, ...writes.values()]), START_MS);
    await quietly(medium.close());
  }

  return {
    async publish(turn, frames) {
      if (closing !== undefined || frames.length === 0) return;
      const open = holdback.offer(turn, frames, performance.now());
      if (open.length > 0) await write(turn, () => medium.append(turn, open));
    },
    async watch(turn: string, onFrame: OnFrame) {
      if (closing !== undefined) return async () => undefined;
      const known = channels.get(turn);
      const channel = known ?? openChannel(turn);
      const remove = channel.add(onFrame);
      if (known === undefined) await settledWithin(quietly(join(turn, channel)), START_MS);
      return async () => {
        remove();
        await leave(turn, channel);
      };
    },
    async drop(turn) {
      if (closing !== undefined) return;
      holdback.forget(turn);
      channels.get(turn)?.clear();
      // What nobody watched was never written, and what watchers left behind expires.
      if (holdback.isOpen(turn, performance.now()) || channels.has(turn)) {
        await write(turn, () => medium.drop(turn));
      }
    },
    close: () => {
      closing ??= shutDown();
      return closing;
    },
  };
}
