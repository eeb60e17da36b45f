import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { until } from '../../support/await.ts';
import { BACKENDS, openTestStack, type TestStack, type TestWorker } from '../../support/stack.ts';
import { type HeldTool, heldTool, sayingTool } from '../../support/tools.ts';

const DIRECTIVE = 'Call the survey tool and weigh the cargo of the Wigeon.';

/** Its worker looks at its rows more seldom than anything here waits. */
const LONG_LEASE_MS = 600_000;

describe.each(BACKENDS)('everything happens once on %s', (backend) => {
  const ran: string[] = [];
  let stack: TestStack;
  let lock: HeldTool;
  const sluice = heldTool('sluice', 'read');
  const again = new Map<string, () => Promise<void>>();
  beforeAll(async () => {
    lock = heldTool('weir', 'read', true);
    stack = await openTestStack({
      backend,
      tools: [
        sayingTool('survey', 'Looks at the hull.', 'The hull is sound.', ran),
        sayingTool('weigh_cargo', 'Weighs the cargo of a boat.', 'The cargo of the Wigeon weighs 40 t.', ran),
        lock.tool,
        sluice.tool,
      ],
    });
    await stack.worker({
      between: (_, handle) => async (ref) => {
        again.set(`${ref.actor}~${ref.child}`, () => handle(ref));
        await Promise.all([handle(ref), handle(ref)]);
        await handle(ref);
      },
    });
  });
  afterAll(() => stack.close());

  it('RUN-03 RUN-13 a job delivered three times, twice at once, changes, records and calls once', async () => {
    const session = await stack.session({ tools: ['survey', 'weigh_cargo'] });
    const callsBefore = stack.sim.calls().length;
    const end = await stack.ask(session, DIRECTIVE);
    expect(end).toMatchObject({ outcome: 'completed', steps: 3 });
    expect(stack.sim.calls().length - callsBefore).toBe(3);
    expect(ran.filter((key) => key.startsWith(end.turn))).toHaveLength(2);
    const kinds = (await stack.records(session, end.turn)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'assistant-message')).toHaveLength(3);
    expect(kinds.filter((kind) => kind === 'tool-result')).toHaveLength(2);
    expect(kinds.filter((kind) => kind === 'work-receipt')).toHaveLength(3);
    expect(kinds.filter((kind) => kind === 'turn-closed')).toHaveLength(1);
    expect(kinds).not.toContain('late-result');
    expect(await stack.verify(session)).toMatchObject({ ok: true });
  });

  it('RUN-03 an event delivered twice at once and again later is applied once', async () => {
    const session = await stack.session({ tools: ['weir'] });
    const turn = await stack.accept(session, 'Call the weir tool.');
    const actor = { ...session, actor: turn };
    await until('the turn waits for a person', async () => stateOf(stack, turn, 'waiting'));
    const decide = { id: 'decide.1', event: { type: 'turn.approve' } };
    const { engine } = stack.producer;
    const answers = await Promise.all([engine.deliver(actor, decide), engine.deliver(actor, decide)]);
    expect([...answers].sort()).toEqual(['applied', 'duplicate']);
    await until('the tool runs', () => lock.runs.length > 0);
    expect(await engine.deliver(actor, decide)).toBe('duplicate');
    lock.releaseAll();
    expect(await stack.ended(session, turn)).toMatchObject({ outcome: 'completed', steps: 2 });
    expect(lock.runs).toHaveLength(1);
    expect(await engine.deliver(actor, { id: 'cancel.9', event: { type: 'turn.cancel' } })).toBe('ended');
    const messages = (await stack.records(session, turn)).filter(({ kind }) => kind === 'assistant-message');
    expect(messages).toHaveLength(2);
  });

  it('RUN-03 an event submitted twice under one id is stored and applied once', async () => {
    const session = await stack.session({ tools: ['weir', 'survey'] });
    const turn = await stack.accept(session, 'Call the weir tool.');
    await until('the turn waits for a person', async () => stateOf(stack, turn, 'waiting'));
    const { store } = stack.producer;
    const submit = () =>
      store.submitEvent({ ...session, actor: turn }, 'outside.1', '{"type":"turn.cancel"}');
    const dispatches = await Promise.all([submit(), submit()]);
    expect(dispatches.filter((dispatch) => dispatch !== null)).toHaveLength(1);
    expect(await stack.ended(session, turn)).toMatchObject({ outcome: 'cancelled' });
    expect(await submit()).toBeNull();
    const closed = (await stack.records(session, turn)).filter(({ kind }) => kind === 'turn-closed');
    expect(closed).toHaveLength(1);
  });

  it('RUN-06 cancel still reaches a call whose job came twice', async () => {
    const session = await stack.session({ tools: ['sluice'] });
    const turn = await stack.accept(session, 'Call the sluice tool.');
    const run = await until('the tool runs', () => sluice.runs[0]);
    await again.get(`${turn}~tool-1-0`)?.();
    await stack.cancel(session, turn);
    await until('the tool was told', () => run.signal.aborted);
    expect(await stack.ended(session, turn)).toMatchObject({ outcome: 'cancelled' });
  });
});

