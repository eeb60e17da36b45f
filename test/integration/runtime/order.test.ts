import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MACHINES } from '../../../src/machines/registry.ts';
import { replay, unfold } from '../../../src/runtime/replay.ts';
import { until } from '../../support/await.ts';
import { BACKENDS, openTestStack, type TestStack } from '../../support/stack.ts';
import { type HeldTool, heldTool } from '../../support/tools.ts';

const PRODUCERS = 4;
const TURNS_EACH = 5;
/** A model offered a single tool would call it whatever it is asked. */
const WITH_WEIR = ['weir', 'recall'];

describe.each(BACKENDS)('order on %s', (backend) => {
  let stack: TestStack;
  let weir: HeldTool;
  beforeAll(async () => {
    weir = heldTool('weir', 'read', true);
    stack = await openTestStack({ backend, tools: [weir.tool] });
    // No upkeep pool: events stay as they were until a test folds them.
    await stack.worker({ pools: ['turn', 'step', 'tool', 'summary', 'probe', 'intent'] });
  });
  afterAll(() => stack.close());

  it('RUN-10 RUN-13 turns that several producers accept at once run one at a time, in order of number', async () => {
    const session = await stack.session({ tools: [] });
    const producers = Array.from({ length: PRODUCERS }, () => stack.open());
    const accepted = await Promise.all(
      producers.flatMap((services) =>
        Array.from({ length: TURNS_EACH }, (_, n) =>
          stack.accept(session, `Good morning, crew ${n}.`, { services }),
        ),
      ),
    );
    for (const turn of accepted)
      expect(await stack.ended(session, turn)).toMatchObject({ outcome: 'completed' });

    const records = await stack.records(session);
    const numbers = new Map(
      records.flatMap(({ kind, turnId, data }) => (kind === 'turn-accepted' ? [[turnId, data.number]] : [])),
    );
    const expected = Array.from({ length: PRODUCERS * TURNS_EACH }, (_, index) => index + 1);
    expect([...numbers.values()]).toEqual(expected);
    expect(new Set(numbers.keys())).toEqual(new Set(accepted));
    const lives = records.flatMap(({ kind, turnId }) =>
      kind === 'turn-context' || kind === 'turn-closed' ? [`${String(numbers.get(turnId))} ${kind}`] : [],
    );
    expect(lives).toEqual(expected.flatMap((number) => [`${number} turn-context`, `${number} turn-closed`]));
    expect(await stack.verify(session)).toMatchObject({ ok: true });
  });

  it('RUN-10 mode reject refuses a busy head and writes nothing; a free head takes the turn', async () => {
    const session = await stack.session({ tools: WITH_WEIR });
    const turn = await stack.accept(session, 'Call the weir tool.');
    await until('the turn waits for a person', async () => waits(turn));
    const before = await stack.records(session);
    const refused = stack.accept(session, 'Good morning.', { mode: 'reject' });
    await expect(refused).rejects.toMatchObject({ code: 'turn_running' });
    expect(await stack.records(session)).toEqual(before);
    await stack.cancel(session, turn);
    expect(await stack.ended(session, turn)).toMatchObject({ outcome: 'cancelled' });
    expect(await stack.ask(session, 'Good morning.', { mode: 'reject' })).toMatchObject({
      outcome: 'completed',
    });
  });

  it('RUN-10 a turn cancelled while it waits its place ends, and the one behind it runs', async () => {
    const session = await stack.session({ tools: WITH_WEIR });
    const running = await stack.accept(session, 'Call the weir tool.');
    const waiting = await stack.accept(session, 'Good morning.');
    const behind = await stack.accept(session, 'Good evening.');
    await until('the first waits for a person', async () => waits(running));
    await stack.cancel(session, waiting);
    expect(await stack.ended(session, waiting)).toMatchObject({ outcome: 'cancelled', steps: 0 });
    await stack.cancel(session, running);
    expect(await stack.ended(session, behind)).toMatchObject({ outcome: 'completed' });
    expect(await stack.verify(session)).toMatchObject({ ok: true });
  });

  it('RUN-03 the same idempotency key from two producers at once is one turn, and another body a conflict', async () => {
    const session = await stack.session({ tools: [] });
    const options = { idempotencyKey: 'crew-1' };
    const turns = await Promise.all(
      [stack.producer, stack.open(), stack.open()].map((services) =>
        stack.accept(session, 'Good morning.', { ...options, services }),
      ),
    );
    expect(new Set(turns).size).toBe(1);
    await expect(stack.accept(session, 'Good evening.', options)).rejects.toMatchObject({
      code: 'idempotency_conflict',
    });
  });

  it('RUN-09 replays every finished actor to its stored snapshots, before and after its events were folded', async () => {
    const session = await stack.session({ tools: WITH_WEIR });
    const turn = await stack.accept(session, 'Call the weir tool.');
    await until('the turn waits for a person', async () => waits(turn));
    weir.releaseAll();
    await stack.producer.engine.deliver(
      { ...session, actor: turn },
      { id: 'decide.1', event: { type: 'turn.approve' } },
    );
    await stack.ended(session, turn);
    await until(
      'probes have ended',
      async () => (await stack.sql(`SELECT 1 FROM turnwright.actors WHERE status = 'active'`)).length === 0,
    );
    const before = await replayAll();
    expect(before.length).toBeGreaterThan(PRODUCERS * TURNS_EACH);
    expect(await stack.producer.upkeep.compact(1_000)).toBe(before.length);
    const rows = await stack.sql<{ ids: string }>(
      'SELECT string_agg(event_id, $1) AS ids FROM turnwright.actor_events GROUP BY actor_id',
      [','],
    );
    expect(rows.map(({ ids }) => ids)).toEqual(before.map(() => 'all'));
    expect(await replayAll()).toEqual(before);
  });

  /** The steps of every actor, replayed; each must match, and the last be what the actor's row holds. */
  async function replayAll() {
    const actors = await stack.sql<{ actor_id: string; machine: string; version: number; snapshot: string }>(
      'SELECT actor_id, machine, version, snapshot FROM turnwright.actors ORDER BY actor_id',
    );
    const histories: { readonly actor: string; readonly steps: readonly string[] }[] = [];
    for (const { actor_id, machine, version, snapshot } of actors) {
      const events = await stack.sql<{ id: string; event: string; digest: string | null }>(
        `SELECT event_id AS id, event, encode(snapshot_digest, 'hex') AS digest FROM turnwright.actor_events
          WHERE actor_id = $1 ORDER BY revision`,
        [actor_id],
      );
      const steps = replay(MACHINES, machine, version, unfold(events));
      expect(steps.map(({ matches }) => matches)).toEqual(steps.map(() => true));
      expect(steps.at(-1)?.snapshot).toBe(snapshot);
      histories.push({ actor: actor_id, steps: steps.map(({ id, type }) => `${id} ${type}`) });
    }
    return histories;
  }

  async function waits(turn: string): Promise<boolean> {
    const [row] = await stack.sql<{ snapshot: string }>(
      'SELECT snapshot FROM turnwright.actors WHERE actor_id = $1',
      [turn],
    );
    return row?.snapshot.includes('"value":"waiting"') ?? false;
  }
});
