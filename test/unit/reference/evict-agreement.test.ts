/** Random lives of sessions: the real machines and the reference stand the same after every act, byte for byte. */
import { describe, expect, it } from 'vitest';
import { writeScript } from '../../reference/evict/scripts.ts';
import { type Played, play } from './agreement/play.ts';

const SEEDS = Number(process.env.TURNWRIGHT_TEST_EDIT_SCRIPTS ?? 150);
/** A bound against hanging. */
const LIMIT_MS = 60_000 + SEEDS * 2_000;
const LEAST_SHARE = 0.01;

describe('random edit scripts', () => {
  it(
    'EVT-02 EVT-03 LIN-01 LIN-02 faults 5, 8, 10, 18 and 20: the real machines stand as the reference does, live and after a reload',
    async () => {
      const counts = new Map<string, number>();
      let acts = 0;
      for (let seed = 0; seed < SEEDS; seed++) {
        const played: Played = await play(writeScript(seed), seed);
        acts += played.acts;
        for (const [name, count] of Object.entries(played.classes))
          counts.set(name, (counts.get(name) ?? 0) + count);
      }
      console.info(`${SEEDS} scripts, ${acts} acts:`, Object.fromEntries(counts));
      const rare = [...counts].filter(([name, count]) => name !== 'unforced' && count < LEAST_SHARE * acts);
      expect(rare).toEqual([]);
    },
    LIMIT_MS,
  );
});
