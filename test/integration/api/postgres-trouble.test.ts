/** Postgres refuses, stalls or has no connection left: no hop is half applied, and work goes on by itself. */
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SessionRef } from '../../../src/db/contract.ts';
import { gate } from '../../support/await.ts';
import { BACKENDS } from '../../support/stack.ts';
import { sayingTool } from '../../support/tools.ts';
import { type Answered, type ApiStack, openApiStack } from './api-stack.ts';

const DEADLOCK = '40P01';
const INPUT = { input: 'Call the weir tool.' };
/** More than a process has connections, so that some wait for one in vain. */
const FLOOD = 60;
const STALL_MS = 10_000;
const TEST_LIMIT_MS = 120_000;
/** What one turn with one tool call appends, in order, and how often a model and the tool are called for it. */
const RECORDS = [
  'turn-accepted',
  'reading',
  'turn-context',
  'context-plan',
  'work-receipt',
  'assistant-message',
  'tool-result',
  'work-receipt',
  'assistant-message',
  'turn-closed',
];
const MODEL_CALLS = 2;
const TOOL_RUNS = 1;
const REFUSALS = [
  { code: '53100', what: 'the disk is full' },
  { code: '40001', what: 'a transaction could not be serialised' },
  { code: '40P01', what: 'a deadlock was found' },
  { code: '57014', what: 'a statement was cancelled' },
  { code: '53200', what: 'the server is out of memory' },
] as const;
/** Each a hop of its own: accepting, a step that calls a tool, the tool’s result, the step that ends the turn. */
const HOPS = ['turn-accepted', 'assistant-message', 'tool-result', 'turn-closed'] as const;

