/**
 * A world: a deployment in virtual time, with its producers before it and its models behind it. One seed decides
 * everything that happens in it. First faults happen, then they end and it settles, then it is judged.
 */
import type { SessionRef } from '../../../src/db/contract.ts';
import { PROBES_CHANNEL } from '../../../src/db/probe-flights.ts';
import { LIMITS_CHANNEL } from '../../../src/db/rate-limits.ts';
import type { Bus } from '../../../src/queues/bus.ts';
import { createSession } from '../../../src/runtime/sessions.ts';
import { verifySession } from '../../../src/runtime/verify-session.ts';
import { createMemoryDatabase, type MemoryDatabase } from '../memory/database.ts';
import { MemoryProbeFlights } from '../memory/probe-flights.ts';
import { createMemoryQueue, type MemoryQueue } from '../memory/queue.ts';
import type { Bug } from './bugs.ts';
import { DatabaseClock } from './database-clock.ts';
import { Delivery } from './delivery.ts';
import { Deployment } from './deployment.ts';
import { Dice } from './dice.ts';
import { Faults } from './faults.ts';
import { strike } from './incidents.ts';
import { Models } from './models.ts';
import { Process } from './process.ts';
import { Producers } from './producer.ts';
import { Pauses } from './rate-limits.ts';
import { NEWER } from './releases.ts';
import { type Owner, Scheduler } from './scheduler.ts';
import { type Script, writeScripts } from './script.ts';
import { settle } from './settling.ts';
import type { Surroundings } from './surroundings.ts';
import { toolsOf } from './tools.ts';
import { Trace } from './trace.ts';
import { type Server, shown, Wire } from './wire.ts';
import { Witness } from './witness.ts';

export interface WorldOptions {
  readonly seed: number;
  /** Planted in every process. */
  readonly bug?: Bug;
  readonly keepTrace?: boolean;
}

const EPOCH_MS = Date.UTC(2030, 0, 1);
const TENANTS = 2;
/** Sessions that somebody follows live. */
const SHARE_WATCHED = 0.3;
/** Sessions whose requests carry every item until it is evicted. */
const SHARE_EVICTING = 0.4;
const WATCHED_MS = 60_000;
const OPENED_WITHIN_MS = 100;
const FAULTS_UNTIL_MS = 15_000;
/** Times at which what is stored is looked at while it changes. */
const LOOKS = 2;
/** Steps after which a world is taken to go round in circles. */
const MAX_STEPS = 400_000;

