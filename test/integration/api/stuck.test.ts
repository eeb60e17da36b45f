import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { MACHINES } from '../../../src/machines/registry.ts';
import { TURN_MACHINE, turnMachine } from '../../../src/machines/turn.ts';
import { until } from '../../support/await.ts';
import { type HeldTool, heldTool } from '../../support/tools.ts';
import { openStuck, type Stuck } from './stuck-stack.ts';

/** A version no released worker knows. */
const LATER_VERSION = 99;
const LONG_AGO = `now() - interval '1 hour'`;
/** Longer than an idle deployment takes for anything, and not too long for a busy one. */
const A_WHILE_AGO = `now() - interval '1 minute'`;

describe('a turn that waits for a call', () => {
  let at: Stuck;
  beforeAll(async () => {
    at = await openStuck();
  });
  beforeEach(() => at.begin());
  afterEach(() => at.end());
  afterAll(() => at.close());

  it('RUN-11 is not stuck while it moves, and is not retried', async () => {
    await at.nothingIsStuck();
    const refused = await at.retry();
    expect([refused.status, refused.body.error.code]).toEqual([409, 'turn_not_stuck']);
    await at.completes();
  });

  it('RUN-11 is stuck when no worker serves its pool, and a worker that starts moves it', async () => {
    await at.sql(`UPDATE turnwright.outbox SET due_at = ${LONG_AGO} WHERE actor_id = $1`);
    const found = await at.isStuck('unclaimed');
    expect(found).toMatchObject({ session: at.session, number: 1 });
    expect(found.reason).toContain('no live worker serves');
    expect(found.action).toContain('--pools step');
    expect(found.stuck_seconds).toBeGreaterThan(3_500);
    await at.completes();
  });

  it('RUN-11 is stuck when free slots do not take its job, and the retry hands it over anew', async () => {
    await at.idleWorker({ step: 4 });
    const old = (since: string) =>
      at.sql<{ dispatch: number }>(
        `UPDATE turnwright.outbox SET due_at = ${since}, admitted_at = ${since} WHERE actor_id = $1 RETURNING dispatch`,
      );
    await old(A_WHILE_AGO);
    await at.nothingIsStuck();
    const [row] = await old(LONG_AGO);
    const found = await at.isStuck('unclaimed');
    expect(found.reason).toContain('4 live slots have not taken it');
    await at.retryBringsItBack();
    const handed = await at.sql(`SELECT dispatch FROM turnwright.outbox WHERE actor_id = $1`);
    expect(handed).toEqual([{ dispatch: (row?.dispatch ?? 0) + 1 }]);
    await at.completes();
  });

  it('RUN-11 is stuck when it is held back from a pool that does nothing, and the retry admits it', async () => {
    const heldBack = (since: string) =>
      at.sql(`UPDATE turnwright.outbox SET due_at = ${since}, admitted_at = NULL WHERE actor_id = $1`);
    await at.idleWorker({ step: 4 });
    await heldBack(A_WHILE_AGO);
    await at.nothingIsStuck();
    await heldBack(LONG_AGO);
    await at.isStuck('unclaimed');
    expect((await at.why()).sentences.join(' ')).toContain('held back in Postgres for 60 min');
    await at.retryBringsItBack();
    await until('it was handed to the queue', async () => {
      const held = await at.sql(`SELECT FROM turnwright.outbox WHERE actor_id = $1 AND admitted_at IS NULL`);
      return held.length === 0;
    });
    await at.completes();
  });

  it('RUN-11 is stuck when the worker of its call is gone and nobody sweeps, and the retry lets another run it', async () => {
    await at.sql(`DELETE FROM turnwright.outbox WHERE actor_id = $1`);
    await at.sql(
      `UPDATE turnwright.side_calls SET status = 'running', fence = 1, worker_id = $2, claimed_at = ${LONG_AGO} WHERE actor_id = $1`,
      [at.turn, randomUUID()],
    );
    await at.isStuck('worker_gone');
    expect((await at.why()).sentences.join(' ')).toContain('by a worker that is gone');
    await at.retryBringsItBack();
    await at.completes();
  });

  it('RUN-11 is stuck when no row hands its call over, at once, and the retry writes one', async () => {
    await at.sql(`DELETE FROM turnwright.outbox WHERE actor_id = $1`);
    await at.isStuck('call_lost');
    expect((await at.why()).facts.calls).toMatchObject([{ child: 'step-1', place: 'lost' }]);
    await at.retryBringsItBack();
    await at.completes();
  });

  it('RUN-11 is stuck when its call ended without the machine hearing of it, and the retry runs it again', async () => {
    await at.sql(`DELETE FROM turnwright.outbox WHERE actor_id = $1`);
    await at.sql(`UPDATE turnwright.side_calls SET status = 'failed' WHERE actor_id = $1`);
    await at.isStuck('nothing_pending');
    await at.retryBringsItBack();
    expect((await at.retry()).body.error.code).toBe('turn_not_stuck');
    await at.completes();
  });

  it('RUN-11 is brought back from its events when even the rows of its call and its deadline are gone', async () => {
    const before = await at.sql(
      `SELECT timer_id, event, revision, due_at FROM turnwright.timers WHERE actor_id = $1`,
    );
    const call = `SELECT src, pool, input, status, dispatch FROM turnwright.side_calls WHERE actor_id = $1`;
    const [called] = await at.sql(call);
    for (const table of ['outbox', 'side_calls', 'timers'])
      await at.sql(`DELETE FROM turnwright.${table} WHERE actor_id = $1`);
    await at.isStuck('nothing_pending');
    await at.retryBringsItBack();
    expect(await at.sql(call)).toEqual([called]);
    const after = await at.sql<{ due_at: Date }>(
      `SELECT timer_id, event, revision, due_at FROM turnwright.timers WHERE actor_id = $1`,
    );
    expect(after).toMatchObject([{ timer_id: 'deadline', event: before[0]?.event, revision: 2 }]);
    // From the event that set it: rows of one commit are written within moments of each other.
    const drift = Math.abs(Number(after[0]?.due_at) - Number(before[0]?.due_at));
    expect(drift).toBeLessThan(1_000);
    await at.completes();
  });

  it('RUN-11 is stuck when workers take its call up over and over and none ends it; a cancel ends the turn', async () => {
    await at.sql(`UPDATE turnwright.side_calls SET deaths = 40 WHERE actor_id = $1`);
    const found = await at.isStuck('call_repeats');
    expect(found.action).toContain('/cancel');
    const cancelled = await at.api.call('POST', `/v1/turns/${at.turn}/cancel`);
    expect(cancelled.body.turn).toMatchObject({ state: 'closed', outcome: 'cancelled' });
    await at.nothingIsStuck();
  });

  it('RUN-11 keeps the wait a provider asked for, and is not stuck for as long as it lasts', async () => {
    await at.sql(
      `UPDATE turnwright.side_calls SET attempt = 2, fence = 40, last_error = 'rate_limited: 30 a minute' WHERE actor_id = $1`,
    );
    await at.sql(
      `UPDATE turnwright.outbox SET due_at = now() + interval '10 minutes', admitted_at = NULL WHERE actor_id = $1`,
    );
    await at.nothingIsStuck();
    const { sentences, facts } = await at.why();
    expect(sentences.join(' ')).toContain("step-1 waits for its provider's rate limit and is due in 10 min");
    expect(facts.calls[0]).toMatchObject({
      place: 'delayed',
      rate_limited: true,
      attempt: 2,
      max_attempts: 6,
    });
    expect((await at.retry()).body.error.code).toBe('turn_not_stuck');
    // Stuck for another reason, it keeps the wait too.
    await at.sql(
      `INSERT INTO turnwright.actor_events (tenant_id, session_id, actor_id, event_id, event, received_at)
        SELECT tenant_id, session_id, actor_id, 'odd', '{"type":"turn.odd"}', ${LONG_AGO} FROM turnwright.actors WHERE actor_id = $1`,
    );
    await at.isStuck('event_pending');
    expect((await at.retry()).status).toBe(202);
    const kept = await at.sql(
      `SELECT dispatch, due_at > now() + interval '9 minutes' AS later FROM turnwright.outbox WHERE actor_id = $1 AND child_id = 'step-1'`,
    );
    expect(kept).toEqual([{ dispatch: 1, later: true }]);
  });
});

