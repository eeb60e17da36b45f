/** How often the ladder is right about a model that now and then does the opposite of what it can. */
import { describe, expect, it } from 'vitest';
import { ladderResult, nextSample, openLadder, takeSample } from '../../../src/context/capacity/ladder.ts';
import { draw } from '../../../src/sim/random.ts';

const BLOCKS = 20;
const SEEDS = 100;
const WINDOW = 500_000;
const LEAST_HORIZON = 4_000;
const HORIZON_SPAN = 100;
const TOLERANCE = 0.25;

interface Odds {
  /** Of a hundred searches, in each block: those within a quarter of the truth, and those over a quarter above it. */
  readonly right: readonly number[];
  readonly above: readonly number[];
  readonly meanSamples: number;
}

function search(seed: number, flipRate: number, samples: number) {
  const truth = LEAST_HORIZON * HORIZON_SPAN ** draw(seed, 'horizon');
  let state = openLadder({ window: WINDOW, samples, prefillTokensPerSecond: 0 });
  let requests = 0;
  for (let next = nextSample(state); next !== null; next = nextSample(state)) {
    requests += 1;
    const follows = next.targetTokens <= truth !== draw(seed, 'flip', requests) < flipRate;
    const verdict = follows ? 'followed' : 'not-followed';
    state = takeSample(state, { verdict, promptTokens: next.targetTokens });
  }
  return { error: ladderResult(state).horizonTokens / truth - 1, requests };
}

function odds(flipRate: number, samples: number): Odds {
  const right: number[] = [];
  const above: number[] = [];
  let requests = 0;
  for (let block = 0; block < BLOCKS; block += 1) {
    const found = Array.from({ length: SEEDS }, (_, at) => search(block * SEEDS + at, flipRate, samples));
    right.push(found.filter(({ error }) => Math.abs(error) <= TOLERANCE).length);
    above.push(found.filter(({ error }) => error > TOLERANCE).length);
    requests += found.reduce((sum, one) => sum + one.requests, 0);
  }
  return { right, above, meanSamples: requests / (BLOCKS * SEEDS) };
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

const measured = new Map<string, Odds>();

function oddsOf(flipRate: number, samples: number): Odds {
  const key = `${samples} at ${flipRate}`;
  const known = measured.get(key) ?? odds(flipRate, samples);
  if (!measured.has(key)) {
    const { right, above, meanSamples } = known;
    console.info(
      `samples ${samples}, flips ${flipRate}: right ${mean(right).toFixed(1)} (worst block ${Math.min(...right)}), ` +
        `above ${mean(above).toFixed(2)} (worst ${Math.max(...above)}), ${meanSamples.toFixed(1)} requests`,
    );
  }
  measured.set(key, known);
  return known;
}

describe('the ladder on a model that flips', () => {
  it('CAP-05 F7 is right in 80 of 100 searches at one flip in ten, and far above in at most 6', () => {
    const { right, above, meanSamples } = oddsOf(0.1, 3);
    expect(Math.min(...right)).toBeGreaterThanOrEqual(80);
    expect(Math.max(...above)).toBeLessThanOrEqual(6);
    expect(meanSamples).toBeLessThan(17);
  });

  it('CAP-05 is right in 95 of 100 at three flips in a hundred', () => {
    const { right, above } = oddsOf(0.03, 3);
    expect(Math.min(...right)).toBeGreaterThanOrEqual(95);
    expect(Math.max(...above)).toBeLessThanOrEqual(6);
  });

  it('CAP-05 with seven samples is right in 95 of 100 at one flip in ten', () => {
    const { right, above } = oddsOf(0.1, 7);
    expect(Math.min(...right)).toBeGreaterThanOrEqual(95);
    expect(Math.max(...above)).toBeLessThanOrEqual(6);
  });

  it('CAP-05 F7 single samples are worse, in every block', () => {
    for (const flipRate of [0.03, 0.1]) {
      const single = oddsOf(flipRate, 1);
      const three = oddsOf(flipRate, 3);
      for (const [block, right] of three.right.entries()) expect(single.right[block]).toBeLessThan(right);
      expect(mean(single.above)).toBeGreaterThan(mean(three.above));
    }
  });
});
