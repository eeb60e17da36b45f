/** The demo's system: started in a folder of its own, asked, looked at, and stopped. */
import { join } from 'node:path';
import { startApi } from '../../api/app.ts';
import { type Stack, startStack } from '../../app/stack.ts';
import { Turnwright } from '../../client/index.ts';
import { revokeKey } from '../../db/keys.ts';
import type { Policy } from '../../ledger/kinds.ts';
import type { Invocation } from '../command.ts';
import { followProbe } from '../follow-probe.ts';
import { type Setup, setUp } from '../setup.ts';
import { withLeg } from '../simulation.ts';
import { DEFAULT_TENANT, issueKey, withPool } from '../tenancy.ts';
import type { DemoBackend } from './backend.ts';
import { askAll, askUntilOverflown, type Conversation, type TurnReport } from './conversation.ts';
import { duration } from './figures.ts';
import { sessionFacts } from './ledger.ts';
import type { DemoLeg } from './legs.ts';
import { noteTool } from './notes.ts';
import { poolReports } from './pools.ts';
import type { Progress } from './progress.ts';
import type { Questions } from './questions.ts';
import type { DemoReport } from './report.ts';

/** What runs at the end is over, so nothing is worth waiting for. */
const DRAIN_MS = 2_000;

export interface Demo {
  readonly invocation: Invocation;
  readonly policy: Policy;
  readonly startedMs: number;
  /** Temporary; its owner removes it. */
  readonly folder: string;
  readonly leg: DemoLeg;
  readonly backend: DemoBackend;
  readonly script: Script;
  readonly progress: Progress;
}

/** What is asked, about the files below `root`. */
export type Script =
  | {
      readonly kind: 'own';
      readonly root: string;
      /** The files are the program's own. */
      readonly borrowed: boolean;
      readonly questions: Questions;
    }
  | { readonly kind: 'given'; readonly root: string; readonly inputs: readonly string[] };

export async function runOnStack(demo: Demo): Promise<Omit<DemoReport, 'totalMs'>> {
  const stack = await startStack({
    ...(await stackSetup(demo)),
    workers: 'all',
    api: { host: '127.0.0.1', port: 0, serve: startApi },
    migrate: true,
  });
  try {
    demo.invocation.context.stopped.throwIfAborted();
    introduce(demo, stack);
    const report = await converse(demo, stack);
    if (demo.backend.ours) await emptyQueues(stack);
    return report;
  } finally {
    await stack.stop();
  }
}

function stackSetup({ invocation, folder, leg, backend, script }: Demo): Promise<Setup> {
  const { context } = invocation;
  const quiet = context.env.TURNWRIGHT_LOG_LEVEL === undefined;
  return setUp(context, (loaded) => {
    const { redisUrl: _, ...config } = withLeg(loaded, leg.leg);
    return {
      ...config,
      ...(backend.redisUrl === undefined ? {} : { redisUrl: backend.redisUrl }),
      dataDir: join(folder, 'data'),
      root: script.root,
      tools: script.kind === 'own' ? [noteTool(folder)] : config.tools,
      intent: { ...config.intent, escalate: true },
      limits: { ...config.limits, drainMs: DRAIN_MS },
      logLevel: quiet ? 'fatal' : config.logLevel,
    };
  });
}

function introduce({ progress, startedMs, backend, script }: Demo, stack: Stack): void {
  const database = stack.embedded ? 'an embedded PostgreSQL' : 'the PostgreSQL of DATABASE_URL';
  const readyIn = duration(performance.now() - startedMs);
  progress.note(`stack  ${database} and BullMQ on ${backend.kind}, ready in ${readyIn}`);
  const instead =
    script.kind === 'own' && script.borrowed ? ', since the current folder holds no text to ask about' : '';
  progress.note(`files  ${script.root}${instead}`);
}

async function converse(demo: Demo, stack: Stack): Promise<Omit<DemoReport, 'totalMs'>> {
  const { services, apiUrl } = stack;
  const { databaseUrl, store } = services;
  const signal = demo.invocation.context.stopped;
  const { key, keyId } = await issueKey(databaseUrl, 'demo');
  try {
    const client = new Turnwright({ url: apiUrl ?? '', key });
    await measure(demo, client);
    const session = await client.sessions.create({ policy: demo.policy, metadata: { demo: true } }, signal);
    const ref = { tenant: DEFAULT_TENANT.tenant, session: session.id };
    const conversation: Conversation = { client, services, ref, progress: demo.progress, signal };
    const turns = await ask(demo, conversation);
    const pools = await poolReports(services, await sessionFacts(store, ref), turns);
    return {
      simulated: demo.leg.simulated !== null,
      provider: demo.leg.simulated === null ? demo.leg.leg.provider : 'sim',
      model: demo.leg.leg.model,
      backend: demo.backend.kind,
      session: session.id,
      turns,
      pools,
    };
  } finally {
    // A key of an embedded database goes with it; a given database must not keep one that nobody holds.
    if (!stack.embedded) {
      await withPool(databaseUrl, 'turnwright_app', (pool) => revokeKey(pool, DEFAULT_TENANT.tenant, keyId));
    }
  }
}

/** Turns that follow each other at once would interrupt the probe of a model again and again; a simulated one is measured before. */
async function measure({ leg, progress, invocation }: Demo, client: Turnwright): Promise<void> {
  if (leg.simulated === null) return;
  const signal = invocation.context.stopped;
  const before = await client.profile(leg.leg.name, {}, signal);
  const { probe } = await client.probe(leg.leg.name, {}, signal);
  if (probe === null) return;
  progress.note('probe  how large a prompt the model still follows:');
  await followProbe(client, probe, {
    before,
    signal,
    tell: (line) => progress.note(`       ${line.trim()}`),
  });
}

/** A real model's larger window would take many paid turns to fill: only the simulator is asked until it overflows. */
function ask({ script, leg }: Demo, conversation: Conversation): Promise<readonly TurnReport[]> {
  if (script.kind === 'given') return askAll(conversation, script.inputs);
  return leg.simulated === null
    ? askAll(conversation, script.questions.first)
    : askUntilOverflown(conversation, script.questions);
}

async function emptyQueues({ services }: Stack): Promise<void> {
  for (const queue of services.queue.queues().values()) await queue.obliterate({ force: true });
}
