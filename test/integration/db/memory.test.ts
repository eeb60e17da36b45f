import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SessionState } from '../../../src/db/contract.ts';
import { PostgresStore } from '../../../src/db/store.ts';
import { PostgresUpkeep } from '../../../src/db/upkeep.ts';
import { createMemoryDatabase } from '../../simulation/memory/database.ts';
import { actOf, observe, opening, type Side } from '../../simulation/memory/history.ts';
import { anyHistory, STEP_MS } from '../../simulation/memory/steps.ts';
import { type MigratedDatabase, migratedDatabase } from './migrated.ts';
import { elapse, empty } from './passing-time.ts';

const HISTORIES = 10;
/** Lists that a history must have written something of. */
const PROJECTED = ['packets', 'edges', 'retracted', 'presentations', 'prefixes', 'resets'];
const LIMIT_MS = 300_000;
/** What a history may take on a busy machine. */
const TOLERANCE_MS = STEP_MS / 3;
/** What depends on the moment of the question. */
const TIMES = new Set(['dueInMs', 'receivedInMs', 'heldMs', 'oldestSeconds']);

describe('the memory database of the simulation', () => {
  let database: MigratedDatabase;
  beforeAll(async () => {
    database = await migratedDatabase();
  });
  afterAll(() => database.close());

  function postgres(): Side {
    return {
      store: new PostgresStore(database.app),
      upkeep: new PostgresUpkeep(database.upkeep),
      elapse: (ms) => elapse(database.root, ms),
    };
  }

  function memory(): Side {
    let nowMs = Date.UTC(2026, 0, 1);
    const held = createMemoryDatabase({ nowMs: () => nowMs });
    return {
      store: held.store(),
      upkeep: held.upkeep(),
      elapse: async (ms) => {
        nowMs += ms;
      },
    };
  }

  it(
    'RUN-03 answers and stores what Postgres does, over random histories with refusals and takeovers',
    async () => {
      const seen = new Map<string, number>();
      const written = new Map<string, number>();
      await fc.assert(
        fc.asyncProperty(anyHistory, async (history) => {
          await empty(database.root);
          const sides = [memory(), postgres()] as const;
          const refs = [1, 2].map(() => ({ tenant: randomUUID(), session: randomUUID() }));
          for (const ref of refs) {
            const commit = opening(ref, randomUUID());
            for (const side of sides) expect(await side.store.apply(commit)).toBe('applied');
          }
          for (const step of history) {
            const act = await actOf(step, refs, sides[0]);
            const [ours, theirs] = [await act(sides[0]), await act(sides[1])];
            agree(step, ours, theirs);
            if (typeof ours === 'string') seen.set(ours, (seen.get(ours) ?? 0) + 1);
          }
          for (const ref of refs) count(written, await sides[0].store.sessionState(ref));
          agree('in the end', await observe(sides[0], refs), await observe(sides[1], refs));
        }),
        // Shrinking against a database takes minutes; the message names the step that went apart.
        { numRuns: HISTORIES, endOnFailure: true },
      );
      // Histories in which nothing is refused would show little: of the four ways, three at least.
      expect(seen.get('applied') ?? 0).toBeGreaterThan(50);
      expect(seen.size).toBeGreaterThanOrEqual(4);
      for (const list of PROJECTED) expect([list, (written.get(list) ?? 0) > 0]).toEqual([list, true]);
    },
    LIMIT_MS,
  );
});

function count(written: Map<string, number>, state: SessionState | null): void {
  const resets = state?.heads.filter(({ reset }) => reset !== null) ?? [];
  const retracted = state?.edges.filter((edge) => edge.retracted) ?? [];
  for (const [name, rows] of Object.entries({ ...state, resets, retracted }))
    if (Array.isArray(rows)) written.set(name, (written.get(name) ?? 0) + rows.length);
}

function agree(after: unknown, ours: unknown, theirs: unknown): void {
  const [mine, other] = [untimed(ours), untimed(theirs)];
  expect(mine.rest, `after ${JSON.stringify(after)}`).toEqual(other.rest);
  for (const [index, time] of mine.times.entries())
    expect(Math.abs(time - (other.times[index] ?? Number.NaN))).toBeLessThan(TOLERANCE_MS);
}

/** A value without its times, and the times in the order in which they stand in it, in ms. */
function untimed(value: unknown): { readonly rest: unknown; readonly times: readonly number[] } {
  const times: number[] = [];
  const text = JSON.stringify(value ?? null, (name, member: unknown) => {
    if (!TIMES.has(name) || typeof member !== 'number') return member;
    times.push(name === 'oldestSeconds' ? member * 1_000 : member);
    return 0;
  });
  return { rest: JSON.parse(text), times };
}
