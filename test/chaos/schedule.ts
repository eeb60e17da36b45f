/** Which fault comes when: a deck of all kinds, shuffled anew each time it is used up, all from the seed. */
import { draw } from '../../src/sim/random.ts';
import type { FaultKind } from './faults.ts';

export interface Blow {
  readonly n: number;
  /** Two that strike together have different subjects. */
  readonly kinds: readonly FaultKind[];
  /** Quiet before it. */
  readonly pauseMs: number;
}

export interface Pauses {
  readonly shortestMs: number;
  readonly longestMs: number;
}

const PAIR_SHARE = 0.2;

export function* blows(seed: number, kinds: readonly FaultKind[], pauses: Pauses): Generator<Blow, never> {
  let deck: FaultKind[] = [];
  for (let n = 1; ; n += 1) {
    if (deck.length === 0) deck = shuffled(seed, kinds, n);
    const first = deck.shift();
    if (first === undefined) throw new Error('there is no fault to deal');
    const at = deck.findIndex(({ subject }) => subject !== first.subject);
    const paired = at !== -1 && draw(seed, 'pair', n) < PAIR_SHARE ? deck.splice(at, 1) : [];
    const pauseMs = pauses.shortestMs + (pauses.longestMs - pauses.shortestMs) * draw(seed, 'pause', n);
    yield { n, kinds: [first, ...paired], pauseMs };
  }
}

function shuffled(seed: number, kinds: readonly FaultKind[], n: number): FaultKind[] {
  return kinds
    .map((kind) => ({ kind, at: draw(seed, 'deck', n, kind.name) }))
    .sort((a, b) => a.at - b.at)
    .map(({ kind }) => kind);
}