/** What is published goes nowhere: nothing durable depends on it. */
const SILENT_BUS: Bus = {
  publish: () => Promise.resolve(),
  watch: () => Promise.resolve(() => Promise.resolve()),
  drop: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

export class World implements Surroundings {
  readonly epochMs = EPOCH_MS;
  readonly bus = SILENT_BUS;
  readonly scheduler = new Scheduler();
  readonly witness = new Witness();
  readonly databaseClock = new DatabaseClock(this.scheduler, EPOCH_MS);
  readonly trace: Trace;
  readonly faults: Faults;
  readonly scripts: readonly Script[];
  readonly queue: MemoryQueue = createMemoryQueue();
  readonly database: MemoryDatabase;
  readonly delivery: Delivery;
  readonly deployment: Deployment;
  /** What was wrong with what is stored, whenever somebody looked. */
  readonly inspected: string[] = [];
  readonly #options: WorldOptions;
  readonly #dice: Dice;
  readonly #wire: Wire;
  readonly #models: Models;
  readonly #pauses: Pauses;
  readonly #flights: MemoryProbeFlights;
  readonly #awayUntilMs: Record<Server, number> = { database: 0, queue: 0 };
  #ids = 0;

  constructor(options: WorldOptions) {
    this.#options = options;
    const { scheduler, witness, databaseClock, queue } = this;
    const dice = (stream: string) => new Dice(options.seed, stream);
    this.#dice = dice('world');
    this.trace = new Trace(options.keepTrace === true);
    this.scripts = writeScripts(dice('scripts'));
    const faults = new Faults(dice('faults'), FAULTS_UNTIL_MS);
    this.faults = faults;
    const notify = (channel: string, payload: string) => this.deployment.notify(channel, payload);
    const nowMs = () => databaseClock.nowMs();
    this.database = createMemoryDatabase({ nowMs, onNotify: notify });
    this.#pauses = new Pauses(nowMs, (key) => notify(LIMITS_CHANNEL, key));
    this.#flights = new MemoryProbeFlights(nowMs, (flight) => notify(PROBES_CHANNEL, flight));
    const away = (server: Server) => this.#awayUntilMs[server] > scheduler.nowMs;
    const wire = new Wire({
      scheduler,
      faults,
      away,
      dice: dice('wire'),
      crash: (owner) => this.deployment.crash(owner),
      saw: (owner, call, end) => {
        witness.saw(owner, call, end, scheduler.nowMs, nowMs());
        this.note(owner.name, shown(call, end));
      },
    });
    this.#wire = wire;
    const { note, trace } = this;
    const common = { scheduler, faults, witness, wire, note };
    this.delivery = new Delivery({ ...common, queue, dice: dice('delivery'), away: () => away('queue') });
    const { delivery } = this;
    this.deployment = new Deployment({ ...common, trace, delivery, dice: dice('deployment'), around: this });
    const scripts = new Map(this.scripts.map((script) => [script.name, script]));
    this.#models = new Models({ ...common, scripts, dice: dice('models') });
  }

  /** Everything that happens, until nothing is left to happen or time is up. True when it came to rest. */
  async run(): Promise<boolean> {
    const { scheduler, witness, newId, note, living } = this;
    const sessions = await this.#openSessions();
    const dice = new Dice(this.#options.seed, 'producers');
    const producers = new Producers({ scheduler, witness, dice, sessions, living, newId, note });
    this.faults.begin();
    this.deployment.start();
    producers.start(this.scripts);
    for (const incident of this.faults.incidents)
      scheduler.after(incident.atMs, null, () => strike(this, incident));
    for (let look = 0; look < LOOKS; look += 1)
      scheduler.after(this.#dice.between(0, FAULTS_UNTIL_MS), null, () => this.#inspect(sessions));
    await scheduler.run(FAULTS_UNTIL_MS, () => this.isEndless());
    this.#mend();
    const settled = await settle(this, producers);
    scheduler.after(0, null, () => this.#inspect(sessions));
    await scheduler.run(scheduler.nowMs);
    return settled;
  }

  isEndless(): boolean {
    return this.scheduler.steps > MAX_STEPS;
  }

  goAway(server: Server, untilMs: number): void {
    const { scheduler, witness, delivery } = this;
    this.#awayUntilMs[server] = untilMs;
    witness.trouble(null, `${server} away`, scheduler.nowMs, untilMs);
    scheduler.after(untilMs - scheduler.nowMs, null, () => delivery.look());
  }

  readonly note = (who: string, what: string) => this.trace.note(this.scheduler.nowMs, who, what);
  readonly living = () => this.deployment.living();
  readonly random = () => this.#dice.next();
  readonly newId = () => id('100', ++this.#ids);
  readonly leg = (name: string) => this.#models.leg(name);
  readonly storeOf = (owner: Owner) => this.#reach(owner, this.#store());
  readonly upkeepOf = (owner: Owner) => this.#reach(owner, this.database.upkeep());
  readonly profilesOf = (owner: Owner) => this.#reach(owner, this.database.profiles());
  readonly flightsOf = (owner: Owner) => this.#reach(owner, this.#flights);
  readonly rateLimitsOf = (owner: Owner) => this.#reach(owner, this.#pauses);
  readonly queueOf = (owner: Owner) => this.delivery.clientOf(owner);
  readonly providerOf = (owner: Owner) => this.#models.reachedBy(owner);
  readonly toolsOf = (owner: Owner) => toolsOf(owner, { ...this, dice: this.#dice });

  readonly stepDatabaseClock = (byMs: number): void => {
    const { scheduler, witness, databaseClock } = this;
    databaseClock.step(byMs);
    witness.trouble(null, 'database clock steps', scheduler.nowMs, scheduler.nowMs);
  };

  failed(owner: Owner, error: unknown): void {
    this.witness.errors.push({ process: owner.name, error });
    this.note(owner.name, `caught ${error instanceof Error ? error.message : String(error)}`);
  }

  #reach<T extends object>(owner: Owner, target: T): T {
    return this.#wire.to(owner, 'database', target);
  }

  #store() {
    const { bug, seed } = this.#options;
    const store = this.database.store();
    return bug === undefined ? store : bug(store, new Dice(seed, 'bug'));
  }

  async #openSessions(): Promise<readonly SessionRef[]> {
    const { engine } = new Process('P0', [], NEWER, this);
    const legs = new Map(this.scripts.map(({ session, leg }) => [session, leg]));
    const sessions = Array.from({ length: Math.max(...legs.keys()) + 1 }, (_, index) => {
      const ref = { tenant: id('000', 1 + (index % TENANTS)), session: id('200', index + 1) };
      const leg = legs.get(index) ?? 'wide';
      const config = {
        leg,
        policy: { name: this.#dice.chance(SHARE_EVICTING) ? 'evict' : 'plan', options: {} },
        tools: null,
        system: '',
        metadata: {},
      } as const;
      this.trace.name(ref.session, `S${index + 1}`);
      void createSession(engine, ref, id('300', index + 1), config);
      return ref;
    });
    await this.scheduler.run(OPENED_WITHIN_MS);
    for (const ref of sessions) if (this.#dice.chance(SHARE_WATCHED)) this.database.watch(ref, WATCHED_MS);
    return sessions;
  }

  /** The laws of what is stored hold at any moment: nothing else happens while these are asked. */
  #inspect(sessions: readonly SessionRef[]): void {
    const store = this.database.store();
    for (const ref of sessions) {
      const found = verifySession({ store, registry: NEWER }, ref).then((verdict) => verdict?.broken ?? null);
      void found
        .catch((error: unknown) => String(error))
        .then((broken) => {
          if (broken !== null) this.inspected.push(`at ${Math.round(this.scheduler.nowMs)} ms, ${broken}`);
        });
    }
  }

  /** What is away comes back, and what sleeps wakes. A stepped clock stays where it is. */
  #mend(): void {
    this.note('!', 'no more faults');
    this.faults.end();
    this.#awayUntilMs.database = 0;
    this.#awayUntilMs.queue = 0;
    this.deployment.wakeAll();
    this.deployment.upgrade();
  }
}

function id(group: string, count: number): string {
  return `00000000-0000-7000-8${group}-${count.toString(16).padStart(12, '0')}`;
}
