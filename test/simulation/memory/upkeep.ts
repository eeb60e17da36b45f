/** Upkeep across tenants in memory, as drizzle/0003_upkeep.sql does it. */
import type {
  AdmitRules,
  HandOver,
  HeldCalls,
  PoolState,
  Restoration,
  SweepResult,
  UpkeepStore,
} from '../../../src/db/contract.ts';
import { DRAIN_CHILD } from '../../../src/ledger/ids.ts';
import { admit, slotsOf } from './admit.ts';
import { appliedEvents, eventsOf, receive } from './events.ts';
import { handOut, wake } from './outbox.ts';
import { restore } from './restore.ts';
import type { ActorRow, Tables } from './rows.ts';
import {
  fireTimers,
  forgetWorkers,
  markLateEvents,
  queueAgain,
  takeOver,
  unclaimedRows,
  wakeForgotten,
} from './sweep.ts';

export interface MemoryUpkeepOptions {
  readonly tables: Tables;
  readonly nowMs: () => number;
  /** What another process is in the middle of: `sweep`, or `admit <pool>`. */
  readonly held: ReadonlySet<string>;
}

export class MemoryUpkeep implements UpkeepStore {
  readonly #tables: Tables;
  readonly #nowMs: () => number;
  readonly #held: ReadonlySet<string>;

  constructor({ tables, nowMs, held }: MemoryUpkeepOptions) {
    this.#tables = tables;
    this.#nowMs = nowMs;
    this.#held = held;
  }

  async beat(worker: {
    readonly id: string;
    readonly pools: Readonly<Record<string, number>>;
  }): Promise<void> {
    this.#tables.workers.set(worker.id, { id: worker.id, pools: worker.pools, beatMs: this.#nowMs() });
  }

  async retire(workerId: string): Promise<void> {
    this.#tables.workers.delete(workerId);
  }

  async reconcile(workerId: string, { held, old }: HeldCalls, leaseMs: number): Promise<readonly string[]> {
    const nowMs = this.#nowMs();
    const own = this.#tables.calls
      .all()
      .filter(({ status, worker }) => status === 'running' && worker === workerId);
    const lost = own.filter(
      ({ actor, child, claimedMs }) =>
        (claimedMs ?? nowMs) < nowMs - leaseMs && !held.includes(`${actor}~${child}`),
    );
    for (const call of lost) queueAgain(this.#tables, call, 'its claim was lost', nowMs);
    const kept = new Set(
      own.filter((call) => !lost.includes(call)).map(({ actor, child }) => `${actor}~${child}`),
    );
    return old.filter((call) => !kept.has(call));
  }

  async poolState(leaseMs: number, counted = true): Promise<readonly PoolState[]> {
    const nowMs = this.#nowMs();
    const live = [...this.#tables.workers.values()].filter(({ beatMs }) => beatMs > nowMs - leaseMs);
    const rows = this.#tables.outbox.all();
    const pools = new Set([
      ...live.flatMap((worker) => Object.keys(worker.pools)),
      ...rows.map(({ pool }) => pool),
    ]);
    return [...pools].map((pool) => {
      const own = rows.filter((row) => row.pool === pool);
      const held = own.filter(({ admittedMs }) => admittedMs === null);
      const backlog = held.filter(({ dueMs }) => dueMs <= nowMs).length;
      return {
        pool,
        concurrency: slotsOf(this.#tables, pool, nowMs - leaseMs),
        admitted: own.length - held.length,
        backlog: counted ? backlog : Math.min(1, backlog),
        delayed: counted ? held.length - backlog : 0,
        oldestSeconds: counted ? Math.max(0, ...own.map(({ dueMs }) => nowMs - dueMs)) / 1_000 : 0,
      };
    });
  }

  async admit(pool: string, limit: number, rules?: AdmitRules): Promise<readonly HandOver[] | null> {
    if (this.#held.has(`admit ${pool}`)) return null;
    return admit(this.#tables, pool, { limit, rules, nowMs: this.#nowMs() });
  }

  async sweep({
    leaseMs,
    readmitMs,
  }: {
    readonly leaseMs: number;
    readonly readmitMs: number;
  }): Promise<SweepResult | null> {
    if (this.#held.has('sweep')) return null;
    const nowMs = this.#nowMs();
    const taken = takeOver(this.#tables, leaseMs, nowMs);
    const fired = fireTimers(this.#tables, nowMs);
    const drains = wakeForgotten(this.#tables, nowMs);
    markLateEvents(this.#tables);
    forgetWorkers(this.#tables, leaseMs, nowMs);
    const unfolded = this.#tables.actors.all().some(isUnfolded);
    return { taken, fired, drains, unfolded, unclaimed: unclaimedRows(this.#tables, readmitMs, nowMs) };
  }

  async redispatch(row: HandOver): Promise<number | null> {
    if (!this.#tables.outbox.remove(row)) return null;
    const nowMs = this.#nowMs();
    if (row.child === DRAIN_CHILD) {
      const actor = this.#tables.actors.get(row);
      if (actor === undefined) return null;
      const drains = Math.max(actor.drains, row.dispatch);
      return wake(this.#tables, { ...actor, drains }, { dueMs: nowMs, admittedMs: nowMs });
    }
    const call = this.#tables.calls.get(row);
    if (call?.dispatch !== row.dispatch || call.status !== 'queued') return null;
    const next = { ...call, dispatch: call.dispatch + 1 };
    this.#tables.calls.put(next);
    handOut(this.#tables, { ...next, dueMs: nowMs, admittedMs: nowMs });
    return next.dispatch;
  }

  async nextDueMs(): Promise<number | null> {
    const nowMs = this.#nowMs();
    const heldBack = this.#tables.outbox
      .all()
      .filter(({ admittedMs, dueMs }) => admittedMs === null && dueMs > nowMs);
    const due = [...heldBack, ...this.#tables.timers.all()].map(({ dueMs }) => dueMs);
    return due.length === 0 ? null : Math.min(...due) - nowMs;
  }

  async compact(limit: number): Promise<number> {
    const waits = (actor: ActorRow) =>
      eventsOf(this.#tables, actor).some(({ revision }) => revision === null);
    const chosen = this.#tables.actors
      .all()
      .filter((actor) => isUnfolded(actor) && !waits(actor))
      .slice(0, limit);
    for (const actor of chosen) this.#fold(actor);
    return chosen.length;
  }

  /** One row in place of all, which still replays; settled calls go. */
  #fold(actor: ActorRow): void {
    const { events, calls, actors } = this.#tables;
    const applied = appliedEvents(this.#tables, actor);
    for (const event of eventsOf(this.#tables, actor)) events.remove(event);
    for (const call of calls.of(actor))
      if (call.actor === actor.actor && call.status !== 'running') calls.remove(call);
    const event = JSON.stringify(applied.map(({ id, event: text, digest }) => [id, text, digest]));
    const digest = applied.findLast((one) => one.digest !== null)?.digest ?? null;
    const revision = applied.at(-1)?.revision;
    if (revision !== undefined)
      receive(this.#tables, { ...actor, id: 'all', event, revision, digest }, this.#nowMs());
    actors.put({ ...actor, compacted: true });
  }

  async restore(restoration: Restoration): Promise<boolean> {
    return this.#tables.journal.transaction(() => restore(this.#tables, restoration, this.#nowMs()));
  }

  /** Bodies stand in their records here, so none is left behind by a hop that never committed. */
  async collectBodies(): Promise<number> {
    return 0;
  }
}

function isUnfolded({ status, compacted }: ActorRow): boolean {
  return status === 'done' && !compacted;
}