describe.each(BACKENDS)('Postgres in trouble, with workers on %s', (backend) => {
  let api: ApiStack;
  const runs: string[] = [];

  beforeAll(async () => {
    const tools = [sayingTool('weir', 'Says whether the weir is open.', 'The weir is open.', runs)];
    api = await openApiStack({ backend, tools });
    await api.stack.worker();
    await api.stack.sql(`
      CREATE SEQUENCE public.refused;
      CREATE TABLE public.refusals (kind text, code text, times integer);
      CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
      DECLARE v public.refusals := (SELECT r FROM public.refusals r WHERE r.kind = NEW.kind);
      BEGIN
        -- A sequence counts on although the transaction is rolled back.
        IF v.kind IS NOT NULL AND nextval('public.refused') <= v.times THEN
          RAISE EXCEPTION 'in trouble' USING ERRCODE = v.code;
        END IF;
        RETURN NEW;
      END $$;
      CREATE TRIGGER refuse BEFORE INSERT ON turnwright.records FOR EACH ROW EXECUTE FUNCTION public.refuse()`);
  });
  afterAll(() => api.close());

  for (const { code, what } of REFUSALS)
    it(`RUN-02 RUN-03 ends every turn with each thing done once where ${what} (${code})`, {
      timeout: TEST_LIMIT_MS,
    }, async () => {
      for (const kind of HOPS) {
        const session = await api.session();
        await refuse(kind, code, 2);
        const before = { calls: api.stack.sim.calls().length, runs: runs.length };
        const turn = await accepted(session, `${kind}-${code}`);
        expect(await api.closed(turn)).toMatchObject({ outcome: 'completed', steps: MODEL_CALLS });
        await refuse(kind, code, 0);
        const ref = { tenant: api.stack.tenant, session };
        expect((await recordsOf(ref, turn)).map((record) => record.kind)).toEqual(RECORDS);
        expect(api.stack.sim.calls().length - before.calls).toBe(MODEL_CALLS);
        expect(runs.length - before.runs).toBe(TOOL_RUNS);
        expect(await api.stack.verify(ref)).toMatchObject({ ok: true });
      }
    });

  it('RUN-02 answers 503 with Retry-After and writes nothing while a turn cannot be stored', async () => {
    const session = await api.session();
    const ref = { tenant: api.stack.tenant, session };
    const before = await api.stack.records(ref);
    await refuse('turn-accepted', '53100', Number.MAX_SAFE_INTEGER);
    const answer = await send(session, 'full');
    expectUnavailable(answer);
    expect(await api.stack.records(ref)).toEqual(before);
    await refuse('turn-accepted', '53100', 0);
    await api.closed(await accepted(session, 'full'));
  });

  it('RUN-03 RUN-04 goes on after a stall of ten seconds in mid-turn, with every result taken once', {
    timeout: TEST_LIMIT_MS,
  }, async () => {
    const session = await api.session();
    const turn = await accepted(session, 'stalled');
    await locked(['turnwright.sessions', 'turnwright.side_calls'], STALL_MS, async () => {});
    expect(await api.closed(turn)).toMatchObject({ outcome: 'completed', steps: MODEL_CALLS });
    const ref = { tenant: api.stack.tenant, session };
    const kinds = (await recordsOf(ref, turn)).map((record) => record.kind);
    expect(kinds.filter((kind) => kind !== 'late-result' && kind !== 'work-receipt')).toEqual(
      RECORDS.filter((kind) => kind !== 'work-receipt'),
    );
    expect(await api.stack.verify(ref)).toMatchObject({ ok: true });
  });

  it('RUN-03 with no connection left answers 503 with Retry-After; what was refused can be sent again, once', {
    timeout: TEST_LIMIT_MS,
  }, async () => {
    const session = await api.session();
    const keys = Array.from({ length: FLOOD }, (_, index) => `flood-${index}`);
    const waiting = gate();
    let answers: readonly Answered[] = [];
    // Longer than a request waits for a connection.
    await locked(['turnwright.sessions'], STALL_MS, async () => {
      const asked = keys.map((key) => send(session, key));
      void Promise.all(asked).then((all) => {
        answers = all;
        waiting.open();
      });
    });
    await waiting.opened;
    const refused = answers.filter(({ status }) => status !== 202);
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.length).toBeLessThan(FLOOD);
    for (const answer of refused) expectUnavailable(answer);
    for (const key of keys) await accepted(session, key);
    const ref = { tenant: api.stack.tenant, session };
    const kinds = (await api.stack.records(ref)).map((record) => record.kind);
    expect(kinds.filter((kind) => kind === 'turn-accepted')).toHaveLength(FLOOD);
  });

  /** Without the prefix, which the first turn of a session stores for all. */
  async function recordsOf(ref: SessionRef, turn: string) {
    // What the session's first turn stores for all, and what early calls teach, come as they come.
    return (await api.stack.records(ref, turn)).filter(
      ({ kind }) => !['prefix', 'capacity-feedback', 'capacity-probe'].includes(kind),
    );
  }

  async function refuse(kind: string, code: string, times: number): Promise<void> {
    await api.stack.sql(`SELECT setval('public.refused', 1, false)`);
    await api.stack.sql('DELETE FROM public.refusals');
    const most = Math.min(times, 2 ** 31 - 1);
    await api.stack.sql('INSERT INTO public.refusals VALUES ($1, $2, $3)', [kind, code, most]);
  }

  const send = (session: string, key: string) =>
    api.call('POST', `/v1/sessions/${session}/turns`, { json: INPUT, headers: { 'idempotency-key': key } });

  /** As a producer does: what is unavailable is asked for again under the same key. */
  async function accepted(session: string, key: string): Promise<string> {
    for (;;) {
      const answer = await send(session, key);
      if (answer.status === 503) continue;
      expect([200, 202]).toContain(answer.status);
      return answer.body.turn.id;
    }
  }

  function expectUnavailable({ status, headers, body }: Answered): void {
    expect([status, body.error.code]).toEqual([503, 'database_unreachable']);
    expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
    expect(JSON.stringify(body)).not.toMatch(/\bat .*:\d+:\d+/u);
  }

  /** Nobody reads or writes the tables for so long. */
  async function locked(
    tables: readonly string[],
    ms: number,
    meanwhile: () => Promise<void>,
  ): Promise<void> {
    const client = new pg.Client({ connectionString: api.stack.databaseUrl });
    await client.connect();
    try {
      while (!(await lockedAll(client, tables))) await client.query('ROLLBACK');
      await meanwhile();
      await client.query('SELECT pg_sleep($1)', [ms / 1_000]);
      await client.query('ROLLBACK');
    } finally {
      await client.end();
    }
  }
});

/** False when commits under way held the tables in another order and the lock was what gave way. */
async function lockedAll(client: pg.Client, tables: readonly string[]): Promise<boolean> {
  await client.query('BEGIN');
  try {
    await client.query(`LOCK TABLE ${tables.join(', ')} IN ACCESS EXCLUSIVE MODE`);
    return true;
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === DEADLOCK) return false;
    throw error;
  }
}
