/** A peer under measurement: tells what it is, then runs the load it is asked for, request by request. */
import { readFileSync } from 'node:fs';
import { closedLoop } from '../closed-loop.ts';
import type { FromPeer, PeerLoad } from '../peer-messages.ts';

const MICROSECONDS_PER_MS = 1_000;

export interface Peer {
  readonly packages: readonly string[];
  readonly settings: string;
  /** One standard turn of a session; rejects unless its answer is whole. */
  turn(session: string): Promise<void>;
  close(): Promise<void>;
}

export function servePeer({ packages, settings, turn, close }: Peer): void {
  const tell = (message: FromPeer): void => void process.send?.(message);
  process.on('message', (load: PeerLoad) => {
    void run(load, turn).then(tell);
  });
  process.once('disconnect', () => void close().finally(() => process.exit()));
  tell({ type: 'ready', versions: packages.map((name) => `${name} ${versionOf(name)}`), settings });
}

async function run({ sessions, turns }: PeerLoad, turn: Peer['turn']): Promise<FromPeer> {
  const before = process.cpuUsage();
  const loop = await closedLoop(sessions, turns, async (session) => {
    const startedMs = performance.now();
    await turn(session);
    return performance.now() - startedMs;
  });
  const { user, system } = process.cpuUsage(before);
  return { type: 'ran', loop, cpuMs: (user + system) / MICROSECONDS_PER_MS };
}

function versionOf(name: string): string {
  const path = new URL(`./node_modules/${name}/package.json`, import.meta.url);
  return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version;
}
