/** The demo from its first line to its last: choose what to ask and whom, show it, tidy up. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Policy } from '../../ledger/kinds.ts';
import type { Invocation } from '../command.ts';
import { EXIT, type ExitCode, Interrupted, UsageError } from '../exit.ts';
import { setUp } from '../setup.ts';
import { styleFor } from '../style.ts';
import { demoBackend } from './backend.ts';
import { readFolder } from './folder.ts';
import { demoLeg } from './legs.ts';
import { Progress } from './progress.ts';
import { chooseQuestions } from './questions.ts';
import { reportJson, reportText } from './report.ts';
import type { Demo, Script } from './stage.ts';
import { readTurnsFile } from './turns-file.ts';

/** The tool that reads back what left the requests. */
const READS_BACK: Readonly<Record<Policy, string>> = { plan: 'recall', evict: 'transcript' };
/** Asked about when the current folder holds nothing readable. */
const OWN_FOLDER = fileURLToPath(new URL('../../..', import.meta.url));

export async function runDemo(invocation: Invocation, policy: Policy): Promise<ExitCode> {
  const { context, output, text } = invocation;
  const startedMs = performance.now();
  const { config } = await setUp(context);
  const script = await scriptOf(text('turns'), policy, config.root, context.cwd);
  const backend = await demoBackend(text('backend'), config);
  const leg = await demoLeg(text('provider') ?? 'sim', text('model'), context.env);
  const folder = await mkdtemp(join(tmpdir(), 'turnwright-demo-'));
  const progress = new Progress(output, styleFor(context.stderr, context.env));
  try {
    return await perform({ invocation, policy, startedMs, folder, leg, backend, script, progress });
  } catch (error) {
    if (context.stopped.aborted) throw new Interrupted();
    throw error;
  } finally {
    await leg.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function scriptOf(
  file: string | undefined,
  policy: Policy,
  root: string,
  cwd: string,
): Promise<Script> {
  if (file !== undefined) return { kind: 'given', root, inputs: await readTurnsFile(file, cwd) };
  for (const candidate of [root, OWN_FOLDER]) {
    const questions = chooseQuestions(await readFolder(candidate), READS_BACK[policy]);
    if (questions !== null) {
      return { kind: 'own', root: candidate, borrowed: candidate !== root, questions };
    }
  }
  throw new UsageError(
    `${root} holds no text file to ask about. Change into another folder, or give --turns FILE.`,
  );
}

async function perform(demo: Demo): Promise<ExitCode> {
  const { context, output } = demo.invocation;
  const banner = bannerOf(demo);
  say(demo, banner);
  // The whole system is loaded here, when the first line can be read already.
  const { runOnStack } = await import('./stage.ts');
  const report = { ...(await runOnStack(demo)), totalMs: performance.now() - demo.startedMs };
  const { stdout, env } = context;
  output.result(reportJson(report), () => reportText(report, styleFor(stdout, env), stdout.columns));
  say(demo, demo.leg.simulated === null ? 'Next: `turnwright up`, then `turnwright chat`.' : banner);
  return report.turns.every((turn) => turn.outcome === 'completed') ? EXIT.done : EXIT.failed;
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