describe('a turn with an event that nobody applies', () => {
  let at: Stuck;
  beforeAll(async () => {
    at = await openStuck();
  });
  beforeEach(() => at.begin());
  afterEach(() => at.end());
  afterAll(() => at.close());

  const pending = (since = LONG_AGO) =>
    at.sql(
      `INSERT INTO turnwright.actor_events (tenant_id, session_id, actor_id, event_id, event, received_at)
        SELECT tenant_id, session_id, actor_id, 'odd', '{"type":"turn.odd"}', ${since} FROM turnwright.actors WHERE actor_id = $1`,
    );

  it('RUN-11 is not stuck while its drain waits in a long queue, and is when it waits no more', async () => {
    await at.idleWorker({ turn: 4 });
    await pending(A_WHILE_AGO);
    await at.sql(
      `INSERT INTO turnwright.outbox (tenant_id, session_id, actor_id, child_id, dispatch, pool, due_at, admitted_at)
        SELECT tenant_id, session_id, actor_id, 'drain', 1, 'turn', ${A_WHILE_AGO}, ${A_WHILE_AGO} FROM turnwright.actors WHERE actor_id = $1`,
    );
    await at.nothingIsStuck();
    await at.sql(`DELETE FROM turnwright.outbox WHERE actor_id = $1 AND child_id = 'drain'`);
    await at.isStuck('event_pending');
  });

  it('RUN-11 is stuck while no worker serves the pool turn, and goes on when one does', async () => {
    await pending();
    const found = await at.isStuck('event_pending');
    expect(found.reason).toContain('no live worker serves the pool turn');
    expect((await at.why()).sentences.join(' ')).toContain('1 event waits to be applied (turn.odd)');
    await at.completes();
  });

  it('RUN-11 is handed to the pool turn again by the retry, when its drain was lost', async () => {
    await at.idleWorker({ turn: 4 });
    await pending();
    const found = await at.isStuck('event_pending');
    expect(found.action).toContain('/retry');
    expect((await at.retry()).status).toBe(202);
    const drains = `SELECT pool FROM turnwright.outbox WHERE actor_id = $1 AND child_id = 'drain'`;
    expect(await at.sql(drains)).toEqual([{ pool: 'turn' }]);
    await at.completes();
  });

  it('RUN-11 names the version it waits for, refuses a retry from a process without it, and goes on with one that has it', async () => {
    await at.sql('UPDATE turnwright.actors SET version = $2 WHERE actor_id = $1', [at.turn, LATER_VERSION]);
    await at.worker();
    await until('the result of its step waits', async () => {
      const events = await at.sql(
        `SELECT FROM turnwright.actor_events WHERE actor_id = $1 AND revision IS NULL`,
      );
      return events.length === 1;
    });
    await at.nothingIsStuck();
    await at.sql(
      `UPDATE turnwright.actor_events SET received_at = ${LONG_AGO} WHERE actor_id = $1 AND revision IS NULL`,
    );
    const found = await until('it is listed', async () => (await at.list())[0]);
    expect(found).toMatchObject({ id: at.turn, cause: 'event_pending' });
    expect(found.reason).toContain(`a worker that knows turn version ${LATER_VERSION}`);
    const refused = await at.retry();
    expect([refused.status, refused.body.error.code]).toEqual([409, 'turn_parked']);
    expect(refused.body.error.message).toContain(`turn version ${LATER_VERSION}`);
    const registry = { ...MACHINES, [TURN_MACHINE]: { [LATER_VERSION]: turnMachine } };
    await at.worker({ registry });
    expect(await at.api.closed(at.turn)).toMatchObject({ outcome: 'completed' });
    await at.nothingIsStuck();
  });
});

