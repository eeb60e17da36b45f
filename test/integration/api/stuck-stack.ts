/** A turn over HTTP, and what the three surfaces say of it when nothing moves it: the list, the metric and the why. */
import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { expect } from 'vitest';
import type { StuckCause } from '../../../src/db/queries/list-stuck.ts';
import type { TestWorker } from '../../support/stack.ts';
import type { WorkerOptions } from '../../support/stack-contract.ts';
import { type Answered, type ApiStack, openApiStack, send } from './api-stack.ts';

export const QUESTION = 'Who is the harbour master of Elmouth? Look into harbour.md.';
const FILES = { 'harbour.md': '# Harbour\n\nThe harbour master of Elmouth is Ida Brandt.\n' };

export interface Stuck {
  readonly api: ApiStack;
  /** A session that reads files, and a turn of it that waits for its first step. New for each test. */
  readonly session: string;
  readonly turn: string;
  /** Before each test: no worker runs, and no turn is open but the new one. */
  begin(): Promise<void>;
  /** After each test: stops its workers and ends what it left open. */
  end(): Promise<void>;
  worker(options?: WorkerOptions): Promise<TestWorker>;
  /** `$1` is the turn unless values are given. */
  sql<Row extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<readonly Row[]>;
  list(): Promise<Answered['body']>;
  why(turn?: string): Promise<Answered['body']>;
  retry(turn?: string, headers?: Readonly<Record<string, string>>): Promise<Answered>;
  /** Holds list, metric and why to it: this turn is stuck, it alone, for this cause. Returns what the list says. */
  isStuck(cause: StuckCause, turn?: string): Promise<Answered['body']>;
  /** Holds all three to it: nothing is stuck. */
  nothingIsStuck(turn?: string): Promise<void>;
  /** Holds the answer to be the turn's own, on its way again, and that nothing is stuck any more. */
  retryBringsItBack(turn?: string): Promise<void>;
  /** A worker ends the turn with an answer. */
  completes(turn?: string): Promise<void>;
  /** A worker process by its heartbeat alone: alive for an hour, and never taking a job. */
  idleWorker(pools: Readonly<Record<string, number>>): Promise<void>;
  close(): Promise<void>;
}

export async function openStuck(options: Partial<Parameters<typeof openApiStack>[0]> = {}): Promise<Stuck> {
  const api = await openApiStack({ backend: 'postgres', files: FILES, ...options });
  const workers: TestWorker[] = [];
  const current = { session: '', turn: '' };
  const sql: Stuck['sql'] = (text, values = [current.turn]) => api.stack.sql(text, values);
  const list = async () => (await api.call('GET', '/v1/turns/stuck')).body.turns;
  const why = async (id = current.turn) => (await api.call('GET', `/v1/turns/${id}/why`)).body;
  const retry = (id = current.turn, headers: Readonly<Record<string, string>> = {}) =>
    api.call('POST', `/v1/turns/${id}/retry`, { headers });
  const metric = async () => {
    const { body } = await send(api.url, 'GET', '/metrics', {});
    return Number(/^turnwright_stuck_turns (\d+)$/mu.exec(body)?.[1]);
  };
  const worker = async (how: WorkerOptions = {}) => {
    const started = await api.stack.worker(how);
    workers.push(started);
    return started;
  };
  const nothingIsStuck = async (id = current.turn) => {
    expect(await list()).toEqual([]);
    expect(await metric()).toBe(0);
    const told = await why(id);
    expect(told.stuck).toBeNull();
    if (told.facts.state !== 'closed') expect(told.sentences.at(-1)).toBe('It is not stuck.');
  };
  return {
    api,
    get session() {
      return current.session;
    },
    get turn() {
      return current.turn;
    },
    begin: async () => {
      current.session = await api.session({ leg: 'sim-large', tools: ['read'] });
      current.turn = await api.turn(current.session, { input: QUESTION });
    },
    end: async () => {
      await Promise.all(workers.splice(0).map((each) => each.stop()));
      await sql(`UPDATE turnwright.turns SET status = 'closed' WHERE status <> 'closed'`, []);
      for (const table of ['workers', 'outbox', 'timers']) await sql(`DELETE FROM turnwright.${table}`, []);
    },
    worker,
    sql,
    list,
    why,
    retry,
    nothingIsStuck,
    isStuck: async (cause, id = current.turn) => {
      const found = await list();
      expect(found.map((each: Answered['body']) => [each.id, each.cause])).toEqual([[id, cause]]);
      expect(await metric()).toBe(1);
      const told = await why(id);
      const { reason, action } = found[0];
      expect(told.stuck).toMatchObject({ cause, reason, action });
      expect(told.sentences.at(-1)).toMatch(/^It has been stuck for \d.* What to do: /u);
      expect(told.sentences.at(-1)).toContain(reason);
      return found[0];
    },
    retryBringsItBack: async (id = current.turn) => {
      const { status, body } = await retry(id);
      expect([status, body.turn?.id], JSON.stringify(body)).toEqual([202, id]);
      await nothingIsStuck(id);
    },
    completes: async (id = current.turn) => {
      await worker();
      expect(await api.closed(id)).toMatchObject({ outcome: 'completed' });
      await nothingIsStuck(id);
    },
    idleWorker: async (pools) => {
      await sql(
        `INSERT INTO turnwright.workers (worker_id, host, pid, pools, beat_at) VALUES ($1, 'mill', 4242, $2, now() + interval '1 hour')`,
        [randomUUID(), JSON.stringify(pools)],
      );
    },
    close: () => api.close(),
  };
}
