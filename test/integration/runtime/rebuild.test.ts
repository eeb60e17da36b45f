import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SessionRef, SessionState } from '../../../src/db/contract.ts';
import { MACHINES } from '../../../src/machines/registry.ts';
import { rebuildSession } from '../../../src/runtime/rebuild.ts';
import { verifySession } from '../../../src/runtime/verify-session.ts';
import { until } from '../../support/await.ts';
import { openTestStack, type TestStack } from '../../support/stack.ts';
import { type HeldTool, heldTool, sayingTool } from '../../support/tools.ts';

const LONG_TEXT = 'The tide turns at noon. '.repeat(3_000);
const TABLES = [
  'sessions',
  'heads',
  'turns',
  'accepted_keys',
  'evidence',
  'packets',
  'actors',
  'side_calls',
  'timers',
  'outbox',
];

describe('projections made anew', () => {
  let stack: TestStack;
  let weir: HeldTool;
  let sluice: HeldTool;
  beforeAll(async () => {
    weir = heldTool('weir', 'read');
    sluice = heldTool('sluice', 'read', true);
    const almanac = sayingTool('almanac', 'Says the tides.', LONG_TEXT);
    stack = await openTestStack({ backend: 'postgres', tools: [weir.tool, sluice.tool, almanac] });
    // Without the upkeep pool events stay as they are until a test folds them.
    await stack.worker({ pools: ['turn', 'step', 'tool', 'summary', 'probe', 'intent'] });
  });
  afterAll(() => stack.close());

  it('LED-03 are the stored ones, after every way a turn can end, folded or not', async () => {
    const session = await lived();
    expect(await rebuild(session)).toEqual({ differences: [], restored: false });
    expect(await verify(session)).toMatchObject({ chain: { ok: true }, broken: null });
    await stack.producer.upkeep.compact(1_000);
    expect((await state(session)).actors.every(({ compacted }) => compacted)).toBe(true);
    expect(await rebuild(session)).toEqual({ differences: [], restored: false });
  });

  it('LED-03 come back whole from records and events when every row of them is gone', async () => {
    const session = await lived();
    const before = await state(session);
    const times = await turnTimes(session);
    for (const table of TABLES)
      await stack.sql(`DELETE FROM turnwright.${table} WHERE session_id = $1`, [session.session]);
    expect(await stack.producer.store.sessionState(session)).toBeNull();
    const rebuilt = await rebuild(session);
    expect(rebuilt.restored).toBe(true);
    const after = await state(session);
    expect({ ...after, calls: [] }).toEqual({ ...before, calls: [] });
    expect(await turnTimes(session)).toEqual(times);
    expect(await verify(session)).toMatchObject({ chain: { ok: true }, broken: null });
    expect(await stack.ask(session, 'Good evening.')).toMatchObject({ outcome: 'completed' });
  });

  it.each([
    ['sessions', `UPDATE turnwright.sessions SET next_turn = next_turn + 1`],
    ['sessions', `UPDATE turnwright.sessions SET leg = 'another'`],
    ['heads', `UPDATE turnwright.heads SET open_turn = gen_random_uuid()`],
    ['turns', `UPDATE turnwright.turns SET outcome = 'failed'`],
    ['turns', `UPDATE turnwright.turns SET full_bytes = full_bytes + 1`],
    ['accepted_keys', `DELETE FROM turnwright.accepted_keys`],
    ['evidence', `UPDATE turnwright.evidence SET seq = seq + 1`],
    ['actors', `UPDATE turnwright.actors SET snapshot = '{}'`],
    ['actors', `UPDATE turnwright.actors SET revision = revision + 1`],
    ['turns', `DELETE FROM turnwright.turns`],
  ])('LED-03 a wrong row of %s is named, and mended (%s)', async (table, statement) => {
    const session = await lived();
    const before = await state(session);
    await stack.sql(`${statement} WHERE session_id = $1`, [session.session]);
    expect((await verify(session))?.broken).toMatch(/^\d+: /u);
    const rebuilt = await rebuild(session);
    expect(new Set(rebuilt.differences.map((difference) => difference.table))).toEqual(new Set([table]));
    expect(await state(session)).toEqual(before);
  });

  it.each([
    ['its call', 'side_calls'],
    ['what would hand it over', 'outbox'],
    ['its deadline', 'timers'],
    ['its actor', 'actors'],
  ])('LED-03 a turn that waits for a worker, and lost %s, goes on once it is rebuilt', async (_, table) => {
    const idle = await openTestStack({ backend: 'postgres' });
    try {
      const session = await idle.session({ tools: [] });
      const turn = await idle.accept(session, 'Good evening.');
      const { store, upkeep } = idle.producer;
      const again = () => rebuildSession({ store, upkeep, registry: MACHINES }, session);
      expect(await again()).toEqual({ differences: [], restored: false });
      await idle.sql(`DELETE FROM turnwright.${table} WHERE session_id = $1`, [session.session]);
      const rebuilt = await again();
      expect(rebuilt.differences.map((found) => found.table)).toContain(table);
      expect(await again()).toEqual({ differences: [], restored: false });
      await idle.worker();
      expect(await idle.ended(session, turn)).toMatchObject({ outcome: 'completed' });
    } finally {
      await idle.close();
    }
  });

  it('LED-03 a turn that waits for a person keeps what it waits for', async () => {
    const session = await stack.session({ tools: ['sluice'] });
    const turn = await stack.accept(session, 'Call the sluice tool.');
    await until('it waits', async () =>
      (await state(session)).timers.some(({ timer }) => timer === 'waited'),
    );
    const before = await state(session);
    for (const table of ['timers', 'actors'])
      await stack.sql(`DELETE FROM turnwright.${table} WHERE session_id = $1`, [session.session]);
    await rebuild(session);
    const after = await state(session);
    expect(after.actors).toEqual(before.actors);
    expect(after.timers.map(({ timer, event }) => [timer, event])).toEqual(
      before.timers.map(({ timer, event }) => [timer, event]),
    );
    for (const [index, timer] of after.timers.entries())
      expect(Math.abs(timer.dueInMs - (before.timers[index]?.dueInMs ?? 0))).toBeLessThan(60_000);
    sluice.releaseAll();
    await stack.producer.engine.submit({ ...session, actor: turn }, 'decide.1', { type: 'turn.approve' });
    expect(await stack.ended(session, turn)).toMatchObject({ outcome: 'completed' });
  });

  /** A session with an answer, tool calls, a large result, a keyed turn, a steered, a cancelled and an interrupted one. */
  async function lived(): Promise<SessionRef> {
    const session = await stack.session({ tools: ['weir', 'almanac', 'recall'] });
    await stack.ask(session, 'Good morning.', { idempotencyKey: 'first' });
    await stack.ask(session, 'Call the almanac tool.');
    const runs = weir.runs.length;
    const steered = await stack.accept(session, 'Call the weir tool.');
    const run = await until('the tool runs', () => weir.runs[runs]);
    await stack.accept(session, 'Mind the tide.', { mode: 'steer', idempotencyKey: 'second' });
    const waiting = await stack.accept(session, 'Good evening.');
    await stack.cancel(session, waiting);
    run.release();
    await stack.ended(session, steered);
    const interrupted = await stack.accept(session, 'Call the weir tool.');
    await until('the tool runs again', () => weir.runs[runs + 1]);
    const last = await stack.accept(session, 'Good night.', { mode: 'interrupt' });
    for (const turn of [waiting, interrupted, last]) await stack.ended(session, turn);
    await until('nothing runs any more', async () =>
      (await state(session)).actors.every(({ status }) => status === 'done'),
    );
    return session;
  }

  function rebuild(session: SessionRef) {
    const { store, upkeep } = stack.producer;
    return rebuildSession({ store, upkeep, registry: MACHINES }, session);
  }

  function verify(session: SessionRef) {
    return verifySession({ store: stack.producer.store, registry: MACHINES }, session);
  }

  /** Without what only time changes. */
  async function state(session: SessionRef): Promise<SessionState> {
    const found = await stack.producer.store.sessionState(session);
    if (found === null) throw new Error(`there is no session ${session.session}`);
    return { ...found, events: found.events.map((event) => ({ ...event, receivedInMs: 0 })) };
  }

  function turnTimes(session: SessionRef) {
    return stack.sql(
      'SELECT turn_id, accepted_at, started_at, closed_at FROM turnwright.turns WHERE session_id = $1 ORDER BY number',
      [session.session],
    );
  }
});