describe('a parked turn', () => {
  let at: Stuck;
  beforeAll(async () => {
    at = await openStuck();
  });
  beforeEach(() => at.begin());
  afterEach(() => at.end());
  afterAll(() => at.close());

  const parked = async () => {
    await at.sql(
      `UPDATE turnwright.actors SET snapshot = replace(snapshot, 'stepping', 'dreaming') WHERE actor_id = $1`,
    );
    await at.worker();
    await until('the turn is parked', async () => {
      return (await at.api.call('GET', `/v1/turns/${at.turn}`)).body.turn.state === 'parked';
    });
  };

  it('RUN-11 stays parked while its snapshot cannot be read, and completes when it can', async () => {
    const [row] = await at.sql<{ snapshot: string }>(
      `SELECT snapshot FROM turnwright.actors WHERE actor_id = $1`,
    );
    await parked();
    const found = await at.isStuck('parked');
    expect(found.reason).toContain('dreaming');
    expect((await at.why()).sentences[0]).toMatch(/^T1 has been parked in the state dreaming/u);
    const still = await at.retry();
    expect([still.status, still.body.error.code]).toEqual([409, 'turn_parked']);
    await at.sql(`UPDATE turnwright.actors SET snapshot = $2 WHERE actor_id = $1`, [at.turn, row?.snapshot]);
    const back = await at.retry();
    expect(back.status).toBe(202);
    expect(back.body.turn.parked_reason).toBeNull();
    expect(await at.api.closed(at.turn)).toMatchObject({ outcome: 'completed' });
    expect((await at.api.call('GET', `/v1/sessions/${at.session}/verify`)).body.ok).toBe(true);
  });

  it('RUN-11 is explained, shown and refused like any other when its snapshot is no JSON at all', async () => {
    await at.sql(
      `UPDATE turnwright.actors SET snapshot = 'no JSON', status = 'parked', parked_reason = 'It was refused.' WHERE actor_id = $1`,
    );
    const shown = await at.api.call('GET', `/v1/turns/${at.turn}`);
    expect(shown.body.turn).toMatchObject({ state: 'parked', phase: 'unreadable' });
    await at.isStuck('parked');
    expect((await at.retry()).body.error.code).toBe('turn_parked');
  });

  it('RUN-11 ends when it is cancelled, and the turn behind it starts', async () => {
    const behind = await at.api.turn(at.session, { input: 'Say hello.' });
    await parked();
    const waits = (await at.why(behind)).sentences.join(' ');
    expect(waits).toContain(`It waits its place behind T1 (${at.turn}), which is parked.`);
    const cancelled = await at.api.call('POST', `/v1/turns/${at.turn}/cancel`);
    expect(cancelled.body.turn).toMatchObject({ state: 'closed', outcome: 'cancelled' });
    expect(await at.api.closed(behind)).toMatchObject({ outcome: 'completed' });
    // The records are whole; what this test altered is told by name.
    const { body } = await at.api.call('GET', `/v1/sessions/${at.session}/verify`);
    expect([body.fault, body.broken]).toEqual([null, expect.stringContaining(at.turn)]);
  });
});

