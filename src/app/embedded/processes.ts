/** Which processes live, told apart even where the system gave a number out twice. */
import { execFile } from 'node:child_process';
import { readdir, readFile, readlink, realpath } from 'node:fs/promises';
import { promisify } from 'node:util';

const run = promisify(execFile);

/**
 * A text that only this life of the process number has (boot and start time); null when no such process
 * runs. A process that has ended but was not collected by its parent counts as ended.
 */
export async function processIdentity(pid: number): Promise<string | null> {
  if (process.platform !== 'linux') return startedAtByPs(pid);
  try {
    const [status, boot] = await Promise.all([
      readFile(`/proc/${pid}/stat`, 'utf8'),
      readFile('/proc/sys/kernel/random/boot_id', 'utf8'),
    ]);
    // The command name may hold blanks and brackets; the fixed fields start after its last bracket.
    const fields = status.slice(status.lastIndexOf(')') + 2).split(' ');
    const state = fields[0];
    const startTicks = fields[19];
    return state === 'Z' || state === 'X' || startTicks === undefined ? null : `${boot.trim()}-${startTicks}`;
  } catch {
    return null;
  }
}

export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return isErrno(error, 'EPERM');
  }
}

/** Servers of a cluster, whoever started them: a PostgreSQL process works inside its data directory. */
export async function clusterProcesses(clusterDir: string): Promise<readonly number[]> {
  const dir = await realpath(clusterDir).catch(() => null);
  if (dir === null) return [];
  if (process.platform !== 'linux') return clusterProcessesByPs(dir);
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const inside = await Promise.all(
    pids.map(async (pid) => (await readlink(`/proc/${pid}/cwd`).catch(() => null)) === dir),
  );
  return pids.filter((pid, index) => inside[index] === true && pid !== process.pid);
}

export function isErrno(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}

async function startedAtByPs(pid: number): Promise<string | null> {
  try {
    const { stdout } = await run('ps', ['-o', 'stat=,lstart=', '-p', String(pid)]);
    const text = stdout.trim();
    return text === '' || text.startsWith('Z') ? null : text.replace(/^\S+\s+/, '');
  } catch {
    return null;
  }
}

async function clusterProcessesByPs(dir: string): Promise<readonly number[]> {
  const { stdout } = await run('ps', ['-axo', 'pid=,args=']);
  return stdout
    .split('\n')
    .filter((line) => line.includes(`-D ${dir} `))
    .map((line) => Number.parseInt(line, 10));
}
