import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { explainTurn } from '../../../src/db/queries/explain-turn.ts';
import { stuckLimits } from '../../../src/runtime/stuck-reasons.ts';
import { until } from '../../support/await.ts';
import type { TestWorker } from '../../support/stack.ts';
import { type HeldTool, heldTool } from '../../support/tools.ts';
import { type ApiStack, openApiStack } from './api-stack.ts';

const FILES = { 'harbour.md': '# Harbour\n\nThe harbour master of Elmouth is Ida Brandt.\n' };
const QUESTION = 'Who is the harbour master of Elmouth? Look into harbour.md.';
const SECRET = 'sk-live-0123456789abcdef';

describe('why, over HTTP', () => {
  let api: ApiStack;
  let weir: HeldTool;
  beforeAll(async () => {
    weir = heldTool('weir', 'read');
    api = await openApiStack({ backend: 'postgres', files: FILES, tools: [weir.tool] });
  });
  afterAll(() => api.close());

  const why = async (turn: string) => {
    const { status, body } = await api.call('GET', `/v1/turns/${turn}/why`);
    expect([status, body.turn]).toEqual([200, turn]);
    return { ...body, text: body.sentences.join(' ') };
  };
  const working = async (work: (worker: TestWorker) => Promise<void>) => {
    const worker = await api.stack.worker();
    try {
      await work(worker);
    } finally {
      await worker.stop();
    }
  };

  it('RUN-11 is told to whoever may read turns of the tenant, and to nobody else', async () => {
    const turn = await api.turn(await api.session(), { input: QUESTION });
    const path = `/v1/turns/${turn}/why`;
    expect((await api.call('GET', path, { key: await api.keyOf(['turns:read']) })).status).toBe(200);
    expect((await api.call('GET', path, { key: await api.keyOf(['turns:write']) })).status).toBe(403);
    for (const [other, key] of [
      [path, await api.stranger()],
      [`/v1/turns/${randomUUID()}/why`, api.key],
      ['/v1/turns/nothing/why', api.key],
    ] as const) {
      const { status, body } = await api.call('GET', other, { key });
      expect([other, status, body.error.code]).toEqual([other, 404, 'turn_not_found']);
    }
  });

  it('RUN-11 reads everything in one statement of its tenant', async () => {
    const turn = await api.turn(await api.session(), { input: QUESTION });
    const { pool, config } = api.services;
    const statements: string[] = [];
    const counting = {
      connect: async () => {
        const client = await pool.connect();
        return {
          query: (text: string, values?: unknown[]) => {
            statements.push(text);
            return client.query(text, values);
          },
          release: (broken: boolean) => client.release(broken),
        };
      },
    } as unknown as pg.Pool;
    const row = await explainTurn(counting, api.stack.tenant, turn, stuckLimits(config.leaseMs));
    expect(row?.turn).toBe(turn);
    expect(statements.map((text) => text.trim().split(/\s/u)[0])).toEqual([
      'BEGIN',
      'SELECT',
      'SELECT',
      'COMMIT',
    ]);
    expect(statements[1]).toContain('turnwright.tenant');
    expect(await explainTurn(pool, randomUUID(), turn, stuckLimits(config.leaseMs))).toBeNull();
  });

  it('RUN-11 names the worker that runs a call, its budget and its deadline', async () => {
    await working(async ({ id }) => {
      const session = await api.session({ leg: 'sim-large', tools: ['weir'] });
      const turn = await api.turn(session, { input: 'Call the weir tool.', budget: { steps: 7 } });
      const run = await until('the tool runs', () => weir.runs.at(-1));
      const { facts, text, stuck } = await why(turn);
      expect(stuck).toBeNull();
      expect(facts).toMatchObject({ state: 'running', phase: 'tooling', steps: { begun: 1, budget: 7 } });
      expect(facts.calls).toMatchObject([
        {
          child: 'tool-1-0',
          kind: 'tool',
          pool: 'tool',
          pool_slots: 16,
          place: 'running',
          attempt: 1,
          max_attempts: 1,
          fence: 1,
          dispatch: 1,
          worker: { id, host: hostname(), pid: process.pid, alive: true },
        },
      ]);
      expect(Math.abs(Date.parse(facts.calls[0].since) - Date.now())).toBeLessThan(60_000);
      expect(text).toMatch(/^T1 has been tooling for .*: every admitted call runs as its own job/u);
      expect(text).toContain(`the worker on ${hostname()} (process ${process.pid})`);
      expect(text).toMatch(/Its deadline is in 1\d min\./u);
      expect(text).toContain('It has used 1 of 7 steps.');
      expect(facts.timers.map(({ name }: { name: string }) => name)).toEqual(['deadline']);
      run.release();
      await api.closed(turn);
    });
  });

  it('RUN-11 says what the provider answered last, while the call waits to be tried again', async () => {
    await working(async () => {
      // A model of its own: all of the deployment waits where a provider asks for it.
      const leg = 'sim-small';
      const match = { model: leg };
      api.stack.sim.setFaults([{ match, fault: { name: 'rate_limit', retryAfterMs: 600_000 } }]);
      const turn = await api.turn(await api.session({ leg, tools: [] }), {
        input: 'Good morning.',
      });
      await until('the call was refused', async () => {
        const { facts } = await why(turn);
        return facts.calls[0]?.place === 'delayed';
      });
      const { facts, text } = await why(turn);
      expect(facts.calls[0]).toMatchObject({ attempt: 2, max_attempts: 6, rate_limited: true });
      expect(facts.last_error).toMatchObject({ child: 'step-1', from: 'call' });
      expect(text).toContain(
        "step-1 waits for its provider's rate limit and is due in 10 min, attempt 2 of 6.",
      );
      expect(text).toContain('The last error was at step-1, attempt 2: rate_limited:');
      expect(text).toContain('It is not stuck.');
      api.stack.sim.setFaults([]);
      await api.call('POST', `/v1/turns/${turn}/cancel`);
      const after = await why(turn);
      expect(after.text).toContain('T1 ended cancelled');
      expect(after.facts.last_error).toMatchObject({ child: 'step-1', attempt: 1, from: 'receipt' });
    });
  });

  it('RUN-11 shows no credential that an error holds', async () => {
    const turn = await api.turn(await api.session(), { input: QUESTION });
    await api.stack.sql(
      `UPDATE turnwright.side_calls SET last_error = 'internal: Bearer ' || $2 || ' at postgres://tw:' || $2 || '@db' WHERE actor_id = $1`,
      [turn, SECRET],
    );
    const { text, facts } = await why(turn);
    expect(text).toContain('The last error was at step-1');
    expect(text + JSON.stringify(facts)).not.toContain(SECRET);
  });

  it('RUN-11 says how a turn ended, the same before and after its events are folded', async () => {
    await working(async () => {
      const session = await api.session({ leg: 'sim-large', tools: ['read'] });
      const turn = await api.turn(session, { input: QUESTION });
      const closed = await api.closed(turn);
      const before = await why(turn);
      expect(before.sentences).toHaveLength(1);
      expect(before.text).toMatch(
        new RegExp(
          `^T1 ended completed .* after it was accepted, with ${closed.steps} steps: it answered\\.$`,
          'u',
        ),
      );
      await until('its events are folded', async () => {
        const [actor] = await api.stack.sql<{ compacted: boolean }>(
          `SELECT compacted FROM turnwright.actors WHERE actor_id = $1`,
          [turn],
        );
        return actor?.compacted;
      });
      const after = await why(turn);
      expect(after.sentences).toEqual(before.sentences);
      expect(after.facts.calls).toEqual([]);
    });
  });

  it('RUN-11 counts the rows of the tenant that are before a call held back, and no others', async () => {
    const turns: string[] = [];
    for (let n = 0; n < 3; n++) turns.push(await api.turn(await api.session(), { input: QUESTION }));
    await api.stack.sql(`UPDATE turnwright.outbox SET admitted_at = NULL WHERE actor_id = ANY ($1)`, [turns]);
    await api.stack.sql(
      `INSERT INTO turnwright.outbox (tenant_id, session_id, actor_id, child_id, dispatch, pool, position)
        SELECT gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), 'step-1', 1, 'step', n FROM generate_series(-9, 0) n`,
    );
    const before = await Promise.all(turns.map(async (turn) => (await why(turn)).facts.calls[0].rows_before));
    expect(before.map((rows: number) => rows - before[0])).toEqual([0, 1, 2]);
    expect(before[0]).toBeLessThan(10);
  });
});
