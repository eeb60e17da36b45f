/** One running PostgreSQL server: starting, ready, stopping, ended; and the end of those left behind. */
import { readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { TurnwrightError } from '../../ledger/errors.ts';
import { CLUSTER_USER } from './cluster.ts';
import { type Launched, launch, type ServerOptions } from './launch.ts';
import { clusterProcesses, isRunning } from './processes.ts';

export interface Server {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/** Recovery after a crash replays at most one checkpoint's log. */
const START_LIMIT_MS = 120_000;
const POLL_MS = 20;
/** A fast shutdown writes one checkpoint. */
const FAST_STOP_MS = 30_000;
const FORCED_STOP_MS = 5_000;
/** Between finding a free port and taking it, another program may take it. */
const PORT_TRIES = 5;

const STOP_SIGNALS = [
  { signal: 'SIGINT', limitMs: FAST_STOP_MS },
  { signal: 'SIGQUIT', limitMs: FORCED_STOP_MS },
  { signal: 'SIGKILL', limitMs: FORCED_STOP_MS },
] as const;

export async function startServer(options: ServerOptions): Promise<Server> {
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    const launched = await launch(options, port);
    if (await becomesReady(launched, options.cluster.dir)) {
      launched.unhold();
      return {
        url: `postgres://${CLUSTER_USER}:${options.cluster.password}@127.0.0.1:${port}/postgres`,
        pid: launched.pid,
        stop: () => stopServer(launched),
      };
    }
    await stopServer(launched);
    const said = launched.tail();
    if (attempt < PORT_TRIES && said.includes('Address already in use')) continue;
    throw new TurnwrightError(
      'database_unreachable',
      `PostgreSQL did not start in ${options.cluster.dir}; it said "${said}". Check the folder's space and permissions, or set DATABASE_URL.`,
    );
  }
}

/** Ends servers that a killed process left behind in this cluster, and clears what would refuse a start. */
export async function stopOrphans(clusterDir: string): Promise<void> {
  const named = (await serverState(clusterDir)).pid;
  for (const { signal, limitMs } of STOP_SIGNALS) {
    const found = await clusterProcesses(clusterDir);
    if (found.length === 0) break;
    for (const pid of found.includes(named) ? [named] : found) send(pid, signal);
    await until(async () => (await clusterProcesses(clusterDir)).length === 0, limitMs);
  }
  const left = await clusterProcesses(clusterDir);
  if (left.length > 0) {
    throw new TurnwrightError(
      'data_folder_in_use',
      `The database in ${clusterDir} is still served by process ${left.join(', ')}, which does not stop. End it, then start again.`,
      { details: { ownerPid: left[0] } },
    );
  }
  // PostgreSQL refuses a lock whose number lives, even when that is an unrelated process by now.
  if (named > 0 && isRunning(named)) await rm(lockPathOf(clusterDir), { force: true });
}

/** A lock file of an earlier run names another process, so the number is part of the question. */
async function becomesReady(launched: Launched, clusterDir: string): Promise<boolean> {
  const isReady = async (): Promise<boolean> => {
    const state = await serverState(clusterDir);
    return state.pid === launched.pid && state.status === 'ready';
  };
  await until(async () => launched.hasEnded() || (await isReady()), START_LIMIT_MS);
  return !launched.hasEnded() && (await isReady());
}

/** The server keeps its own number in line 1 and its state in line 8 of its lock file. */
async function serverState(clusterDir: string): Promise<{ pid: number; status: string }> {
  const lines = (await readFile(lockPathOf(clusterDir), 'utf8').catch(() => '')).split('\n');
  const pid = Number(lines[0]);
  return { pid: Number.isSafeInteger(pid) ? pid : 0, status: lines[7]?.trim() ?? '' };
}

function lockPathOf(clusterDir: string): string {
  return join(clusterDir, 'postmaster.pid');
}

async function stopServer(launched: Launched): Promise<void> {
  launched.hold();
  for (const { signal, limitMs } of STOP_SIGNALS) {
    if (launched.hasEnded()) break;
    launched.kill(signal);
    await until(() => launched.hasEnded(), limitMs);
  }
  await launched.ended;
}

async function until(condition: () => boolean | Promise<boolean>, limitMs: number): Promise<void> {
  const deadlineMs = performance.now() + limitMs;
  while (!(await condition()) && performance.now() < deadlineMs) await delay(POLL_MS);
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It ended between being seen and being signalled.
  }
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      const port = typeof address === 'object' && address !== null ? address.port : 0;
      server.close(() => resolve(port));
    });
  });
}