describe.each(BACKENDS)('a worker that does not beat for a long time, on %s', (backend) => {
  let stack: TestStack;
  const sluice = heldTool('sluice', 'read');
  beforeAll(async () => {
    stack = await openTestStack({ backend, leaseMs: LONG_LEASE_MS, tools: [sluice.tool] });
    await stack.worker();
  });
  afterAll(() => stack.close());

  it('RUN-06 is told of a cancel at once: its own look at the rows would come too late', async () => {
    const session = await stack.session({ tools: ['sluice'] });
    const turn = await stack.accept(session, 'Call the sluice tool.');
    const run = await until('the tool runs', () => sluice.runs[0]);
    await stack.cancel(session, turn);
    await until('the tool was told', () => run.signal.aborted);
    expect(await stack.ended(session, turn)).toMatchObject({ outcome: 'cancelled' });
  });
});

describe.each(BACKENDS)('a worker taken for dead on %s', (backend) => {
  let stack: TestStack;
  let read: HeldTool;
  let once: HeldTool;
  let zombie: TestWorker;
  beforeAll(async () => {
    read = heldTool('weir', 'read');
    once = heldTool('sluice', 'once');
    stack = await openTestStack({ backend, leaseMs: 900, tools: [read.tool, once.tool] });
    // Beats once and then no more, with one slot a pool: what it holds is taken over by the other.
    zombie = await stack.worker({ heartbeatMs: 3_600_000, concurrency: 1, sweeps: false });
  });
  afterAll(() => stack.close());

  it('RUN-03 RUN-08 has its results refused and kept as forensic; a once tool is not run again', async () => {
    const readers = await stack.session({ tools: ['weir'] });
    const reading = await stack.accept(readers, 'Call the weir tool.');
    await until('the zombie holds the read call', () => read.runs.length === 1);
    await stack.worker({ concurrency: 1 });
    await until('the read call was taken over', () => read.runs.length === 2);
    read.runs[0]?.release();
    const late = await until('the zombie was refused', async () => lateResults(stack, readers, reading));
    expect(late.map(({ data }) => [data.child, data.fence, data.reason])).toEqual([
      ['tool-1-0', 1, 'superseded'],
    ]);
    expect(await stateOf(stack, reading, 'tooling')).toBe(true);
    read.runs[1]?.release();
    expect(await stack.ended(readers, reading)).toMatchObject({ outcome: 'completed', steps: 2 });
    const results = (await stack.records(readers, reading)).filter(({ kind }) => kind === 'tool-result');
    expect(results.map(({ data }) => data.status)).toEqual(['ok']);
    expect(await stack.verify(readers)).toMatchObject({ ok: true });
    await zombie.stop();
    await stack.worker({ concurrency: 1 });

    const writers = await stack.session({ tools: ['sluice'] });
    const other = await stack.accept(writers, 'Call the sluice tool.');
    await until('the once tool runs', () => once.runs.length === 1);
    // Its worker is not to be found any more.
    await stack.sql(
      `UPDATE turnwright.side_calls SET worker_id = gen_random_uuid() WHERE actor_id = $1 AND status = 'running'`,
      [other],
    );
    expect(await stack.ended(writers, other)).toMatchObject({ outcome: 'completed', steps: 2 });
    once.releaseAll();
    await until('its late result is kept', async () => lateResults(stack, writers, other));
    const unknown = (await stack.records(writers, other)).filter(({ kind }) => kind === 'tool-result');
    expect(unknown.map(({ data }) => data.status)).toEqual(['outcome_unknown']);
    expect(once.runs).toHaveLength(1);
  });
});

async function stateOf(stack: TestStack, turn: string, state: string): Promise<boolean> {
  const rows = await stack.sql<{ snapshot: string }>(
    'SELECT snapshot FROM turnwright.actors WHERE actor_id = $1',
    [turn],
  );
  return rows.some((row) => (JSON.parse(row.snapshot) as { value: string }).value === state);
}

async function lateResults(stack: TestStack, session: Parameters<TestStack['records']>[0], turn: string) {
  const late = (await stack.records(session, turn)).filter(({ kind }) => kind === 'late-result');
  return late.length > 0 ? late : null;
}
