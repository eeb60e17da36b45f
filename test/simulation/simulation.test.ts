/** The deterministic simulation: seeded worlds of real machines and runtime code, each judged by every law. */
import { describe, expect, it } from 'vitest';
import { simulate } from './simulate.ts';
import { BUGS } from './world/bugs.ts';

/** How long worlds are made and judged; a longer form is `npm run simulate -- --seeds 10000`. */
const SECONDS = Number(process.env.TURNWRIGHT_SIMULATION_SECONDS ?? 60);
/** Fewer would not meet every kind of fault. */
const FEWEST_SEEDS = 100;
const BUG_SEEDS = 1_000;
/** Bounds against hanging: a machine may be busy. */
const LIMIT_MS = SECONDS * 1_000 + 900_000;
/** What all worlds together must have met, in at least so many of a hundred worlds. */
const LEAST_SHARE = 0.01;
const MET = [
  'crash',
  'drain',
  'pause',
  'database-away',
  'database-crash',
  'queue-away',
  'queue-lost',
  'job-vanishes',
  'job-delivered-again',
  'job-added-again',
  'jobs delivered late',
  'jobs delivered again',
  'wall-clock-steps',
  'database-clock-steps',
  'connections broken',
  'calls taken over',
  'calls retried',
  'timers fired',
  'turns steered',
  'resets',
  'evictions',
  'claims from memory',
  'upgrades',
  'events left to another release',
  'decisions: rerun',
  'results too late',
  'completed',
  'degraded',
  'failed',
  'cancelled',
];

describe('simulation', () => {
  it(
    'RUN-03 RUN-04 RUN-05 RUN-07 every seeded world obeys every law',
    async () => {
      const endsMs = performance.now() + SECONDS * 1_000;
      const met = new Map<string, number>();
      let seeds = 0;
      while (seeds < FEWEST_SEEDS || performance.now() < endsMs) {
        seeds += 1;
        const { seed, broken, counts, outcomes, lines } = await simulate(seeds);
        expect(broken, `seed ${seed}\n${lines.slice(-40).join('\n')}`).toEqual([]);
        for (const what of new Set([...counts.keys(), ...outcomes])) met.set(what, (met.get(what) ?? 0) + 1);
      }
      const rare = MET.filter((what) => (met.get(what) ?? 0) < LEAST_SHARE * seeds);
      expect(rare, `of ${seeds} worlds`).toEqual([]);
    },
    LIMIT_MS,
  );

  it('a seed decides everything that happens, and another seed something else', async () => {
    const digests: string[] = [];
    for (const seed of [3, 4, 5]) {
      const [first, second] = [await simulate(seed), await simulate(seed, { keepTrace: true })];
      expect(second.digest).toBe(first.digest);
      expect(second.lines.slice(-10)).toEqual(first.lines.slice(-10));
      digests.push(first.digest);
    }
    expect(new Set(digests).size).toBe(digests.length);
  });

  for (const [name, bug] of Object.entries(BUGS)) {
    it(
      `RUN-03 finds ${name}`,
      async () => {
        let seed = 0;
        let found: readonly string[] = [];
        while (seed < BUG_SEEDS && found.length === 0) {
          seed += 1;
          found = (await simulate(seed, { bug })).broken;
        }
        expect(found).not.toEqual([]);
        expect((await simulate(seed)).broken, `seed ${seed} without the bug`).toEqual([]);
      },
      LIMIT_MS,
    );
  }
});
