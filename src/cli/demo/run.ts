/** The demo from its first line to its last: set up, ask, tell, tear down. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startApi } from '../../api/app.ts';
import { type Stack, startStack } from '../../app/stack.ts';
import { Turnwright } from '../../client/index.ts';
import { revokeKey } from '../../db/keys.ts';
import type { Invocation } from '../command.ts';
import { EXIT, type ExitCode, Interrupted, UsageError } from '../exit.ts';
import { type Setup, setUp } from '../setup.ts';
import { withLeg } from '../simulation.ts';
import { type Style, styleFor } from '../style.ts';
import { DEFAULT_TENANT, issueKey, withPool } from '../tenancy.ts';
import { type DemoBackend, demoBackend } from './backend.ts';
import { askAll, askUntilCompacted, type Conversation, type TurnReport } from './conversation.ts';
import { duration } from './figures.ts';
import { readFolder } from './folder.ts';
import { sessionFacts } from './ledger.ts';
import { type DemoLeg, demoLeg } from './legs.ts';
import { noteTool } from './notes.ts';
import { poolReports } from './pools.ts';
import { Progress } from './progress.ts';
import { chooseQuestions, type Questions } from './questions.ts';
import { type DemoReport, reportJson, reportText } from './report.ts';
import { readTurnsFile } from './turns-file.ts';

/** Asked about when the current folder holds nothing readable. */
const OWN_FOLDER = fileURLToPath(new URL('../../..', import.meta.url));
/** What runs at the end is over, so nothing is worth waiting for. */
const DRAIN_MS = 2_000;

interface Demo {
  readonly invocation: Invocation;
  readonly startedMs: number;
  readonly folder: string;
  readonly leg: DemoLeg;
  readonly backend: DemoBackend;
  readonly script: Script;
  readonly style: Style;
  readonly progress: Progress;
}

type Script =
  | { readonly kind: 'own'; readonly root: string; readonly questions: Questions }
  | { readonly kind: 'given'; readonly root: string; readonly inputs: readonly string[] };

export async function runDemo(invocation: Invocation): Promise<ExitCode> {
  const { context, output, text } = invocation;
  const startedMs = performance.now();
  const { config } = await setUp(context);
  const script = await scriptOf(text('turns'), config.root, context.cwd);
  const backend = await demoBackend(text('backend'), config);
  const leg = await demoLeg(text('provider') ?? 'sim', text('model'), context.env);
  const folder = await mkdtemp(join(tmpdir(), 'turnwright-demo-'));
  const style = styleFor(context.stderr, context.env);
  const progress = new Progress(output, style);
  const demo: Demo = { invocation, startedMs, folder, leg, backend, script, style, progress };
  try {
    return await perform(demo);
  } catch (error) {
    if (context.stopped.aborted) throw new Interrupted();
    throw error;
  } finally {
    await leg.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function scriptOf(file: string | undefined, root: string, cwd: string): Promise<Script> {
  if (file !== undefined) return { kind: 'given', root, inputs: await readTurnsFile(file, cwd) };
  for (const candidate of [root, OWN_FOLDER]) {
    const questions = chooseQuestions(await readFolder(candidate));
    if (questions !== null) return { kind: 'own', root: candidate, questions };
  }
  throw new UsageError(
    `${root} holds no text file to ask about. Change into another folder, or give --turns FILE.`,
  );
}

async function perform(demo: Demo): Promise<ExitCode> {
  const { context, output } = demo.invocation;
  const banner = bannerOf(demo);
  say(demo, banner);
  const stack = await startStack({
    ...(await stackConfig(demo)),
    workers: 'all',
    api: { host: '127.0.0.1', port: 0, serve: startApi },
    migrate: true,
  });
  let report: DemoReport;
  try {
    context.stopped.throwIfAborted();
    introduce(demo, stack);
    report = await converse(demo, stack);
    if (demo.backend.ours) await emptyQueues(stack);
  } finally {
    await stack.stop();
  }
  const finished = { ...report, totalMs: performance.now() - demo.startedMs };
  output.result(reportJson(finished), () => reportText(finished, styleFor(context.stdout, context.env)));
  say(demo, demo.leg.simulated === null ? 'Next: `turnwright up`, then `turnwright chat`.' : banner);
  return finished.turns.every((turn) => turn.outcome === 'completed') ? EXIT.done : EXIT.failed;
}

/** For people it frames the result, so it stands beside it; programs get it as a member. */
function say({ invocation: { output } }: Demo, line: string): void {
  if (output.json) output.progress(line);
  else output.say(line);
}

function bannerOf({ leg }: Demo): string {
  return leg.simulated === null
    ? `Turnwright demo with ${leg.leg.model} (${leg.leg.provider}).`
    : `Turnwright demo. The replies are SIMULATED: ${leg.simulated} quotes what its request holds; no language model is behind it.`;
}

async function stackConfig({ invocation, folder, leg, backend, script }: Demo): Promise<Setup> {
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
      intent: { escalate: true },
      limits: { ...config.limits, drainMs: DRAIN_MS },
      logLevel: quiet ? 'fatal' : config.logLevel,
    };
  });
}

function introduce({ progress, startedMs, backend, script }: Demo, stack: Stack): void {
  const database = stack.embedded ? 'an embedded PostgreSQL' : 'the PostgreSQL of DATABASE_URL';
  progress.note(
    `stack  ${database} and BullMQ on ${backend.kind}, ready in ${duration(performance.now() - startedMs)}`,
  );
  progress.note(`files  ${script.root}`);
}

async function converse(demo: Demo, stack: Stack): Promise<DemoReport> {
  const { services, apiUrl } = stack;
  const { databaseUrl, store } = services;
  const signal = demo.invocation.context.stopped;
  const { key, keyId } = await issueKey(databaseUrl, 'demo');
  try {
    const client = new Turnwright({ url: apiUrl ?? '', key });
    const session = await client.sessions.create({ metadata: { demo: true } }, signal);
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
      totalMs: 0,
    };
  } finally {
    // A key of an embedded database goes with it; a given database must not keep one that nobody holds.
    if (!stack.embedded) {
      await withPool(databaseUrl, 'turnwright_app', (pool) => revokeKey(pool, DEFAULT_TENANT.tenant, keyId));
    }
  }
}

/** A real model's larger window would take many paid turns to fill, so only the simulator is asked until it overflows. */
function ask({ script, leg }: Demo, conversation: Conversation): Promise<readonly TurnReport[]> {
  if (script.kind === 'given') return askAll(conversation, script.inputs);
  return leg.simulated === null
    ? askAll(conversation, script.questions.first)
    : askUntilCompacted(conversation, script.questions);
}

async function emptyQueues({ services }: Stack): Promise<void> {
  for (const queue of services.queue.queues().values()) await queue.obliterate({ force: true });
}
