/** Data folders for tests of the embedded server, and processes that own one. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import pg from 'pg';

const OWNER_SCRIPT = fileURLToPath(new URL('./embedded-owner.ts', import.meta.url));

export type OwnerBehaviour = 'wait' | 'end' | 'exit' | 'crash';

export interface OwnerProcess {
  readonly pid: number;
  readonly serverPid: number;
  readonly url: string;
  kill(signal: NodeJS.Signals): void;
  readonly ended: Promise<unknown>;
}

/** A folder that its owner alone may enter, as `mkdtemp` makes it, and a data folder inside that is not made yet. */
export async function temporaryDataDir(): Promise<{ dataDir: string; remove: () => Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'turnwright-embedded-'));
  return {
    dataDir: join(folder, 'data'),
    // A server whose owner was killed writes on until it notices: the folder empties once it is gone.
    remove: () => rm(folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 20 }),
  };
}

export async function startOwner(dataDir: string, behaviour: OwnerBehaviour): Promise<OwnerProcess> {
  const child = spawn(process.execPath, ['--import', 'tsx', OWNER_SCRIPT, dataDir, behaviour], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let complaint = '';
  child.stderr.on('data', (chunk: Buffer) => {
    complaint += chunk.toString('utf8');
  });
  const ended = once(child, 'close');
  const lines = createInterface({ input: child.stdout });
  const first = await Promise.race([once(lines, 'line'), ended.then(() => null)]);
  if (first === null) throw new Error(`the owning process ended before it was ready: ${complaint}`);
  const said = JSON.parse(String(first[0])) as { pid: number; url: string };
  return {
    pid: child.pid ?? 0,
    serverPid: said.pid,
    url: said.url,
    kill: (signal) => void child.kill(signal),
    ended,
  };
}

export async function queryRows(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}
