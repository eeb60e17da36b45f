/** What needs no service: this program's own surroundings. */
import { access, constants, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Check, check, reasonOf } from './check.ts';

/** What package.json states under `engines`. */
const OLDEST_NODE = [20, 19] as const;

export function nodeCheck(version: string): Check {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_NODE;
  const isNewEnough = major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
  return isNewEnough
    ? check('node', 'ok', version)
    : check('node', 'fail', `${version} is too old; install ${OLDEST_NODE.join('.')} or newer`);
}

/** Looks without leaving a folder behind that nobody asked for. */
export async function dataFolderCheck(dataDir: string): Promise<Check> {
  const there = await stat(dataDir).catch(() => null);
  if (there !== null && !there.isDirectory()) {
    return check('data folder', 'fail', `${dataDir} is no folder; choose another with TURNWRIGHT_DATA_DIR`);
  }
  const target = there === null ? await nearestFolder(dataDir) : dataDir;
  try {
    await access(target, constants.W_OK | constants.X_OK);
    return check(
      'data folder',
      'ok',
      there === null ? `${dataDir} can be made` : `${dataDir} can be written`,
    );
  } catch (error) {
    const advice = 'change its permissions, or choose another with TURNWRIGHT_DATA_DIR';
    return check('data folder', 'fail', `${target} cannot be written (${reasonOf(error)}); ${advice}`);
  }
}

async function nearestFolder(path: string): Promise<string> {
  const parent = dirname(path);
  if (parent === path) return path;
  return (await stat(parent).catch(() => null)) === null ? nearestFolder(parent) : parent;
}
