/** Worker processes of their own, started from source, to be killed. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { TestSettings } from './stack-config.ts';

const WORKER_SCRIPT = fileURLToPath(new URL('./worker-owner.ts', import.meta.url));

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

/** Resolves when the worker takes jobs. */
export async function spawnWorker(settings: WorkerSettings): Promise<WorkerProcess> {
  const child = spawn(process.execPath, ['--import', 'tsx', WORKER_SCRIPT, JSON.stringify(settings)], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let complaint = '';
  child.stderr.on('data', (chunk: Buffer) => {
    complaint += chunk.toString('utf8');
  });
  const onExit = () => child.kill('SIGKILL');
  process.once('exit', onExit);
  const ended = once(child, 'close').then(() => process.off('exit', onExit));
  const lines = createInterface({ input: child.stdout });
  const first = await Promise.race([once(lines, 'line'), ended.then(() => null)]);
  if (first === null) throw new Error(`the worker process ended before it was ready: ${complaint}`);
  return { pid: child.pid ?? 0, kill: (signal) => kill(child, ended, signal) };
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
