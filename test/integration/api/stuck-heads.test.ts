import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { until } from '../../support/await.ts';
import { type HeldTool, heldTool } from '../../support/tools.ts';
import { openStuck, QUESTION, type Stuck } from './stuck-stack.ts';

const LONG_AGO = `now() - interval '1 hour'`;
const DAY_MS = 86_400_000;

describe('a turn that nothing starts', () => {
  let at: Stuck;
  let second: string;
  let third: string;
  beforeAll(async () => {
    at = await openStuck();
  });
  beforeEach(async () => {
    await at.begin();
    second = await at.api.turn(at.session, { input: QUESTION });
    third = await at.api.turn(at.session, { input: QUESTION });
  });
  afterEach(() => at.end());
  afterAll(() => at.close());

  /** The first turn ends without its head hearing of it. */
  const endFirst = async () => {
    await at.sql(
      `UPDATE turnwright.turns SET status = 'closed', outcome = 'failed', reason = 'internal', closed_at = now() WHERE turn_id = $1`,
    );
    await at.sql(`UPDATE turnwright.actors SET status = 'done', compacted = true WHERE actor_id = $1`);
    for (const table of ['outbox', 'timers'])
      await at.sql(`DELETE FROM turnwright.${table} WHERE actor_id = $1`);
    await at.sql(`UPDATE turnwright.side_calls SET status = 'failed' WHERE actor_id = $1`);
  };
  const headRuns = (turn: string | null) =>
    at.sql(`UPDATE turnwright.heads SET open_turn = $2 WHERE session_id = $1`, [at.session, turn]);
  const starts = (turn: string) =>
    at.sql(`SELECT FROM turnwright.records WHERE turn_id = $1 AND kind = 'turn-context'`, [turn]);

  it('RUN-11 is not stuck while it waits its place, and says behind whom', async () => {
    await at.nothingIsStuck(third);
    expect((await at.why(third)).sentences.join(' ')).toContain(
      `It waits its place behind T1 (${at.turn}), which is stepping; 1 accepted turn starts before it.`,
    );
    expect((await at.retry(second)).body.error.code).toBe('turn_not_stuck');
  });

  it.each([
    ['free', 'not_started'],
    ['held by a turn that has ended', 'head_held'],
  ] as const)('RUN-11 is stuck when its head is %s, and of many retries one starts it', async (_, cause) => {
    await endFirst();
    if (cause === 'not_started') await headRuns(null);
    const found = await at.isStuck(cause, second);
    expect(found.action).toContain('/retry');
    // The next one waits for this one, so it is not stuck and cannot jump the line.
    expect((await at.retry(third)).body.error.code).toBe('turn_not_stuck');
    const answers = await Promise.all([at.retry(second), at.retry(second), at.retry(second)]);
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(1);
    for (const { status, body } of answers)
      if (status !== 202) expect([status, body.error.code]).toEqual([409, 'turn_not_stuck']);
    expect(await starts(second)).toHaveLength(1);
    expect(await starts(third)).toHaveLength(0);
    await at.nothingIsStuck(second);
    await at.completes(second);
    expect(await at.api.closed(third)).toMatchObject({ outcome: 'completed' });
    // The records are whole; what this test altered is told by name.
    const { body } = await at.api.call('GET', `/v1/sessions/${at.session}/verify`);
    expect([body.fault, body.broken]).toEqual([null, expect.stringContaining(at.turn)]);
  });

  it('RUN-11 is stuck when its head names a turn that is nowhere, and the retry starts it', async () => {
    await endFirst();
    await headRuns('00000000-0000-7000-8000-000000000000');
    await at.isStuck('head_held', second);
    await at.retryBringsItBack(second);
    await at.completes(second);
  });

  it.each(['before', 'after'])(
    'RUN-11 is not started by a retry that comes too late, when another took the head %s it was loaded',
    async (when) => {
      await endFirst();
      await at.isStuck('head_held', second);
      const { engine } = at.api.services;
      const load = engine.store.load.bind(engine.store);
      // Between the look at the head and the commit, another process gives it to the third turn.
      const giveAway = async () => {
        engine.store.load = load;
        await at.sql(`UPDATE turnwright.turns SET status = 'closed' WHERE turn_id = $1`, [second]);
        expect((await at.retry(third)).status).toBe(202);
        await at.sql(`UPDATE turnwright.turns SET status = 'accepted' WHERE turn_id = $1`, [second]);
      };
      engine.store.load = async (ref) => {
        if (when === 'before') await giveAway();
        const loaded = await load(ref);
        if (when === 'after') await giveAway();
        return loaded;
      };
      const late = await at.retry(second);
      expect([late.status, late.body.error.code]).toEqual([409, 'turn_not_stuck']);
      expect(await starts(second)).toHaveLength(0);
      const [head] = await at.sql(`SELECT open_turn FROM turnwright.heads WHERE session_id = $1`, [
        at.session,
      ]);
      expect(head).toEqual({ open_turn: third });
    },
  );

  it('RUN-11 is started when it is taken up again after it was passed by while parked', async () => {
    await at.sql(
      `UPDATE turnwright.actors SET status = 'parked', parked_reason = 'It was refused.' WHERE actor_id = $1`,
      [second],
    );
    await endFirst();
    await headRuns(null);
    await at.isStuck('parked', second);
    await at.retryBringsItBack(second);
    expect(await starts(second)).toHaveLength(1);
    await at.completes(second);
  });

  it('RUN-11 is stuck when a later turn was started before it; cancelled and retried it is enqueued anew', async () => {
    await endFirst();
    await at.sql(`UPDATE turnwright.turns SET status = 'closed' WHERE turn_id = $1`, [second]);
    expect((await at.retry(third)).status).toBe(202);
    await at.sql(`UPDATE turnwright.turns SET status = 'accepted' WHERE turn_id = $1`, [second]);
    const found = await at.isStuck('passed_over', second);
    expect(found.reason).toContain(third);
    const refused = await at.retry(second);
    expect([refused.status, refused.body.error.code]).toEqual([409, 'turn_not_stuck']);
    expect(refused.body.error.message).toContain('Cancel it and retry it');
    expect((await at.api.call('POST', `/v1/turns/${second}/cancel`)).status).toBe(200);
    const again = await at.retry(second);
    expect([again.status, again.body.turn.retry_of]).toEqual([202, second]);
    await at.nothingIsStuck(again.body.turn.id);
    await at.completes(third);
    expect(await at.api.closed(again.body.turn.id)).toMatchObject({ outcome: 'completed' });
  });
});

