import { describe, expect, it } from 'vitest';
import type { StuckCause, StuckRow } from '../../../src/db/queries/list-stuck.ts';
import { StuckWatch, type StuckWatchOptions } from '../../../src/runtime/stuck-watch.ts';

const INTERVAL_MS = 10_000;

function row(turn: string, cause: StuckCause = 'nothing_pending'): StuckRow {
  return {
    tenant: 'a-tenant',
    session: 'a-session',
    turn,
    number: 1,
    cause,
    machine: 'turn',
    version: 1,
    parkedReason: null,
    child: null,
    pool: null,
    slots: 0,
    workers: 1,
    sinceSeconds: 90,
  };
}

/** A watch over what the test says is stuck, with a clock the test moves. */
function watching(options: Partial<StuckWatchOptions> = {}) {
  const state = { nowMs: 0, stuck: [] as readonly StuckRow[], looked: 0 };
  const lines: (readonly [Readonly<Record<string, unknown>>, string])[] = [];
  const errors: unknown[] = [];
  const watch = new StuckWatch({
    list: async () => {
      state.looked += 1;
      return state.stuck;
    },
    warn: (fields, message) => lines.push([fields, message]),
    onError: (error) => errors.push(error),
    clock: { monotonicMs: () => state.nowMs },
    intervalMs: INTERVAL_MS,
    ...options,
  });
  const look = (stuck: readonly StuckRow[]) => {
    state.stuck = stuck;
    state.nowMs += INTERVAL_MS;
    return watch.look();
  };
  return { state, lines, errors, watch, look };
}

describe('the watch for stuck turns', () => {
  it('RUN-11 warns of a newly stuck turn with its reason and what to do, once', async () => {
    const { lines, look } = watching();
    expect(await look([])).toBe(0);
    expect(await look([row('a')])).toBe(1);
    expect(await look([row('a')])).toBe(0);
    expect(lines).toHaveLength(1);
    const [fields, message] = lines[0] ?? [];
    expect(message).toBe('a turn is stuck');
    expect(fields).toMatchObject({
      tenant: 'a-tenant',
      turn: 'a',
      cause: 'nothing_pending',
      stuckSeconds: 90,
    });
    expect(fields?.reason).toContain('No call, job, timer or event');
    expect(fields?.action).toContain('/v1/turns/a/retry');
  });

  it('RUN-11 warns again when the same turn is stuck for another cause, and of each turn by itself', async () => {
    const { lines, look } = watching();
    await look([row('a'), row('b')]);
    expect(await look([row('a', 'parked'), row('b')])).toBe(1);
    expect(lines.map(([fields]) => [fields.turn, fields.cause])).toEqual([
      ['a', 'nothing_pending'],
      ['b', 'nothing_pending'],
      ['a', 'parked'],
    ]);
  });

  it('RUN-11 does not repeat itself of a turn that moved and came back the same way', async () => {
    const { lines, look } = watching();
    await look([row('a')]);
    await look([]);
    await look([row('a')]);
    expect(lines).toHaveLength(1);
  });

  it('looks no oftener than its interval, however often a sweep asks', async () => {
    const { state, watch } = watching();
    for (let ms = 0; ms <= 2 * INTERVAL_MS; ms += 1_000) {
      state.nowMs = ms;
      await watch.look();
    }
    expect(state.looked).toBe(3);
  });

  it('remembers a bounded number of turns, and forgets what was stuck longest ago first', async () => {
    const { lines, look } = watching({ remembered: 3 });
    await look([row('a'), row('b'), row('c')]);
    // Still stuck, so told lately: b is what is oldest now.
    await look([row('a')]);
    await look([row('d')]);
    lines.length = 0;
    expect(await look([row('a'), row('c'), row('d')])).toBe(0);
    expect(await look([row('b')])).toBe(1);
    expect(lines.map(([fields]) => fields.turn)).toEqual(['b']);
  });

  it('reports a list that cannot be read, and looks again later', async () => {
    let broken = true;
    const { errors, lines, look } = watching({
      list: async () => {
        if (broken) throw new Error('the database is away');
        return [row('a')];
      },
    });
    expect(await look([])).toBe(0);
    expect(errors).toHaveLength(1);
    broken = false;
    expect(await look([])).toBe(1);
    expect(lines).toHaveLength(1);
  });
});
