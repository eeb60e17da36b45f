/** Postgres work across tenants, on a connection that acts as `turnwright_upkeep`. */
import type pg from 'pg';
import type {
  AdmitRules,
  HandOver,
  HeldCalls,
  PoolState,
  Restoration,
  SweepResult,
  UpkeepStore,
} from './contract.ts';
import { databaseError, run } from './pool.ts';

export class PostgresUpkeep implements UpkeepStore {
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  async beat(worker: {
    readonly id: string;
    readonly host: string;
    readonly pid: number;
    readonly pools: Readonly<Record<string, number>>;
  }): Promise<void> {
    await run(this.#pool, {
      name: 'beat',
      text: 'SELECT turnwright.beat($1, $2, $3, $4)',
      values: [worker.id, worker.host, worker.pid, JSON.stringify(worker.pools)],
    });
  }

  async retire(workerId: string): Promise<void> {
    await run(this.#pool, {
      text: 'DELETE FROM turnwright.workers WHERE worker_id = $1',
      values: [workerId],
    });
  }

  reconcile(workerId: string, { held, old }: HeldCalls, leaseMs: number): Promise<readonly string[]> {
    return this.#value('reconcile', 'SELECT turnwright.reconcile($1, $2, $3, $4) AS value', [
      workerId,
      held,
      old,
      leaseMs,
    ]);
  }

  poolState(leaseMs: number, counted = true): Promise<readonly PoolState[]> {
    const [name, columns] = counted
      ? ['pool_state', 'delayed, oldest_seconds AS "oldestSeconds"']
      : ['pool_room', '0 AS delayed, 0 AS "oldestSeconds"'];
    return run(this.#pool, {
      name,
      text: `SELECT pool, concurrency, admitted, backlog, ${columns} FROM turnwright.${name}($1)`,
      values: [leaseMs],
    });
  }

  admit(pool: string, limit: number, rules?: AdmitRules): Promise<readonly HandOver[] | null> {
    if (rules === undefined)
      return this.#value('admit', 'SELECT turnwright.admit($1, $2) AS value', [pool, limit]);
    const { leaseMs, perSlot, tenantShare, tenantRunning } = rules;
    return this.#value('admit_within', 'SELECT turnwright.admit($1, $2, $3, $4, $5, $6) AS value', [
      pool,
      limit,
      leaseMs,
      perSlot,
      tenantShare,
      tenantRunning,
    ]);
  }

  /** The advisory lock makes one process of the deployment sweep at a time. */
  async sweep({
    leaseMs,
    readmitMs,
  }: {
    readonly leaseMs: number;
    readonly readmitMs: number;
  }): Promise<SweepResult | null> {
    const client = await this.#pool.connect().catch((error: unknown) => {
      throw databaseError(error);
    });
    try {
      await client.query('BEGIN');
      const lock = await client.query<{ held: boolean }>(
        "SELECT pg_try_advisory_xact_lock(hashtext('turnwright.sweep')) AS held",
      );
      if (lock.rows[0]?.held !== true) {
        await client.query('ROLLBACK');
        return null;
      }
      const swept = await client.query<{ value: SweepResult }>('SELECT turnwright.sweep($1, $2) AS value', [
        leaseMs,
        readmitMs,
      ]);
      await client.query('COMMIT');
      return swept.rows[0]?.value ?? null;
    } catch (error) {
      await client.query('ROLLBACK').catch(() => {});
      throw databaseError(error);
    } finally {
      client.release();
    }
  }

  redispatch(row: HandOver): Promise<number | null> {
    const values = [row.tenant, row.session, row.actor, row.child, row.dispatch];
    return this.#value('redispatch', 'SELECT turnwright.redispatch($1, $2, $3, $4, $5) AS value', values);
  }

  nextDueMs(): Promise<number | null> {
    return this.#value('next_due', 'SELECT turnwright.next_due_ms() AS value', []);
  }

  restore(restoration: Restoration): Promise<boolean> {
    return this.#value('restore', 'SELECT turnwright.restore($1) AS value', [JSON.stringify(restoration)]);
  }

  compact(limit: number): Promise<number> {
    return this.#value('compact', 'SELECT turnwright.compact($1) AS value', [limit]);
  }

  collectBodies(): Promise<number> {
    return this.#value('collect_bodies', 'SELECT turnwright.collect_bodies() AS value', []);
  }

  async #value<T>(name: string, text: string, values: readonly unknown[]): Promise<T> {
    const rows = await run<{ readonly value: T }>(this.#pool, { name, text, values });
    return rows[0]?.value as T;
  }
}
