/** The processes of a world: which there are, how they end, and what is started in their place. */
import { POOLS, type Pool } from '../../../src/queues/contract.ts';
import type { Delivery } from './delivery.ts';
import type { Dice } from './dice.ts';
import type { Faults } from './faults.ts';
import { Process } from './process.ts';
import { NEWER, OLDER } from './releases.ts';
import type { Owner, Scheduler } from './scheduler.ts';
import type { Surroundings } from './surroundings.ts';
import type { Trace } from './trace.ts';
import type { Wire } from './wire.ts';
import type { Witness } from './witness.ts';

export interface DeploymentOptions {
  readonly scheduler: Scheduler;
  readonly dice: Dice;
  readonly faults: Pick<Faults, 'happens' | 'quiet'>;
  readonly witness: Witness;
  readonly trace: Trace;
  readonly wire: Wire;
  readonly delivery: Delivery;
  readonly around: Surroundings;
}

const SOONEST_RESTART_MS = 50;
const LATEST_RESTART_MS = 6_000;
const MOST_WORKERS = 3;
const WORLDS_BEING_UPGRADED = 0.3;

export class Deployment {
  readonly #options: DeploymentOptions;
  readonly #processes = new Set<Process>();
  /** Of the processes a world begins with, those that run the older release. */
  readonly #shareOfOlder: number;
  #started = 0;

  constructor(options: DeploymentOptions) {
    this.#options = options;
    const { dice, faults } = options;
    this.#shareOfOlder = !faults.quiet && dice.chance(WORLDS_BEING_UPGRADED) ? dice.next() : 0;
  }

  living(): readonly Process[] {
    return [...this.#processes];
  }

  start(): void {
    const { dice } = this.#options;
    for (const pools of this.#roles()) this.#start(pools, dice.chance(this.#shareOfOlder) ? OLDER : NEWER);
  }

  /** The upgrade comes to its end: what still runs the older release is replaced. */
  upgrade(): void {
    const { witness } = this.#options;
    const older = this.living().filter(({ registry }) => registry === OLDER);
    if (older.length > 0) witness.count('upgrades');
    for (const process of older) this.drain(process);
  }

  crash(owner: Owner): void {
    const process = this.living().find((living) => living === owner);
    if (process !== undefined) this.#end(process, 'dies');
  }

  drain(process: Process): void {
    const { witness, scheduler } = this.#options;
    witness.trouble(process.name, 'drain', scheduler.nowMs, Number.POSITIVE_INFINITY);
    void process.drain().then(() => {
      if (process.alive) this.#end(process, 'is drained');
    });
  }

  pause(process: Process, untilMs: number): void {
    const { witness, scheduler, delivery } = this.#options;
    process.pausedUntilMs = untilMs;
    witness.trouble(process.name, 'pause', scheduler.nowMs, untilMs);
    scheduler.after(untilMs - scheduler.nowMs, null, () => delivery.look());
  }

  wakeAll(): void {
    for (const process of this.#processes) process.pausedUntilMs = 0;
    this.#options.delivery.look();
  }

  /** A notice of the database, to everyone who listens; to some it gets lost. */
  notify(channel: string, payload: string): void {
    const { faults, scheduler, wire } = this.#options;
    for (const process of this.#processes) {
      if (faults.happens('noticeLost')) continue;
      scheduler.after(wire.latencyMs(), process, () => process.hears(channel, payload));
    }
  }

  /** Perhaps an API that serves no pool, and workers that serve every pool between them. */
  #roles(): readonly (readonly Pool[])[] {
    const { dice } = this.#options;
    const api: readonly (readonly Pool[])[] = dice.chance(0.6) ? [[]] : [];
    if (dice.chance(0.5))
      return [...api, ...Array.from({ length: dice.whole(1, MOST_WORKERS) }, () => POOLS)];
    const some = POOLS.filter(() => dice.chance(0.5));
    const rest = POOLS.filter((pool) => !some.includes(pool));
    return [...api, some, rest, ...(dice.chance(0.5) ? [POOLS] : [])];
  }

  #start(pools: readonly Pool[], registry = NEWER): void {
    const { trace, around } = this.#options;
    this.#started += 1;
    const process = new Process(`P${this.#started}`, pools, registry, around);
    trace.name(process.id, process.name);
    this.#processes.add(process);
    process.start().catch((error: unknown) => {
      around.failed(process, error);
      this.crash(process);
    });
  }

  /** Whoever runs the deployment starts another one in its place. */
  #end(process: Process, how: string): void {
    const { dice, scheduler, witness, trace, delivery } = this.#options;
    process.alive = false;
    this.#processes.delete(process);
    delivery.forget(process);
    witness.trouble(process.name, how, scheduler.nowMs, Number.POSITIVE_INFINITY);
    trace.note(scheduler.nowMs, process.name, how);
    const restartMs = dice.between(SOONEST_RESTART_MS, LATEST_RESTART_MS);
    scheduler.after(restartMs, null, () => this.#start(process.pools));
  }
}
