import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { until } from '../../support/await.ts';
import type { TestWorker } from '../../support/stack.ts';
import { type ApiStack, openApiStack } from './api-stack.ts';

const QUESTION = 'Who is the harbour master of Elmouth? Look into harbour.md.';
const FILES = { 'harbour.md': '# Harbour\n\nThe harbour master of Elmouth is Ida Brandt.\n' };

describe('stuck turns', () => {
  let api: ApiStack;
  let session: string;
  let turn: string;
  beforeEach(async () => {
    api = await openApiStack({ backend: 'postgres', files: FILES });
    session = await api.session({ leg: 'sim-large', tools: ['read'] });
    turn = await api.turn(session, { input: QUESTION });
  });
  afterEach(() => api.close());

  const sql = (text: string, values: readonly unknown[] = [turn]) => api.stack.sql(text, values);
  const stuck = async () => (await api.call('GET', '/v1/turns/stuck')).body.turns;
  const retry = (id = turn) => api.call('POST', `/v1/turns/${id}/retry`);
  const metric = async () =>
    /^turnwright_stuck_turns (\d+)$/mu.exec((await api.call('GET', '/metrics')).body)?.[1];
  const completes = async (id = turn): Promise<TestWorker> => {
    const worker = await api.stack.worker();
    expect(await api.closed(id)).toMatchObject({ outcome: 'completed' });
    return worker;
  };

  it('RUN-11 lists no turn that moves, and retries none', async () => {
    expect(await stuck()).toEqual([]);
    expect(await metric()).toBe('0');
    const refused = await retry();
    expect([refused.status, refused.body.error.code]).toEqual([409, 'turn_not_stuck']);
    await completes();
    const closed = await retry();
    expect([closed.status, closed.body.error.code]).toEqual([409, 'turn_closed']);
  });

  it('RUN-11 says which pool no worker serves', async () => {
    await sql(`UPDATE turnwright.outbox SET due_at = now() - interval '1 hour' WHERE actor_id = $1`);
    const [found] = await stuck();
    expect(found).toMatchObject({ id: turn, session, number: 1, cause: 'unclaimed' });
    expect(found.reason).toContain('no live worker serves');
    expect(found.action).toContain('--pools step');
    expect(found.stuck_seconds).toBeGreaterThan(3_500);
    expect(await metric()).toBe('1');
    await completes();
    expect(await stuck()).toEqual([]);
    expect(await metric()).toBe('0');
  });

  it('RUN-11 finds a call whose worker is gone, and the retry lets another run it', async () => {
    await sql(`DELETE FROM turnwright.outbox WHERE actor_id = $1`);
    await sql(
      `UPDATE turnwright.side_calls SET status = 'running', fence = 1, worker_id = $2, claimed_at = now() - interval '1 hour'
        WHERE actor_id = $1`,
      [turn, randomUUID()],
    );
    expect(await stuck()).toMatchObject([{ id: turn, cause: 'worker_gone' }]);
    expect((await retry()).status).toBe(202);
    expect(await stuck()).toEqual([]);
    await completes();
  });

  it('RUN-11 finds a turn with nothing open but its deadline, and the retry brings its call back', async () => {
    await sql(`DELETE FROM turnwright.outbox WHERE actor_id = $1`);
    await sql(`UPDATE turnwright.side_calls SET status = 'failed' WHERE actor_id = $1`);
    expect(await stuck()).toMatchObject([{ id: turn, cause: 'nothing_pending' }]);
    expect((await retry()).status).toBe(202);
    expect((await retry()).body.error.code).toBe('turn_not_stuck');
    await completes();
  });

  it('RUN-11 finds an accepted turn that nobody started, and the retry starts it once', async () => {
    const second = await api.turn(session, { input: QUESTION });
    await sql(`UPDATE turnwright.turns SET status = 'closed', outcome = 'failed' WHERE turn_id = $1`);
    await sql(`UPDATE turnwright.actors SET status = 'done', compacted = true WHERE actor_id = $1`);
    await sql(`DELETE FROM turnwright.outbox WHERE actor_id = $1`);
    await sql(`UPDATE turnwright.heads SET open_turn = NULL WHERE session_id = $1`, [session]);
    expect(await stuck()).toMatchObject([{ id: second, cause: 'not_started' }]);
    const answers = await Promise.all([retry(second), retry(second), retry(second)]);
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(1);
    const shown = await api.call('GET', `/v1/turns/${second}`);
    expect(shown.body.turn).toMatchObject({ state: 'running', phase: 'stepping' });
    await completes(second);
    expect((await api.call('GET', `/v1/sessions/${session}/verify`)).body.ok).toBe(true);
  });

  it('RUN-11 finds an event that nobody applies', async () => {
    await sql(
      `INSERT INTO turnwright.actor_events (tenant_id, session_id, actor_id, event_id, event, received_at)
        SELECT tenant_id, session_id, actor_id, 'odd', '{"type":"turn.odd"}', now() - interval '1 hour'
        FROM turnwright.actors WHERE actor_id = $1`,
    );
    const [found] = await stuck();
    expect(found).toMatchObject({ id: turn, cause: 'event_pending' });
    expect(found.reason).toContain('turn version 1');
    await completes();
  });

  it('RUN-11 keeps a turn parked while its snapshot cannot be read, and completes it when it can', async () => {
    const [row] = await api.stack.sql<{ snapshot: string }>(
      `SELECT snapshot FROM turnwright.actors WHERE actor_id = $1`,
      [turn],
    );
    await sql(
      `UPDATE turnwright.actors SET snapshot = replace(snapshot, 'stepping', 'dreaming') WHERE actor_id = $1`,
    );
    await api.stack.worker();
    await until('the turn is parked', async () => {
      return (await api.call('GET', `/v1/turns/${turn}`)).body.turn.state === 'parked';
    });
    const [found] = await stuck();
    expect(found).toMatchObject({ id: turn, cause: 'parked' });
    expect(found.reason).toContain('dreaming');
    const still = await retry();
    expect([still.status, still.body.error.code]).toEqual([409, 'turn_parked']);
    await sql(`UPDATE turnwright.actors SET snapshot = $2 WHERE actor_id = $1`, [turn, row?.snapshot]);
    const back = await retry();
    expect(back.status).toBe(202);
    expect(back.body.turn.parked_reason).toBeNull();
    expect(await api.closed(turn)).toMatchObject({ outcome: 'completed' });
    expect((await api.call('GET', `/v1/sessions/${session}/verify`)).body.ok).toBe(true);
  });

  it('RUN-11 ends a parked turn that is cancelled, and starts the one behind it', async () => {
    const behind = await api.turn(session, { input: 'Say hello.' });
    await sql(
      `UPDATE turnwright.actors SET snapshot = replace(snapshot, 'stepping', 'dreaming') WHERE actor_id = $1`,
    );
    await api.stack.worker();
    await until('the turn is parked', async () => {
      return (await api.call('GET', `/v1/turns/${turn}`)).body.turn.state === 'parked';
    });
    const cancelled = await api.call('POST', `/v1/turns/${turn}/cancel`);
    expect(cancelled.body.turn).toMatchObject({ state: 'closed', outcome: 'cancelled' });
    expect(await api.closed(behind)).toMatchObject({ outcome: 'completed' });
    expect((await api.call('GET', `/v1/sessions/${session}/verify`)).body.ok).toBe(true);
  });
});
