/** Runs a peer in a process of its own, with dependencies that only `bench/peers` has. */
import { execFile, fork } from 'node:child_process';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { FromPeer, PeerLoad } from './peer-messages.ts';

const FOLDER = fileURLToPath(new URL('./peers/', import.meta.url));

type Ready = Extract<FromPeer, { readonly type: 'ready' }>;
type Ran = Extract<FromPeer, { readonly type: 'ran' }>;

export interface PeerProcess {
  readonly versions: readonly string[];
  readonly settings: string;
  run(load: PeerLoad): Promise<Ran>;
  stop(): Promise<void>;
}

/** As the folder's lock file says, once; no package's install script runs. */
export async function installPeers(): Promise<void> {
  const [wanted, had] = await Promise.all([
    changedMs(`${FOLDER}package-lock.json`),
    changedMs(`${FOLDER}node_modules/.package-lock.json`),
  ]);
  if (had > wanted) return;
  await promisify(execFile)('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: FOLDER });
}

export async function startPeer(script: string, databaseUrl: string): Promise<PeerProcess> {
  const child = fork(`${FOLDER}${script}`, [databaseUrl], {
    execArgv: ['--import', import.meta.resolve('tsx'), '--no-deprecation'],
    serialization: 'advanced',
    env: { ...process.env, LANGSMITH_TRACING: 'false' },
  });
  const onExit = () => child.kill('SIGKILL');
  process.once('exit', onExit);
  const ended = once(child, 'exit').then(() => process.off('exit', onExit));
  const answer = async (): Promise<FromPeer> => {
    const gone = ended.then(() => Promise.reject(new Error(`${script} ended before it answered`)));
    const [message] = (await Promise.race([once(child, 'message'), gone])) as [FromPeer];
    return message;
  };
  const { versions, settings } = (await answer()) as Ready;
  return {
    versions,
    settings,
    run: async (load) => {
      const ran = answer();
      child.send(load);
      return (await ran) as Ran;
    },
    stop: async () => {
      child.disconnect();
      await ended;
    },
  };
}

async function changedMs(path: string): Promise<number> {
  return (await stat(path).catch(() => null))?.mtimeMs ?? 0;
}
