/**
 * Admission: at most twice a pool's live concurrency stands in the queue, Postgres holds the rest and hands it out
 * to the tenants in turn. Each process keeps an estimate of the room, corrected on every refresh. With room and no
 * backlog the committing process hands over at once, without asking; by that way, and by no other, each process may
 * exceed the bound by the room it last read, and by the claims it had not heard of then.
 */
import type { AdmitRules, Commit, HandOver, SessionRef, UpkeepStore } from '../db/contract.ts';
import type { Clock } from '../ledger/clock.ts';
import {
  type Admission as Admitted,
  type JobRef,
  POOLS,
  type Pool,
  type QueueBackend,
} from '../queues/contract.ts';

/** Rows in the queue per running slot: one running, one ready. */
const DEPTH_PER_SLOT = 2;
/** Room a process assumes for a pool nobody reported yet: a first turn need not wait for the first refresh. */
const UNKNOWN_ROOM = 8;
const LARGEST_PULL = 64;
/** A process that claims nothing itself learns of room by asking, so often at most. */
const REFRESH_PAUSE_MS = 25;
/** Pools whose jobs are short and bring what a person decided: no tenant is kept from its cancellations. */
const UNCAPPED: readonly Pool[] = ['turn', 'upkeep'];
/** The queue takes jobs as they come: sorted by priority, one tenant's urgent turns would pass everybody else's. */
const QUEUE_PRIORITY = 0;

interface Gauge {
  room: number;
  /** Reserved for commits whose end is not known. */
  reserved: number;
  backlog: boolean;
  /** How many questions for the room were asked when a row was last held back: their answers may not know of it. */
  heldAt: number;
  /** The last pull came short, which the limit of a tenant may be the reason of. */
  short: boolean;
  pulling: boolean;
}

export interface TenantLimits {
  /** Of a pool's live slots, what one tenant gets while others wait: more than 0, at most 1. */
  readonly tenantShare: number;
  /** Calls of a pool that one tenant has in the queue and running; null for no such limit. */
  readonly tenantRunning: number | null;
}

export const DEFAULT_TENANT_LIMITS: TenantLimits = { tenantShare: 0.5, tenantRunning: null };

export interface AdmissionOptions {
  readonly queue: QueueBackend;
  readonly upkeep: UpkeepStore;
  readonly leaseMs: number;
  readonly clock: Clock;
  /** Left out: `DEFAULT_TENANT_LIMITS`. */
  readonly tenants?: TenantLimits;
  readonly onError: (error: unknown) => void;
  /** Something falls due in so many milliseconds: the sweeper should look then. */
  readonly wakeIn: (delayMs: number) => void;
}

/** Starts a call in this process; false when it takes none now. */
export type StartHere = (pool: Pool, ref: JobRef) => boolean;

