import { afterEach, describe, expect, it } from 'vitest';
import type { SessionRef } from '../../../src/db/contract.ts';
import { MACHINES, type MachineRegistry } from '../../../src/machines/registry.ts';
import { TURN_MACHINE, TURN_VERSION, turnMachine } from '../../../src/machines/turn.ts';
import { replay, unfold } from '../../../src/runtime/replay.ts';
import { until } from '../../support/await.ts';
import { BACKENDS, openTestStack, type TestStack, type TestWorker } from '../../support/stack.ts';
import { sayingTool } from '../../support/tools.ts';

const NEXT_VERSION = TURN_VERSION + 1;
const SESSIONS = 6;
const TURN_LIMIT_MS = 60_000;
const TEST_LIMIT_MS = 180_000;

/** A later release: it gives up on a second empty reply where this one had given up too, but never for a spent budget. */
const LATER = turnMachine.provide({ guards: { budgetSpent: () => false } });
const BOTH: MachineRegistry = {
  ...MACHINES,
  [TURN_MACHINE]: { [TURN_VERSION]: turnMachine, [NEXT_VERSION]: LATER },
};

describe.each(BACKENDS)('two releases on %s', (backend) => {
  const stacks: TestStack[] = [];
  afterEach(async () => {
    await Promise.all(stacks.splice(0).map((stack) => stack.close()));
  });

  async function open(): Promise<TestStack> {
    const stack = await openTestStack({
      backend,
      leaseMs: 3_000,
      tools: [sayingTool('weir', 'Says whether the weir is open.', 'The weir is open.')],
    });
    stacks.push(stack);
    return stack;
  }

  it('RUN-09 each turn keeps the version it began with, and both run side by side', {
    timeout: TEST_LIMIT_MS,
  }, async () => {
    const stack = await open();
    await stack.worker({ registry: BOTH });
    const later = stack.open(BOTH);
    const session = await stack.session({ tools: ['weir'] });
    const options = { stepBudget: 1 };
    const before = await stack.ask(session, 'Call the weir tool.', options);
    const after = await stack.ask(session, 'Call the weir tool.', { ...options, services: later });
    expect(before).toMatchObject({ outcome: 'degraded', reason: 'step_budget', steps: 1 });
    expect(after).toMatchObject({ outcome: 'completed', steps: 2 });
    expect(await versions(stack)).toEqual({ [TURN_VERSION]: 1, [NEXT_VERSION]: 1 });
  });

  it('RUN-09 RUN-10 what is said to a turn of another version is refused, and nothing of it is written', async () => {
    const stack = await open();
    const later = stack.open(BOTH);
    const session = await stack.session({ tools: ['weir'] });
    const turn = await stack.accept(session, 'Call the weir tool.', { services: later });
    const before = await stack.records(session);
    const steering = { mode: 'steer', idempotencyKey: 'k' } as const;
    const refused = stack.accept(session, 'Good morning.', steering);
    await expect(refused).rejects.toMatchObject({ code: 'turn_elsewhere' });
    expect(await stack.records(session)).toEqual(before);
    expect(await stack.accept(session, 'Good morning.', { ...steering, services: later })).toBe(turn);
  });

  it('RUN-09 RUN-12 a rolling restart under load loses and parks nothing, and every turn replays', {
    timeout: TEST_LIMIT_MS,
  }, async () => {
    const stack = await open();
    const later = stack.open(BOTH);
    const old = [await stack.worker(), await stack.worker()];
    const sessions = await Promise.all(
      Array.from({ length: SESSIONS }, () => stack.session({ tools: ['weir'] })),
    );
    const turns: { readonly session: SessionRef; readonly turn: string }[] = [];
    let rolling = true;
    let released = false;
    const load = sessions.map(async (session) => {
      while (rolling) {
        const services = released ? later : stack.producer;
        const turn = await stack.accept(session, 'Call the weir tool.', { services });
        turns.push({ session, turn });
        await stack.ended(session, turn, TURN_LIMIT_MS);
      }
    });
    const ran = (count: number) => until('turns have run', () => turns.length >= count, TURN_LIMIT_MS);
    await ran(SESSIONS * 2);
    for (const worker of old) await replace(stack, worker);
    released = true;
    await ran(turns.length + SESSIONS * 2);
    rolling = false;
    await Promise.all(load);

    for (const { session, turn } of turns)
      expect(await stack.ended(session, turn)).toMatchObject({ outcome: 'completed' });
    const counted = await versions(stack);
    expect(Object.keys(counted)).toEqual([String(TURN_VERSION), String(NEXT_VERSION)]);
    expect(await stack.sql(`SELECT 1 FROM turnwright.actors WHERE status = 'parked'`)).toEqual([]);
    expect(await replays(stack)).toBe(turns.length);
  });
});

async function replace(stack: TestStack, worker: TestWorker): Promise<void> {
  await stack.worker({ registry: BOTH });
  await worker.stop();
}

async function versions(stack: TestStack): Promise<Readonly<Record<string, number>>> {
  const rows = await stack.sql<{ version: number; count: number }>(
    'SELECT version, count(*)::integer AS count FROM turnwright.actors WHERE machine = $1 GROUP BY version',
    [TURN_MACHINE],
  );
  return Object.fromEntries(rows.map(({ version, count }) => [version, count]));
}

/** How many turns there are; every one must replay to its row under the version it names. */
async function replays(stack: TestStack): Promise<number> {
  const actors = await stack.sql<{ actor_id: string; version: number; snapshot: string }>(
    'SELECT actor_id, version, snapshot FROM turnwright.actors WHERE machine = $1',
    [TURN_MACHINE],
  );
  for (const { actor_id, version, snapshot } of actors) {
    const events = await stack.sql<{ id: string; event: string; digest: string | null }>(
      `SELECT event_id AS id, event, encode(snapshot_digest, 'hex') AS digest FROM turnwright.actor_events
        WHERE actor_id = $1 ORDER BY revision`,
      [actor_id],
    );
    const steps = replay(BOTH, TURN_MACHINE, version, unfold(events));
    expect(steps.every(({ matches }) => matches)).toBe(true);
    expect(steps.at(-1)?.snapshot).toBe(snapshot);
  }
  return actors.length;
}
