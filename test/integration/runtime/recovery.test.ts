import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { MACHINES } from '../../../src/machines/registry.ts';
import { TURN_MACHINE, turnMachine } from '../../../src/machines/turn.ts';
import { MAX_DEATHS } from '../../../src/runtime/calls.ts';
import { DEFAULT_SIM_MODELS, type SimModel } from '../../../src/sim/index.ts';
import { gate, until } from '../../support/await.ts';
import { BACKENDS, openTestStack, type TestStack, type TestWorker } from '../../support/stack.ts';
import { type HeldTool, heldTool } from '../../support/tools.ts';

const FAST: SimModel = {
  ...simModel('sim-large'),
  prefillTokensPerSecond: 1e9,
  decodeTokensPerSecond: 1e9,
};
/** An answer of a dozen tokens takes it over a second. */
const SLOW: SimModel = { ...FAST, name: 'sim-slow', decodeTokensPerSecond: 12 };
const LIMITED: SimModel = { ...FAST, name: 'sim-limited' };
const RETRY_AFTER_MS = 2_000;
/** A version no released worker knows. */
const LATER_VERSION = 99;

describe.each(BACKENDS)('recovery on %s', (backend) => {
  let stack: TestStack;
  let weir: HeldTool;
  let sluice: HeldTool;
  const workers: TestWorker[] = [];

  beforeAll(async () => {
    weir = heldTool('weir', 'read');
    sluice = heldTool('sluice', 'once');
    stack = await openTestStack({
      backend,
      models: [FAST, SLOW, LIMITED],
      tools: [weir.tool, sluice.tool],
      simSpeed: 'real',
      leaseMs: 900,
    });
  });
  afterEach(() => Promise.all(workers.splice(0).map((worker) => worker.stop())));
  afterAll(() => stack.close());

  async function work(options: Parameters<TestStack['worker']>[0] = {}): Promise<TestWorker> {
    const worker = await stack.worker(options);
    workers.push(worker);
    return worker;
  }

  async function heldTurn(held: HeldTool, name: string, options: Parameters<TestStack['accept']>[2] = {}) {
    const session = await stack.session({ tools: [name] });
    const before = held.runs.length;
    const turn = await stack.accept(session, `Call the ${name} tool.`, options);
    const run = await until(`${name} runs`, () => held.runs[before]);
    return { session, turn, run, before };
  }

  it('RUN-05 RUN-13 ends every turn though the queue is lost whole, before a worker looked and in mid-turn', async () => {
    const sessions = await Promise.all(Array.from({ length: 5 }, () => stack.session({ tools: [] })));
    const waiting = await Promise.all(
      sessions.map((session) => stack.accept(session, 'Good morning to you.')),
    );
    await stack.loseQueue();
    await work();
    for (const [index, session] of sessions.entries())
      expect(await stack.ended(session, waiting[index] ?? '')).toMatchObject({ outcome: 'completed' });

    const { session, turn, run } = await heldTurn(weir, 'weir');
    await stack.loseQueue();
    run.release();
    expect(await stack.ended(session, turn)).toMatchObject({ outcome: 'completed', steps: 2 });
    expect((await stack.records(session, turn)).filter(({ kind }) => kind === 'tool-result')).toHaveLength(1);
  });

  it('RUN-04 ends a call at which too many workers died, and no worker tries it again', async () => {
    const session = await stack.session({ tools: [] });
    const turn = await stack.accept(session, 'Good morning to you.');
    await stack.sql('UPDATE turnwright.side_calls SET deaths = $2 WHERE actor_id = $1', [turn, MAX_DEATHS]);
    const before = stack.sim.calls().length;
    await work();
    expect(await stack.ended(session, turn)).toMatchObject({ outcome: 'failed', reason: 'workers_died' });
    expect(stack.sim.calls()).toHaveLength(before);
  });

  it('RUN-04 RUN-05 hands out anew a job whose worker died before it claimed it, long before the queue would', async () => {
    const never = gate();
    const taken: string[] = [];
    await work({
      between: (_, handle) => async (ref) => {
        const isStep = ref.child === 'step-1';
        if (isStep) taken.push(`${ref.actor} ${ref.dispatch}`);
        if (isStep && taken.length === 1) await never.opened;
        else await handle(ref);
      },
    });
    const session = await stack.session({ tools: [] });
    const turn = await stack.accept(session, 'Good morning to you.');
    try {
      expect(await stack.ended(session, turn, 10_000)).toMatchObject({ outcome: 'completed', steps: 1 });
      expect(taken).toEqual([`${turn} 1`, `${turn} 2`]);
    } finally {
      never.open();
    }
  });

  it('RUN-04 a defect in a worker fails the turn instead of leaving its call with a worker that let go of it', async () => {
    const worker = await work();
    const session = await stack.session({ tools: [] });
    expect(await stack.ask(session, 'Good morning to you.')).toMatchObject({ outcome: 'completed' });
    const { store } = worker.services;
    const claim = store.claim.bind(store);
    store.claim = async (ref, id, token, indexed) => {
      const claimed = await claim(ref, id, token, indexed);
      return claimed === null || claimed.call.src !== 'step'
        ? claimed
        : { ...claimed, records: [], whole: false };
    };
    const end = await stack.ask(session, 'Good evening to you.');
    expect(end).toMatchObject({ outcome: 'failed' });
    expect(await running()).toEqual([]);
    store.claim = claim;
    expect(await stack.ask(session, 'Good night to you.')).toMatchObject({ outcome: 'completed' });
  });

  it('RUN-04 an outage in the middle of the work is waited for, and counts as no attempt', async () => {
    const worker = await work();
    const session = await stack.session({ tools: [] });
    const { store } = worker.services;
    const config = store.sessionConfig.bind(store);
    let outages = 0;
    store.sessionConfig = async (ref) => {
      outages += 1;
      if (outages <= 2) throw Object.assign(new Error('too many connections'), { code: '53300' });
      return config(ref);
    };
    const end = await stack.ask(session, 'Good morning to you.');
    expect(end).toMatchObject({ outcome: 'completed', steps: 1 });
    expect(outages).toBe(3);
    const receipts = (await stack.records(session, end.turn)).filter(({ kind }) => kind === 'work-receipt');
    expect(receipts.map(({ data }) => data.attempt)).toEqual([1]);
  });

  it('RUN-07 keeps a retry and the wait a provider asked for across a restart, and makes it once', async () => {
    stack.sim.setFaults([
      {
        match: { model: LIMITED.name, count: 1 },
        fault: { name: 'rate_limit', retryAfterMs: RETRY_AFTER_MS },
      },
    ]);
    const first = await work();
    const session = await stack.session({ model: LIMITED.name, tools: [] });
    const turn = await stack.accept(session, 'Good morning to you.');
    await until('the retry is planned', async () => (await kinds(session, turn)).includes('call-retrying'));
    await first.drain();
    await work();
    expect(await stack.ended(session, turn)).toMatchObject({ outcome: 'completed', steps: 1 });
    const calls = stack.sim.calls().filter((call) => call.model === LIMITED.name);
    expect(calls.map((call) => call.outcome)).toEqual(['fault:rate_limit', 'answered']);
    expect((calls[1]?.at ?? 0) - (calls[0]?.at ?? 0)).toBeGreaterThanOrEqual(RETRY_AFTER_MS);
    const receipts = (await stack.records(session, turn)).filter(({ kind }) => kind === 'work-receipt');
    expect(receipts.map(({ data }) => [data.attempt, data.settlement])).toEqual([
      [1, 'rate_limited'],
      [2, 'answered'],
    ]);
  });

  it('RUN-07 fires a deadline that was set before a restart, once, and aborts what runs', async () => {
    const first = await work();
    const { session, turn, before } = await heldTurn(weir, 'weir', { deadlineMs: 2_500 });
    await first.drain(0);
    await work();
    const run = await until('the call runs again', () => weir.runs[before + 1]);
    expect(await stack.ended(session, turn)).toMatchObject({ outcome: 'degraded', reason: 'time_budget' });
    await until('the call was aborted', () => run.signal.aborted);
    expect((await kinds(session, turn)).filter((kind) => kind === 'turn-closed')).toHaveLength(1);
    const timers = await stack.sql('SELECT 1 FROM turnwright.timers WHERE actor_id = $1', [turn]);
    expect(timers).toEqual([]);
  });

  it('RUN-12 RUN-13 a drain lets a call end inside the grace, and hands back what does not', async () => {
    const first = await work();
    const quick = await heldTurn(weir, 'weir');
    const draining = first.drain(20_000);
    quick.run.release();
    await draining;
    const done = await stack.sql<{ status: string }>(
      `SELECT status FROM turnwright.side_calls WHERE actor_id = $1 AND child_id = 'tool-1-0'`,
      [quick.turn],
    );
    expect(done).toEqual([{ status: 'done' }]);

    const second = await work();
    expect(await stack.ended(quick.session, quick.turn)).toMatchObject({ outcome: 'completed' });
    const slow = await heldTurn(weir, 'weir');
    const unsure = await heldTurn(sluice, 'sluice');
    await second.drain(0);
    expect(slow.run.signal.aborted).toBe(true);
    expect(await running()).toEqual([]);
    await work();
    await until('the read call runs again', () => weir.runs[slow.before + 1]);
    weir.releaseAll();
    expect(await stack.ended(slow.session, slow.turn)).toMatchObject({ outcome: 'completed', steps: 2 });
    expect(await stack.ended(unsure.session, unsure.turn)).toMatchObject({ outcome: 'completed', steps: 2 });
    const result = (await stack.records(unsure.session, unsure.turn)).find(
      ({ kind }) => kind === 'tool-result',
    );
    expect(result?.data.status).toBe('outcome_unknown');
    expect(sluice.runs).toHaveLength(1);
  });

  it('RUN-12 a drain in the middle of a streamed reply aborts it, and another worker completes the turn', async () => {
    const first = await work();
    const session = await stack.session({ model: SLOW.name, tools: [] });
    const turn = await stack.accept(session, 'Good morning to you and to the crew of the Wigeon.');
    await until('the reply streams', () =>
      stack.sim.calls().some(({ model, state }) => model === SLOW.name && state === 'open'),
    );
    await first.drain(0);
    expect(await running()).toEqual([]);
    await until('the provider saw the abort', () =>
      stack.sim.calls().some(({ model, outcome }) => model === SLOW.name && outcome === 'aborted'),
    );
    await work();
    expect(await stack.ended(session, turn)).toMatchObject({ outcome: 'completed', steps: 1 });
    const receipts = (await stack.records(session, turn)).filter(({ kind }) => kind === 'work-receipt');
    expect(receipts.map(({ data }) => [data.attempt, data.settlement])).toEqual([
      [1, 'aborted'],
      [1, 'answered'],
    ]);
  });

  it('RUN-06 cancel reaches a running tool and a running model call from another process', async () => {
    await work();
    const held = heldTurnOfOwn();
    const { session, turn, run } = await held;
    expect(await stack.cancel(session, turn)).toBe('applied');
    await until('the tool was told', () => run.signal.aborted);
    expect(await stack.ended(session, turn)).toMatchObject({ outcome: 'cancelled', reason: 'cancelled' });
    expect(await kinds(session, turn)).toContain('assistant-message');

    const streaming = await stack.session({ model: SLOW.name, tools: [] });
    const other = await stack.accept(streaming, 'Good evening to you and to the crew of the Wigeon.');
    const call = await until('the reply streams', () =>
      stack.sim.calls().find(({ model, state }) => model === SLOW.name && state === 'open'),
    );
    await stack.cancel(streaming, other);
    await until('the provider saw the abort', () => stack.sim.calls()[call.n - 1]?.outcome === 'aborted');
    expect(await stack.ended(streaming, other)).toMatchObject({ outcome: 'cancelled' });
    await until('the aborted call has its receipt', async () =>
      (await kinds(streaming, other)).includes('work-receipt'),
    );
    expect(await kinds(streaming, other)).not.toContain('assistant-message');
    await until('nothing runs', async () => (await running()).length === 0);
  });

  it('RUN-09 leaves the result for a worker that knows the version of the machine', async () => {
    const session = await stack.session({ tools: [] });
    const turn = await stack.accept(session, 'Good morning to you.');
    await stack.sql('UPDATE turnwright.actors SET version = $2 WHERE actor_id = $1', [turn, LATER_VERSION]);
    const [before] = await actor(turn);
    await work();
    await until('workers were woken for it twice', async () => ((await actor(turn))[0]?.drains ?? 0) >= 2);
    const pending = await stack.sql(
      'SELECT event_id FROM turnwright.actor_events WHERE actor_id = $1 AND revision IS NULL',
      [turn],
    );
    expect(pending).toEqual([{ event_id: 'step-1' }]);
    expect((await actor(turn))[0]).toMatchObject({ revision: before?.revision, snapshot: before?.snapshot });
    const answers = async () => (await kinds(session, turn)).filter((kind) => kind === 'assistant-message');
    expect(await answers()).toHaveLength(1);

    await work({ registry: { ...MACHINES, [TURN_MACHINE]: { [LATER_VERSION]: turnMachine } } });
    expect(await stack.ended(session, turn)).toMatchObject({ outcome: 'completed', steps: 1 });
    expect(await answers()).toHaveLength(1);
    expect(await stack.verify(session)).toMatchObject({ ok: true });
  });

  /** Held by a tool no earlier test let go for good. */
  async function heldTurnOfOwn() {
    const session = await stack.session({ tools: ['sluice'] });
    const before = sluice.runs.length;
    const turn = await stack.accept(session, 'Call the sluice tool.');
    const run = await until('the tool runs', () => sluice.runs[before]);
    return { session, turn, run };
  }

  async function kinds(
    session: Parameters<TestStack['records']>[0],
    turn: string,
  ): Promise<readonly string[]> {
    return (await stack.records(session, turn)).map(({ kind }) => kind);
  }

  function running() {
    return stack.sql(`SELECT actor_id, child_id FROM turnwright.side_calls WHERE status = 'running'`);
  }

  function actor(turn: string) {
    return stack.sql<{ revision: number; snapshot: string; drains: number }>(
      'SELECT revision, snapshot, drains FROM turnwright.actors WHERE actor_id = $1',
      [turn],
    );
  }
});

function simModel(name: string): SimModel {
  const found = DEFAULT_SIM_MODELS.find((model) => model.name === name);
  if (found === undefined) throw new Error(`the simulator has no model ${name}`);
  return found;
}
