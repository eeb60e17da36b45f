/**
 * The publisher's side of the live channel: frames nobody watches stay in this process.
 *
 * A turn is *held* until a watcher announces itself, then *open* until its announcements stop. Held
 * frames cost memory only, bounded here; opening a turn hands them over, so that a watcher who comes
 * late still sees the running step from its start.
 */
import type { DeltaFrame } from '../bus.ts';

/** One step's frames at a coalesced 50 ms are about 20 a second: this holds the last half minute. */
export const HELD_FRAMES = 500;
/** Frames reach 2 KB: at most some 20 MB a process, the longest silent turns forgotten first. */
const HELD_FRAMES_TOTAL = 10_000;

export interface HoldbackLimits {
  readonly perTurn: number;
  readonly total: number;
}

export class Holdback {
  readonly #openForMs: number;
  readonly #limits: HoldbackLimits;
  readonly #held = new Map<string, DeltaFrame[]>();
  readonly #openUntilMs = new Map<string, number>();
  #count = 0;

  constructor(
    openForMs: number,
    limits: HoldbackLimits = { perTurn: HELD_FRAMES, total: HELD_FRAMES_TOTAL },
  ) {
    this.#openForMs = openForMs;
    this.#limits = limits;
  }

  /** What to write now: the frames given when the turn is watched, nothing when they are held. */
  offer(turn: string, frames: readonly DeltaFrame[], nowMs: number): readonly DeltaFrame[] {
    if (this.isOpen(turn, nowMs)) return frames;
    this.#hold(turn, frames);
    return [];
  }

  /** A watcher announced itself: what was held comes out, in order, and the turn stays open for a while. */
  open(turn: string, nowMs: number): readonly DeltaFrame[] {
    for (const [known, untilMs] of this.#openUntilMs) {
      if (untilMs <= nowMs) this.#openUntilMs.delete(known);
    }
    this.#openUntilMs.set(turn, nowMs + this.#openForMs);
    return this.#take(turn);
  }

  isOpen(turn: string, nowMs: number): boolean {
    return (this.#openUntilMs.get(turn) ?? 0) > nowMs;
  }

  /** The turn's frames are durable by now. */
  forget(turn: string): void {
    this.#take(turn);
  }

  #hold(turn: string, frames: readonly DeltaFrame[]): void {
    const all = [...this.#take(turn), ...frames].slice(-this.#limits.perTurn);
    // Set anew, so that the map's order is the order of the last word.
    this.#held.set(turn, all);
    this.#count += all.length;
    for (const oldest of this.#held.keys()) {
      if (this.#count <= this.#limits.total || oldest === turn) break;
      this.#take(oldest);
    }
  }

  #take(turn: string): readonly DeltaFrame[] {
    const held = this.#held.get(turn) ?? [];
    this.#held.delete(turn);
    this.#count -= held.length;
    return held;
  }
}
