/**
 * The sweep: a plain jittered timer in every worker process, one sweep at a time in the deployment. States:
 * stopped, waiting (a timer is set), sweeping. It needs no queue, so a lost queue cannot stop it.
 */
import type { SweepResult, UnclaimedRow, UpkeepStore } from '../db/contract.ts';
import type { Clock } from '../ledger/clock.ts';
import { COLLECT_CHILD, FOLD_CHILD } from '../ledger/ids.ts';
import { jobId, type Pool, type QueueBackend } from '../queues/contract.ts';
import type { Admission } from './admission.ts';

export interface SweeperOptions {
  readonly upkeep: UpkeepStore;
  readonly queue: QueueBackend;
  readonly admission: Admission;
  readonly leaseMs: number;
  readonly intervalMs: number;
  /** A handed-over row that no worker claimed for so long is looked for in the queue. */
  readonly readmitMs: number;
  /** What else looks at the whole deployment, once a sweep and nowhere twice at a time. */
  readonly afterSweep?: () => Promise<unknown>;
  readonly random: () => number;
  readonly clock: Clock;
  readonly onError: (error: unknown) => void;
}

const JITTER = 0.2;
/** Upkeep jobs belong to no session. */
const NOBODY = '00000000-0000-0000-0000-000000000000';
const FOLD_PERIOD_MS = 10_000;
const COLLECT_PERIOD_MS = 3_600_000;

export class Sweeper {
  readonly #options: SweeperOptions;
  #stopTimer: (() => void) | null = null;
  #dueAtMs = Number.POSITIVE_INFINITY;
  #running: Promise<void> | null = null;
  #stopped = true;
  #collectAtMs = 0;

  constructor(options: SweeperOptions) {
    this.#options = options;
  }

  start(): void {
    this.#stopped = false;
    this.#schedule(0);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#stopTimer?.();
    this.#stopTimer = null;
    await this.#running;
  }

  /** Looks again in `delayMs` if the timer would look later. */
  wakeIn(delayMs: number): void {
    const { clock, intervalMs } = this.#options;
    if (!this.#stopped && delayMs < intervalMs && clock.monotonicMs() + delayMs < this.#dueAtMs)
      this.#schedule(delayMs + 1);
  }

  /** One sweep, now. */
  async sweep(): Promise<SweepResult | null> {
    const { upkeep, admission, leaseMs, readmitMs } = this.#options;
    const result = await upkeep.sweep({ leaseMs, readmitMs });
    for (const row of result?.unclaimed ?? []) await this.#recover(row);
    await admission.refresh();
    if (result !== null) await this.#options.afterSweep?.();
    if (result?.unfolded === true) await this.#ask(FOLD_CHILD, FOLD_PERIOD_MS);
    if (result !== null && this.#options.clock.nowMs() >= this.#collectAtMs) {
      this.#collectAtMs = this.#options.clock.nowMs() + COLLECT_PERIOD_MS;
      await this.#ask(COLLECT_CHILD, COLLECT_PERIOD_MS);
    }
    return result;
  }

  async #recover(row: UnclaimedRow): Promise<void> {
    const pool = row.pool as Pool;
    const { tenant, session, actor, child, priority } = row;
    const id = jobId({ tenant, session, actor, child, dispatch: row.dispatch });
    const presence = await this.#options.queue.presence(pool, id);
    // Taken, and a whole lease old without a claim: its worker died in between. Should it live, its claim finds nothing.
    const abandoned = presence === 'active' && row.heldMs >= this.#options.leaseMs;
    if (presence === 'pending' || (presence === 'active' && !abandoned)) return;
    const dispatch = presence === 'absent' ? row.dispatch : await this.#options.upkeep.redispatch(row);
    if (dispatch !== null)
      await this.#options.admission.handOver(pool, [
        { ref: { tenant, session, actor, child, dispatch }, priority },
      ]);
  }

  /** One job a period stands in the queue, whoever asks for it. */
  async #ask(child: string, periodMs: number): Promise<void> {
    const dispatch = Math.floor(this.#options.clock.nowMs() / periodMs);
    const ref = { tenant: NOBODY, session: NOBODY, actor: NOBODY, child, dispatch };
    await this.#options.admission.handOver('upkeep', [{ ref, priority: 0 }]);
  }

  #schedule(delayMs: number): void {
    const { clock } = this.#options;
    this.#stopTimer?.();
    this.#dueAtMs = clock.monotonicMs() + delayMs;
    this.#stopTimer = clock.after(delayMs, () => {
      this.#stopTimer = null;
      this.#running = this.#tick();
    });
  }

  async #tick(): Promise<void> {
    try {
      await this.sweep();
    } catch (error) {
      this.#options.onError(error);
    }
    if (this.#stopped) return;
    const { intervalMs, random, upkeep } = this.#options;
    const jittered = intervalMs * (1 - JITTER + 2 * JITTER * random());
    const due = await upkeep.nextDueMs().catch(() => null);
    this.#schedule(due === null ? jittered : Math.max(5, Math.min(jittered, due + 1)));
  }
}
