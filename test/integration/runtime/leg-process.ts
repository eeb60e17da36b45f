/** Worker processes of a stack with legs and settings of their own, over a simulator of their own. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../../../src/app/config.ts';
import { createLogger } from '../../../src/app/logger.ts';
import { openServices, type Services } from '../../../src/app/services.ts';
import { startWorkers, type WorkerHost } from '../../../src/app/worker-host.ts';
import type { CapacityProfile } from '../../../src/context/capacity/profile.ts';
import type { SessionRef } from '../../../src/db/contract.ts';
import type { BodyOf, RecordKind } from '../../../src/ledger/kinds.ts';
import type { Leg } from '../../../src/providers/contract.ts';
import { acceptTurn } from '../../../src/runtime/accept.ts';
import type { CostBudget } from '../../../src/runtime/budgets.ts';
import { modelKey } from '../../../src/runtime/profiles.ts';
import { createSession, type SessionConfig } from '../../../src/runtime/sessions.ts';
import { type SimModel, type Simulator, startSimulator } from '../../../src/sim/index.ts';
import { until } from '../../support/await.ts';
import { openTestStack, type TestStack } from '../../support/stack.ts';
import type { StackOptions } from '../../support/stack-contract.ts';

const CALL_TIMEOUT_MS = 60_000;

export interface LegProcess {
  readonly services: Services;
  stop(): Promise<void>;
}

export interface CallLine {
  readonly n: number;
  readonly model: string;
  readonly state: 'open' | 'ended';
  readonly outcome: string | null;
}

export class LegWorld {
  readonly stack: TestStack;
  readonly #logs: string[] = [];
  readonly #processes: LegProcess[] = [];
  readonly #sims: Simulator[] = [];

  private constructor(stack: TestStack) {
    this.stack = stack;
  }

  static async open(options: Partial<StackOptions> = {}): Promise<LegWorld> {
    return new LegWorld(await openTestStack({ backend: 'postgres', ...options }));
  }

  async sim(models: readonly SimModel[]): Promise<Simulator> {
    const callLog = join(this.stack.root, `calls-${this.#logs.length}.jsonl`);
    this.#logs.push(callLog);
    const sim = await startSimulator({ seed: 7, models, callLog });
    this.#sims.push(sim);
    return sim;
  }

  /** Of the newest simulator: a line as a call arrives, another as it ends. */
  lines(): readonly CallLine[] {
    const text = readFileSync(this.#logs.at(-1) ?? '', 'utf8');
    return text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as CallLine]));
  }

  async process(legs: readonly Leg[], change: Partial<Config> = {}): Promise<LegProcess> {
    const { stack } = this;
    const { config: base } = stack.producer;
    const probe = { ...base.probe, local: 'full' } as const;
    const config = { ...base, probe, databaseUrl: stack.databaseUrl, legs, ...change };
    const services = openServices(config, createLogger({ level: config.logLevel, secrets: [] }));
    const host: WorkerHost = await startWorkers(services);
    let stopped: Promise<void> | null = null;
    const process = {
      services,
      stop: () => {
        stopped ??= host.drain(0).then(() => services.close());
        return stopped;
      },
    };
    this.#processes.push(process);
    return process;
  }

  async session(leg: string, change: Partial<SessionConfig> = {}): Promise<SessionRef> {
    const { producer, tenant } = this.stack;
    const ref = { tenant, session: producer.newId() };
    await createSession(producer.engine, ref, producer.newId(), {
      leg,
      policy: { name: 'plan', options: {} },
      tools: [],
      system: '',
      metadata: {},
      ...change,
    });
    return ref;
  }

  async ask(
    ref: SessionRef,
    text: string,
    { budget, escalate = false }: { budget?: CostBudget; escalate?: boolean } = {},
  ) {
    const { producer } = this.stack;
    const { turn } = await acceptTurn(producer.engine, ref, {
      turn: producer.newId(),
      input: [{ type: 'text', text }],
      mode: 'enqueue',
      priority: 0,
      idempotencyKey: null,
      ...(budget === undefined ? {} : { budget }),
      limits: { stepBudget: 40, deadlineMs: 600_000, escalate },
    });
    return { turn, ...(await this.stack.ended(ref, turn)) };
  }

  /** Bodies of one kind, in order. */
  async bodies<Kind extends RecordKind>(
    ref: SessionRef,
    kind: Kind,
    turn?: string,
  ): Promise<readonly BodyOf<Kind>[]> {
    const records = await this.stack.records(ref, turn);
    return records.flatMap((record) =>
      record.kind === kind ? [record.data as unknown as BodyOf<Kind>] : [],
    );
  }

  /** The state in which each probe of the database rests or ended, in the order they began. */
  async probes(): Promise<readonly string[]> {
    const rows = await this.stack.sql<{ snapshot: string }>(
      `SELECT snapshot FROM turnwright.actors WHERE machine = 'probe' ORDER BY actor_id`,
    );
    return rows.map(({ snapshot }) => (JSON.parse(snapshot) as { value: string }).value);
  }

  /** Waits until as many probes ended in that state. */
  probesIn(state: string, count = 1): Promise<true> {
    const enough = async () =>
      (await this.probes()).filter((found) => found === state).length >= count || null;
    return until(`${count} probes are ${state}`, enough);
  }

  async profile(leg: Leg): Promise<CapacityProfile | null> {
    const row = await this.stack.producer.profiles.read(modelKey(leg));
    return row === null ? null : (JSON.parse(row.profile) as CapacityProfile);
  }

  /** The minute between two probes passes, for those that wait and for those to come. */
  async passMinute(): Promise<void> {
    await this.stack.sql(`UPDATE turnwright.probe_flights SET began_at = began_at - interval '1 minute'`);
    await this.stack.sql(`UPDATE turnwright.timers SET due_at = now() WHERE timer_id = 'begin'`);
  }

  async close(): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.stop()));
    await Promise.all(this.#sims.map((sim) => sim.close()));
    await this.stack.close();
  }
}

/** Named as its model, on OpenAI's wire of this machine: a local leg. */
export function legTo({ url }: Simulator, model: string, change: Partial<Leg> = {}): Leg {
  return {
    name: model,
    provider: 'compatible',
    model,
    baseUrl: `${url}/v1`,
    maxOutputTokens: 512,
    timeoutMs: CALL_TIMEOUT_MS,
    ...change,
  };
}

/** The same address by another name, which is not known to be this machine. */
export function hosted({ url }: Simulator): string {
  return `${url.replace('127.0.0.1', '0.0.0.0')}/v1`;
}
