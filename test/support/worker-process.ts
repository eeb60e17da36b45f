/** Worker processes of their own, started from source, to be killed. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { TestSettings } from './stack-config.ts';

const WORKER_SCRIPT = fileURLToPath(new URL('./worker-owner.ts', import.meta.url));
/** Enough of what a process said last to see why it ended. */
const COMPLAINT_CHARS = 20_000;

export interface WorkerSettings extends Omit<TestSettings, 'tools'> {
  /** One line a run of the `once` tool, appended by the tool itself. */
  readonly effectsFile: string;
  /** How long that tool takes. */
  readonly ringMs: number;
  readonly drainMs: number;
}

export interface WorkerProcess {
  readonly pid: number;
  /** Resolves when the process has ended; with its exit code, or null where a signal ended it. */
  kill(signal: 'SIGKILL' | 'SIGTERM'): Promise<number | null>;
}

export interface OwnProcess extends WorkerProcess {
  /** Settles when the process has ended, however that came. */
  readonly ended: Promise<ProcessEnd>;
  /** Keeps its memory and connections and does nothing, until `thaw`. */
  freeze(): void;
  thaw(): void;
}

export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Resolves when the worker takes jobs. */
export function spawnWorker(settings: WorkerSettings): Promise<WorkerProcess> {
  return spawnOwner(WORKER_SCRIPT, settings);
}

/**
 * Starts a script that takes its settings as one JSON argument and says a line once it works. What it says on
 * standard error goes to `onComplaint`.
 */
export async function spawnOwner(
  script: string,
  settings: object,
  onComplaint: (text: string) => void = () => {},
): Promise<OwnProcess> {
  const child = spawn(process.execPath, ['--import', 'tsx', script, JSON.stringify(settings)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let complaint = '';
  child.stderr.on('data', (chunk: Buffer) => {
    const text = chunk.toString('utf8');
    complaint = (complaint + text).slice(-COMPLAINT_CHARS);
    onComplaint(text);
  });
  const onExit = () => child.kill('SIGKILL');
  process.once('exit', onExit);
  const ended = once(child, 'close').then((): ProcessEnd => {
    process.off('exit', onExit);
    return { code: child.exitCode, signal: child.signalCode };
  });
  const lines = createInterface({ input: child.stdout });
  const first = await Promise.race([once(lines, 'line'), ended.then(() => null)]);
  if (first === null) throw new Error(`the process ended before it was ready: ${complaint}`);
  return {
    pid: child.pid ?? 0,
    ended,
    kill: (signal) => kill(child, ended, signal),
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
  };
}

async function kill(
  child: ChildProcess,
  ended: Promise<unknown>,
  signal: 'SIGKILL' | 'SIGTERM',
): Promise<number | null> {
  child.kill(signal);
  await ended;
  return child.exitCode;
}