export class Admission {
  #startHere: StartHere = () => false;
  readonly #options: AdmissionOptions;
  readonly #tenants: TenantLimits;
  readonly #gauges = new Map<Pool, Gauge>(
    POOLS.map((pool) => [
      pool,
      { room: UNKNOWN_ROOM, reserved: 0, backlog: false, heldAt: 0, short: false, pulling: false },
    ]),
  );

  #asked = 0;
  #answered = 0;
  #stopRefresh: (() => void) | null = null;
  #closed = false;

  constructor(options: AdmissionOptions) {
    this.#options = options;
    this.#tenants = options.tenants ?? DEFAULT_TENANT_LIMITS;
  }

  /**
   * Offers the calls of this process's own commits to it first; the queue gets what it does not take. Their rows stay
   * as those of jobs do: should the process die before it claims them, the sweep finds no job and hands them over.
   */
  serve(startHere: StartHere): void {
    this.#startHere = startHere;
  }

  /** Marks the rows of a commit that this process will hand over itself. */
  reserve(commit: Commit): Commit {
    if (commit.outbox.length === 0) return commit;
    const outbox = commit.outbox.map((row) => {
      const gauge = this.#gauge(row.pool);
      const others = gauge.backlog || gauge.pulling || this.#capped(row.pool);
      if (row.delayMs > 0 || gauge.room <= 0 || others) return row;
      gauge.room -= 1;
      gauge.reserved += 1;
      return { ...row, admitted: true };
    });
    return { ...commit, outbox };
  }

  /** The commit did not happen. */
  release(commit: Commit): void {
    for (const row of commit.outbox) {
      if (!row.admitted) continue;
      this.#gauge(row.pool).room += 1;
      this.#gauge(row.pool).reserved -= 1;
    }
  }

  /** After the commit. A queue that is away is no failure: the sweep hands over what was not. */
  async committed(commit: Commit): Promise<void> {
    const ready = new Map<Pool, Admitted[]>();
    for (const row of commit.outbox) {
      if (row.admitted) this.#gauge(row.pool).reserved -= 1;
      if (row.delayMs > 0) this.#options.wakeIn(row.delayMs);
      else if (row.admitted) {
        const job = admitted(commit, row);
        if (!this.#startHere(row.pool as Pool, job.ref)) push(ready, row.pool as Pool, job);
      } else this.#heldBack(row.pool as Pool);
    }
    if (commit.settle !== undefined) this.#callEnded();
    for (const timer of commit.timers) this.#options.wakeIn(timer.delayMs);
    await Promise.all([...ready].map(([pool, rows]) => this.handOver(pool, rows)));
  }

  #heldBack(pool: Pool): void {
    const gauge = this.#gauge(pool);
    gauge.backlog = true;
    gauge.heldAt = this.#asked;
    if (gauge.room > 0) void this.pull(pool);
    else this.#refreshSoon();
  }

  /** What the limit of a tenant held back may go now. */
  #callEnded(): void {
    for (const [pool, gauge] of this.#gauges) {
      if (!gauge.short) continue;
      gauge.backlog = true;
      void this.pull(pool);
    }
  }

  /** An estimate that ran out may be old: a process that only accepts never sees a claim. */
  #refreshSoon(): void {
    if (this.#stopRefresh !== null || this.#closed) return;
    this.#stopRefresh = this.#options.clock.after(REFRESH_PAUSE_MS, () => {
      this.#stopRefresh = null;
      void this.refresh().catch(this.#options.onError);
    });
  }

  close(): void {
    this.#closed = true;
    this.#stopRefresh?.();
    this.#stopRefresh = null;
  }

  async handOver(pool: Pool, rows: readonly Admitted[]): Promise<void> {
    try {
      await this.#options.queue.admit(
        pool,
        rows.map(({ ref }) => ({ ref, priority: QUEUE_PRIORITY })),
      );
    } catch (error) {
      this.#options.onError(error);
    }
  }

  /** A job was claimed: its place is free for the next row of the backlog. */
  claimed(pool: Pool): void {
    const gauge = this.#gauge(pool);
    gauge.room += 1;
    if (gauge.backlog) void this.pull(pool);
  }

  /** Corrects every estimate, and takes from the backlog what there is room for. */
  async refresh(): Promise<void> {
    this.#asked += 1;
    const question = this.#asked;
    const states = await this.#options.upkeep.poolState(this.#options.leaseMs, false);
    if (question < this.#answered) return;
    this.#answered = question;
    for (const state of states) {
      const gauge = this.#gauge(state.pool);
      gauge.room = DEPTH_PER_SLOT * state.concurrency - state.admitted - gauge.reserved;
      gauge.backlog = state.backlog > 0 || gauge.heldAt >= question;
      gauge.short &&= gauge.backlog;
    }
    await Promise.all(POOLS.filter((pool) => this.#gauge(pool).backlog).map((pool) => this.pull(pool)));
  }

  /** Takes from the backlog until it or the room is used up. One pull a pool at a time. */
  async pull(pool: Pool): Promise<void> {
    const gauge = this.#gauge(pool);
    if (gauge.pulling) return;
    gauge.pulling = true;
    try {
      while (gauge.backlog && gauge.room > 0 && !this.#closed) await this.#pullOnce(pool, gauge);
    } catch (error) {
      this.#options.onError(error);
    } finally {
      gauge.pulling = false;
    }
  }

  async #pullOnce(pool: Pool, gauge: Gauge): Promise<void> {
    const limit = Math.min(gauge.room, LARGEST_PULL);
    // Cleared first: a row held back while the answer is under way sets it again.
    gauge.backlog = false;
    const rows = await this.#options.upkeep.admit(pool, limit, this.#rules(pool));
    if (rows === null) {
      // Whoever has the room, there may be a backlog: until it is looked for, nobody passes it.
      gauge.backlog = true;
      gauge.room = 0;
      this.#refreshSoon();
      return;
    }
    gauge.room -= rows.length;
    gauge.backlog ||= rows.length > 0;
    gauge.short = rows.length < limit && this.#capped(pool);
    const jobs = rows.map((row) => admitted(row, row));
    if (jobs.length > 0) await this.handOver(pool, jobs);
  }

  #rules(pool: Pool): AdmitRules {
    const { tenantShare, tenantRunning } = this.#tenants;
    return {
      leaseMs: this.#options.leaseMs,
      perSlot: DEPTH_PER_SLOT,
      tenantShare,
      tenantRunning: this.#capped(pool) ? tenantRunning : null,
    };
  }

  /** Only the database knows what a tenant has in flight, so with a limit nothing is handed over unasked. */
  #capped(pool: string): boolean {
    return this.#tenants.tenantRunning !== null && !(UNCAPPED as readonly string[]).includes(pool);
  }

  #gauge(pool: string): Gauge {
    const gauge = this.#gauges.get(pool as Pool);
    if (gauge === undefined) throw new Error(`no pool is called "${pool}"`);
    return gauge;
  }
}

function admitted(
  { tenant, session }: SessionRef,
  row: Pick<HandOver, 'actor' | 'child' | 'dispatch' | 'priority'>,
): Admitted {
  const { actor, child, dispatch, priority } = row;
  return { ref: { tenant, session, actor, child, dispatch }, priority };
}

function push(map: Map<Pool, Admitted[]>, pool: Pool, row: Admitted): void {
  const rows = map.get(pool);
  if (rows === undefined) map.set(pool, [row]);
  else rows.push(row);
}
