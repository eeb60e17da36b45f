/** The command line as a process of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readlink } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url));
const TSX = import.meta.resolve('tsx');

export interface CliOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
}

export interface CliRun {
  readonly exit: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command to its end. */
export async function cli(words: readonly string[], options: CliOptions): Promise<CliRun> {
  const child = start(words, options);
  child.stdin?.end(options.stdin ?? '');
  const [stdout, stderr, [exit]] = await Promise.all([
    textOf(child.stdout),
    textOf(child.stderr),
    once(child, 'close') as Promise<[number | null]>,
  ]);
  return { exit, stdout, stderr };
}

export interface RunningCli {
  readonly pid: number;
  /** The one object it printed when it was ready. */
  readonly ready: Record<string, unknown>;
  /** Sends a signal and waits for the end. */
  stop(signal: NodeJS.Signals): Promise<CliRun>;
  kill(signal: NodeJS.Signals): void;
}

/** Starts a command that serves until stopped, under `--json`, and waits until it says that it is ready. */
export async function serve(words: readonly string[], options: CliOptions): Promise<RunningCli> {
  const child = start([...words, '--json'], options);
  child.stdin?.end();
  const stderr = textOf(child.stderr);
  const ended = once(child, 'close') as Promise<[number | null]>;
  if (child.stdout === null) throw new Error('the process has no standard output');
  const lines: string[] = [];
  const reader = createInterface({ input: child.stdout });
  const first = once(reader, 'line') as Promise<[string]>;
  reader.on('line', (line) => lines.push(line));
  const ready = await Promise.race([first, ended.then(() => null)]);
  if (ready === null)
    throw new Error(`the process ended before it was ready: ${lines.join('\n')} ${await stderr}`);
  return {
    pid: child.pid ?? 0,
    ready: JSON.parse(ready[0]) as Record<string, unknown>,
    kill: (signal) => void child.kill(signal),
    stop: async (signal) => {
      child.kill(signal);
      const [exit] = await ended;
      return { exit, stdout: lines.join('\n'), stderr: await stderr };
    },
  };
}

/** Processes, whoever's, that work inside a folder. Linux only. */
export async function processesIn(folder: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const place = await readlink(`/proc/${pid}/cwd`).catch(() => '');
    if (place.startsWith(folder)) found.push(pid);
  }
  return found;
}

function start(words: readonly string[], { cwd, env = {} }: CliOptions): ChildProcess {
  const { PATH = '', HOME = '', TMPDIR } = process.env;
  return spawn(process.execPath, ['--import', TSX, MAIN, ...words], {
    cwd,
    env: { PATH, HOME, ...(TMPDIR === undefined ? {} : { TMPDIR }), ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
}

async function textOf(stream: NodeJS.ReadableStream | null): Promise<string> {
  let text = '';
  for await (const chunk of stream ?? []) text += String(chunk);
  return text;
}