describe('a turn that waits for a person', () => {
  let at: Stuck;
  let gate: HeldTool;
  let turn: string;
  beforeAll(async () => {
    gate = heldTool('gate', 'once', true);
    gate.releaseAll();
    at = await openStuck({ tools: [gate.tool] });
  });
  beforeEach(async () => {
    await at.begin();
    const session = await at.api.session({ leg: 'sim-large', tools: ['gate'] });
    turn = await at.api.turn(session, { input: 'Call the gate tool.' });
    const worker = await at.worker();
    await until('it waits', async () => {
      return (await at.api.call('GET', `/v1/turns/${turn}`)).body.turn.state === 'waiting';
    });
    await at.api.closed(at.turn);
    await worker.stop();
  });
  afterEach(() => at.end());
  afterAll(() => at.close());

  const timer = () =>
    at.sql<{ due_at: Date; revision: number }>(
      `SELECT due_at, revision FROM turnwright.timers WHERE actor_id = $1 AND timer_id = 'waited'`,
      [turn],
    );

  it('RUN-11 is not stuck for as long as its timer stands, with no worker at all', async () => {
    await at.nothingIsStuck(turn);
    const text = (await at.why(turn)).sentences.join(' ');
    expect(text).toContain('A person must approve or deny its calls');
    expect(text).toContain('The end of the wait is in 24 h.');
  });

  it('RUN-11 is stuck when the timer that would end the wait is gone, and the retry sets it as it was', async () => {
    const ran = gate.runs.length;
    const [before] = await timer();
    await at.sql(`DELETE FROM turnwright.timers WHERE actor_id = $1 AND timer_id = 'waited'`, [turn]);
    const found = await at.isStuck('timer_lost', turn);
    expect(found.action).toContain('/signals');
    await at.retryBringsItBack(turn);
    const [after] = await timer();
    expect(after?.revision).toBe(before?.revision);
    expect(Math.abs(Number(after?.due_at) - Number(before?.due_at))).toBeLessThan(1_000);
    expect(Number(after?.due_at) - Date.now()).toBeGreaterThan(DAY_MS / 2);
    await at.api.call('POST', `/v1/turns/${turn}/signals`, { json: { type: 'approve' } });
    await at.completes(turn);
    expect(gate.runs).toHaveLength(ran + 1);
  });

  it('RUN-11 is stuck when its wait is over and no process sweeps, and a worker that starts ends it', async () => {
    await at.sql(
      `UPDATE turnwright.timers SET due_at = ${LONG_AGO} WHERE actor_id = $1 AND timer_id = 'waited'`,
      [turn],
    );
    const found = await at.isStuck('timer_overdue', turn);
    expect(found.action).toContain('Start a worker');
    expect((await at.why(turn)).sentences.join(' ')).toContain('The end of the wait was 60 min ago');
    await at.worker();
    expect(await at.api.closed(turn)).toMatchObject({ outcome: 'degraded', reason: 'approval_expired' });
    await at.nothingIsStuck(turn);
  });

  it('RUN-11 is stuck when its wait is over and the sweeps of living processes fail, and the retry ends it', async () => {
    const dueAt = (since: string) =>
      at.sql(`UPDATE turnwright.timers SET due_at = ${since} WHERE actor_id = $1 AND timer_id = 'waited'`, [
        turn,
      ]);
    await at.idleWorker({ turn: 4 });
    // A sweep may have much to do.
    await dueAt(`now() - interval '1 minute'`);
    await at.nothingIsStuck(turn);
    await dueAt(LONG_AGO);
    const found = await at.isStuck('timer_overdue', turn);
    expect(found.action).toContain('why their sweep fails');
    await at.retryBringsItBack(turn);
    expect(await timer()).toEqual([]);
    await at.worker({ sweeps: false });
    expect(await at.api.closed(turn)).toMatchObject({ outcome: 'degraded', reason: 'approval_expired' });
  });
});
