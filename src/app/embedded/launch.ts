/**
 * Spawns a server that never outlives the process that started it. A watchdog holds the other end of a pipe
 * to that process and stops the server when the pipe closes, which the system does for every way a process
 * can end, SIGKILL included.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { Socket } from 'node:net';
import type { Account } from './account.ts';
import type { Binaries } from './binaries.ts';
import { type Cluster, clusterArgument, serverEnvironment } from './cluster.ts';

/** Room for every pool of a process, the queue and its listeners. */
const MAX_CONNECTIONS = 200;
const LOG_TAIL_CHARS = 2_000;

/** Waits for a line before it becomes the server: without one, nobody set the watchdog, and it ends. */
const GATE_SCRIPT = 'read -r line || exit 1; exec "$@" </dev/null';

/**
 * A line dismisses the watchdog; the pipe's end makes it stop the server, at worst by force after 10 s. A
 * server that ended but was not collected by its new parent still takes signals, but has no program file.
 */
const WATCHDOG_SCRIPT = `
if read -r line; then exit; fi
kill -INT "$1"
for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
  kill -0 "$1" || exit
  [ ! -d /proc/self ] || [ -e "/proc/$1/exe" ] || exit
  sleep 0.5
done
kill -KILL "$1"
`;

export interface ServerOptions {
  readonly binaries: Binaries;
  readonly account: Account | null;
  readonly cluster: Cluster;
  readonly log: (line: string) => void;
}

export interface Launched {
  readonly pid: number;
  /** When the server and its watchdog are gone. */
  readonly ended: Promise<void>;
  hasEnded(): boolean;
  kill(signal: NodeJS.Signals): void;
  /** The last of what the server said. */
  tail(): string;
  /** Whether the server keeps this process running. A program may end without stopping it first. */
  hold(): void;
  unhold(): void;
}

export async function launch(options: ServerOptions, port: number): Promise<Launched> {
  const { account, cluster, log } = options;
  const argument = await clusterArgument(cluster.dir, account);
  // A session of its own: Ctrl-C in a terminal must reach us, who drain first, and not the server.
  const apart = { detached: true, env: serverEnvironment(), ...account };
  const server = spawn(
    '/bin/sh',
    ['-c', GATE_SCRIPT, 'sh', options.binaries.postgres, '-D', argument, ...settings(port)],
    { ...apart, cwd: cluster.dir, stdio: ['pipe', 'ignore', 'pipe'] },
  );
  const serverEnded = endOf(server);
  if (server.pid === undefined) await serverEnded;
  const pid = server.pid ?? 0;
  const watchdog = spawn('/bin/sh', ['-c', WATCHDOG_SCRIPT, 'sh', String(pid)], {
    ...apart,
    cwd: '/',
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const watchdogEnded = endOf(watchdog);
  let ended = false;
  server.once('exit', () => {
    ended = true;
    watchdog.stdin.end('ended\n');
  });
  for (const { stdin } of [server, watchdog]) stdin.on('error', () => undefined);
  const tail = follow(server.stderr, log);
  server.stdin.end('start\n');
  return {
    pid,
    ended: Promise.all([serverEnded, watchdogEnded]).then(() => undefined),
    hasEnded: () => ended,
    kill: (signal) => server.kill(signal),
    tail,
    hold: () => {
      server.ref();
      watchdog.ref();
    },
    unhold: () => {
      unreference(server);
      unreference(watchdog);
    },
  };
}

function endOf(child: ChildProcess): Promise<void> {
  const ended = new Promise<void>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', () => resolve());
  });
  ended.catch(() => undefined);
  return ended;
}

function follow(stream: NodeJS.ReadableStream, log: (line: string) => void): () => string {
  let tail = '';
  stream.on('data', (chunk: Buffer) => {
    const text = chunk.toString('utf8');
    tail = (tail + text).slice(-LOG_TAIL_CHARS);
    for (const line of text.split('\n')) if (line !== '') log(line);
  });
  return () => tail.trim();
}

function unreference(child: ChildProcess): void {
  child.unref();
  for (const stream of child.stdio) if (stream instanceof Socket) stream.unref();
}

function settings(port: number): string[] {
  const values = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    max_connections: String(MAX_CONNECTIONS),
    fsync: 'on',
    synchronous_commit: 'on',
    full_page_writes: 'on',
    // A failed statement may quote a row, and rows hold what users wrote: only the server's own news is logged.
    log_min_messages: 'log',
    log_checkpoints: 'off',
    timezone: 'UTC',
    jit: 'off',
  };
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}
