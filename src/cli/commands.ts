/** Every command by its name. A command's own file is loaded only when it runs. */
import type { Command } from './command.ts';

interface Entry {
  readonly name: string;
  readonly summary: string;
  readonly load: () => Promise<{ readonly command: Command }>;
}

const turn = () => import('./commands/turn.ts');
const session = () => import('./commands/session.ts');
const context = () => import('./commands/session-context.ts');
const checkpoint = () => import('./commands/session-checkpoint.ts');
const heads = () => import('./commands/session-heads.ts');
const lineage = () => import('./commands/session-lineage.ts');
const transcript = () => import('./commands/session-transcript.ts');
const capacity = () => import('./commands/capacity.ts');
const keys = () => import('./commands/keys.ts');

export const COMMANDS: readonly Entry[] = [
  entry('demo', 'Run a session on the files of this folder', () => import('./commands/demo.ts')),
  entry('up', 'Run everything in this process', () => import('./commands/up.ts')),
  entry('migrate', "Bring the database to this version's schema", () => import('./commands/migrate.ts')),
  entry('api', 'Serve the HTTP API', () => import('./commands/api.ts')),
  entry('worker', 'Run worker pools', () => import('./commands/worker.ts')),
  entry('chat', 'Talk in the terminal', () => import('./commands/chat.ts')),
  entry('turn enqueue', 'Enqueue a turn', async () => ({ command: (await turn()).enqueue })),
  entry('turn show', 'Show a turn', async () => ({ command: (await turn()).show })),
  entry('turn watch', 'Follow a turn until it ends', async () => ({ command: (await turn()).watch })),
  entry('turn cancel', 'Cancel a turn', async () => ({ command: (await turn()).cancel })),
  entry('turn replay', "Run a turn's events again and compare", async () => ({
    command: (await turn()).replay,
  })),
  entry('turn why', 'Say what a turn waits for', async () => ({ command: (await turn()).why })),
  entry('turn stuck', 'List turns that nothing moves', async () => ({ command: (await turn()).stuck })),
  entry('turn retry', 'Set a parked or stuck turn going', async () => ({ command: (await turn()).retry })),
  entry('session create', 'Create a session', async () => ({ command: (await session()).create })),
  entry('session show', 'Show a session', async () => ({ command: (await session()).show })),
  entry('session plan', 'Plan the next turn without sending it', async () => ({
    command: (await context()).plan,
  })),
  entry('session context', 'Show what the last request was made of', async () => ({
    command: (await context()).context,
  })),
  entry('session recall', 'Read back what a session recorded', async () => ({
    command: (await context()).recall,
  })),
  entry('session compact', 'Begin the summary the next plan wants', async () => ({
    command: (await context()).compact,
  })),
  entry('session heads', 'List the heads of a session', async () => ({ command: (await heads()).heads })),
  entry('session checkout', 'Go back to an earlier turn, or to another head', async () => ({
    command: (await heads()).checkout,
  })),
  entry('session fork', 'Go on from a session in a new one', async () => ({
    command: (await lineage()).fork,
  })),
  entry('session clear', 'Begin a session anew', async () => ({ command: (await lineage()).clear })),
  entry('session export', 'Write a session to a file', async () => ({
    command: (await checkpoint()).exportSession,
  })),
  entry('session import', 'Take in a session that was exported', async () => ({
    command: (await checkpoint()).importSession,
  })),
  entry('session transcript', 'List, read and search what a session recorded', async () => ({
    command: (await transcript()).transcript,
  })),
  entry('session evict', 'Take items out of the requests of a session', async () => ({
    command: (await transcript()).evict,
  })),
  entry('session verify', "Check a session's records", async () => ({ command: (await session()).verify })),
  entry('session rebuild', 'Make the projections of a session anew', async () => ({
    command: (await session()).rebuild,
  })),
  entry('probe', 'Measure a model', async () => ({ command: (await capacity()).probe })),
  entry('profile', 'Show what a model was measured to use', async () => ({
    command: (await capacity()).profile,
  })),
  entry('usage', 'Show tokens, caches and cost', () => import('./commands/usage.ts')),
  entry('keys create', 'Create an API key', async () => ({ command: (await keys()).create })),
  entry('keys list', 'List API keys', async () => ({ command: (await keys()).list })),
  entry('keys revoke', 'Revoke an API key', async () => ({ command: (await keys()).revoke })),
  entry('sim', 'Serve simulated models', () => import('./commands/sim.ts')),
  entry('doctor', 'Check what a deployment needs', () => import('./commands/doctor.ts')),
];

/** The command a line begins with, and how many of its words name it. */
export function findCommand(words: readonly string[]): { entry: Entry; nameWords: number } | null {
  for (const nameWords of [2, 1]) {
    const name = words.slice(0, nameWords).join(' ');
    const found = words.length < nameWords ? undefined : COMMANDS.find((one) => one.name === name);
    if (found !== undefined) return { entry: found, nameWords };
  }
  return null;
}

export function overview(): string {
  const width = Math.max(...COMMANDS.map((one) => one.name.length));
  return [
    'Durable LLM turns on a job queue.',
    '',
    'Usage: turnwright COMMAND [options]',
    '',
    ...COMMANDS.map((one) => `  ${one.name.padEnd(width)}  ${one.summary}`),
    '',
    'Start with `turnwright demo`. Help on one: `turnwright COMMAND --help`.',
    'Exit codes: 0 done, 1 the work failed, 2 bad usage, 3 a dependency is unreachable.',
  ].join('\n');
}

function entry(name: string, summary: string, load: Entry['load']): Entry {
  return { name, summary, load };
}
