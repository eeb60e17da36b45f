/** The files of one PostgreSQL cluster inside the data folder: made once, whole or not at all. */
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chown, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TurnwrightError } from '../../ledger/errors.ts';
import type { Account } from './account.ts';
import { type Binaries, majorVersion } from './binaries.ts';
import { isErrno } from './processes.ts';

export const CLUSTER_USER = 'turnwright';

const PASSWORD_BYTES = 24;
const PASSWORD_NAME = 'postgres-password';

export interface Cluster {
  readonly dir: string;
  readonly password: string;
}

export function clusterDirOf(dataDir: string): string {
  return join(dataDir, 'cluster');
}

/**
 * Runs as the server's account. Linux lets a process name its own working folder without a look at the
 * folders above it, which is how the account uses a folder below one that it may not enter (`/root`).
 */
export async function clusterArgument(dir: string, account: Account | null): Promise<string> {
  if (account === null || process.platform !== 'linux') return dir;
  const entered = await new Promise<boolean>((resolve) => {
    const probe = spawn('/bin/sh', ['-c', 'cd "$1"', 'sh', dir], { cwd: '/', stdio: 'ignore', ...account });
    probe.once('error', () => resolve(false));
    probe.once('exit', (code) => resolve(code === 0));
  });
  return entered ? dir : '/proc/self/cwd';
}

export async function ensureCluster(
  dataDir: string,
  binaries: Binaries,
  account: Account | null,
): Promise<Cluster> {
  const dir = clusterDirOf(dataDir);
  const madeBy = await readFile(join(dir, 'PG_VERSION'), 'utf8').catch(() => null);
  if (madeBy === null) return { dir, password: await createCluster(dataDir, dir, binaries, account) };
  const carried = await majorVersion(binaries, account);
  if (Number(madeBy) !== carried) {
    throw new TurnwrightError(
      'database_unreachable',
      `The data folder ${dataDir} was made by PostgreSQL ${madeBy.trim()}, and this program carries ${carried}. Use another folder, or export with the old version and import here.`,
    );
  }
  return { dir, password: await readPassword(dataDir) };
}

async function createCluster(
  dataDir: string,
  dir: string,
  binaries: Binaries,
  account: Account | null,
): Promise<string> {
  const password = randomBytes(PASSWORD_BYTES).toString('base64url');
  const draft = `${dir}.new`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { mode: 0o700 });
  if (account !== null) await chown(draft, account.uid, account.gid);
  await writeFile(join(dataDir, PASSWORD_NAME), `${password}\n`, { mode: 0o600 });
  await runInitdb(binaries, draft, account, password);
  await rename(draft, dir);
  return password;
}

async function readPassword(dataDir: string): Promise<string> {
  const path = join(dataDir, PASSWORD_NAME);
  try {
    return (await readFile(path, 'utf8')).trim();
  } catch (cause) {
    if (!isErrno(cause, 'ENOENT')) throw cause;
    throw new TurnwrightError(
      'database_unreachable',
      `The password of the database in ${dataDir} is lost: ${path} was not found. Restore that file, or use another folder.`,
      { cause },
    );
  }
}

/** The password goes through a pipe made by the server's own account: no file, no argument shows it. */
async function runInitdb(
  binaries: Binaries,
  dir: string,
  account: Account | null,
  password: string,
): Promise<void> {
  const options = ['--username', CLUSTER_USER, '--auth', 'scram-sha-256', '--pwfile', '/dev/stdin'];
  const argument = await clusterArgument(dir, account);
  const child = spawn(
    '/bin/sh',
    ['-c', 'cat | "$@"', 'sh', binaries.initdb, '-D', argument, ...options, '--encoding=UTF8', '--locale=C'],
    { cwd: dir, stdio: ['pipe', 'ignore', 'pipe'], env: serverEnvironment(), ...account },
  );
  let output = '';
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk.toString('utf8');
  });
  child.stdin.on('error', () => undefined);
  child.stdin.end(`${password}\n`);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) {
    throw new TurnwrightError(
      'database_unreachable',
      `Making the database in ${dir} failed: initdb ended with code ${code} and said "${output.trim()}". Check the folder's space and permissions, or set DATABASE_URL.`,
    );
  }
}

/** Nothing of our own environment: a credential there must not be readable through the server. */
export function serverEnvironment(): NodeJS.ProcessEnv {
  return { PATH: process.env.PATH, LC_ALL: 'C' };
}