describe('a busy deployment', () => {
  let at: Stuck;
  let weir: HeldTool;
  beforeEach(async () => {
    weir = heldTool('weir', 'once');
    at = await openStuck({ tools: [weir.tool] });
    await at.begin();
  });
  afterEach(async () => {
    await at.end();
    await at.close();
  });

  it('RUN-11 has no stuck turn, however long a full pool lets its backlog wait', async () => {
    await at.worker({ concurrency: 1, sweeps: false });
    const turns: string[] = [];
    for (let n = 0; n < 8; n++) {
      const session = await at.api.session({ leg: 'sim-large', tools: ['weir'] });
      turns.push(await at.api.turn(session, { input: 'Call the weir tool.' }));
    }
    const waiting = async () =>
      at.sql<{ admitted: boolean }>(
        `SELECT admitted_at IS NOT NULL AS admitted FROM turnwright.outbox WHERE pool = 'tool'`,
        [],
      );
    await until('every other turn waits for the one that runs', async () => (await waiting()).length === 7);
    await at.sql(`UPDATE turnwright.outbox SET due_at = ${LONG_AGO} - interval '1 day'`, []);
    await at.sql(`UPDATE turnwright.outbox SET admitted_at = due_at WHERE admitted_at IS NOT NULL`, []);
    await at.sql(`UPDATE turnwright.side_calls SET claimed_at = ${LONG_AGO} WHERE status = 'running'`, []);
    expect(new Set((await waiting()).map(({ admitted }) => admitted))).toEqual(new Set([true, false]));
    expect(weir.runs).toHaveLength(1);
    for (const turn of turns) await at.nothingIsStuck(turn);
    const said = await Promise.all(turns.map(async (turn) => (await at.why(turn)).sentences.join(' ')));
    expect(said.filter((text) => text.includes('tool-1-0 has run for'))).toHaveLength(1);
    expect(said.filter((text) => text.includes('was handed to the queue')).length).toBeGreaterThan(0);
    expect(said.filter((text) => text.includes('held back in Postgres')).length).toBeGreaterThan(0);
    weir.releaseAll();
    for (const turn of turns) expect(await at.api.closed(turn)).toMatchObject({ outcome: 'completed' });
  });

  it('RUN-11 RUN-08 does not run a tool again whose row is gone: its outcome counts as unknown', async () => {
    const worker = await at.worker({ pools: ['step'], sweeps: false });
    const session = await at.api.session({ leg: 'sim-large', tools: ['weir'] });
    const turn = await at.api.turn(session, { input: 'Call the weir tool.' });
    await until('it waits for its tool', async () => (await at.why(turn)).facts.phase === 'tooling');
    await at.api.call('POST', `/v1/turns/${at.turn}/cancel`);
    await worker.stop();
    for (const table of ['side_calls', 'outbox'])
      await at.sql(`DELETE FROM turnwright.${table} WHERE actor_id = $1 AND child_id = 'tool-1-0'`, [turn]);
    await at.isStuck('nothing_pending', turn);
    await at.retryBringsItBack(turn);
    weir.releaseAll();
    await at.worker();
    expect(await at.api.closed(turn)).toMatchObject({ outcome: 'completed' });
    expect(weir.runs).toEqual([]);
    const [result] = await at.sql<{ body: string }>(
      `SELECT body FROM turnwright.records WHERE turn_id = $1 AND kind = 'tool-result'`,
      [turn],
    );
    expect(JSON.parse(result?.body ?? '{}')).toMatchObject({ status: 'outcome_unknown' });
  });

  it('RUN-11 RUN-08 keeps a call that a live worker runs, when its turn is stuck and retried for another cause', async () => {
    await at.worker({ pools: ['step', 'tool'], sweeps: false });
    const session = await at.api.session({ leg: 'sim-large', tools: ['weir'] });
    const turn = await at.api.turn(session, { input: 'Call the weir tool.' });
    const run = await until('the tool runs', () => weir.runs[0]);
    await at.sql(
      `INSERT INTO turnwright.actor_events (tenant_id, session_id, actor_id, event_id, event, received_at)
        SELECT tenant_id, session_id, actor_id, 'odd', '{"type":"turn.odd"}', ${LONG_AGO} FROM turnwright.actors WHERE actor_id = $1`,
      [turn],
    );
    await at.isStuck('event_pending', turn);
    expect((await at.retry(turn)).status).toBe(202);
    const call = await at.sql(
      `SELECT status, fence, dispatch FROM turnwright.side_calls WHERE actor_id = $1 AND child_id = 'tool-1-0'`,
      [turn],
    );
    expect(call).toEqual([{ status: 'running', fence: 1, dispatch: 1 }]);
    run.release();
    await at.worker();
    expect(await at.api.closed(turn)).toMatchObject({ outcome: 'completed' });
    expect(weir.runs).toHaveLength(1);
    expect(run.signal.aborted).toBe(false);
    expect(await at.api.closed(at.turn)).toMatchObject({ reason: 'answered' });
  });
});
