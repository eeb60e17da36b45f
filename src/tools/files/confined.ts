/**
 * The one door to the files of a folder. Invariants:
 *
 * 1. No handle leaves this file unless what it is open on lies inside the folder's real path.
 * 2. That is decided on the open handle, not on the path it was opened by: a path may be exchanged between
 *    a check and its use, a handle may not. Where the system tells the path of a handle (Linux) the answer
 *    is exact. Elsewhere the real path is asked again and must lead to the same file as the handle.
 * 3. Only regular files and directories are opened; devices, pipes and sockets are refused before they are
 *    touched, and opening never waits.
 * 4. No message names a path outside the folder, nor says whether one exists.
 *
 * A hard link inside the folder is a file inside the folder, whatever else links to it.
 */
import { constants, type Dirent, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, readdir, readlink, realpath, stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';

const OPEN_FILE = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;
const OPEN_FOLDER = OPEN_FILE | constants.O_DIRECTORY;
const REFUSED_PATH_CHARS = 200;
/** A name with a line break must not read as two names. */
const CONTROL_CHARACTERS = /\p{Cc}/u;

export interface Folder {
  /** As configured. */
  readonly root: string;
  /** With every symbolic link resolved. */
  readonly realRoot: string;
}

export interface Refusal {
  readonly kind: 'refused';
  /** Says what was asked, why not, and what to do. */
  readonly message: string;
}

/** The receiver closes `handle`. `path` is relative to the folder. */
export type Opened =
  | { readonly kind: 'file'; readonly handle: FileHandle; readonly path: string; readonly sizeBytes: number }
  | { readonly kind: 'directory'; readonly path: string; readonly realPath: string }
  | Refusal;

/** Rejects when the folder does not exist. */
export async function openFolder(root: string): Promise<Folder> {
  return { root: resolve(root), realRoot: await realpath(root) };
}

export async function openInside(folder: Folder, path: string): Promise<Opened> {
  if (path.includes('\0')) return refusal(path, 'holds a NUL byte');
  const target = resolve(folder.root, path);
  const inside = pathInside(folder.root, target) ?? pathInside(folder.realRoot, target);
  if (inside === null) return outside(path);
  const shown = inside.split(sep).join('/');
  try {
    const realPath = await realpath(join(folder.realRoot, inside));
    if (pathInside(folder.realRoot, realPath) === null) return strayLink(path);
    const found = await stat(realPath);
    if (found.isDirectory()) return { kind: 'directory', path: shown, realPath };
    if (!found.isFile()) return refusal(path, `is ${kindOf(found)}, not a file`);
    const opened = await openReal(folder, realPath);
    return opened === null ? strayLink(path) : { kind: 'file', path: shown, ...opened };
  } catch (error) {
    return (await isStray(folder, inside)) ? strayLink(path) : refusal(path, reasonOf(error));
  }
}

/** Opens a file by its real path; null when what was opened is no regular file inside the folder. */
export async function openReal(
  folder: Folder,
  realPath: string,
): Promise<{ readonly handle: FileHandle; readonly sizeBytes: number } | null> {
  const handle = await open(realPath, OPEN_FILE);
  return keepIf(handle, async () => {
    const found = await handle.stat();
    return found.isFile() && (await isInside(folder, handle, realPath))
      ? { handle, sizeBytes: found.size }
      : null;
  });
}

/** The entries of a directory; null when it is no longer inside the folder. */
export async function listReal(folder: Folder, realPath: string): Promise<readonly Dirent[] | null> {
  const handle = await open(realPath, OPEN_FOLDER);
  try {
    if (!(await isInside(folder, handle, realPath))) return null;
    if (process.platform === 'linux')
      return await readdir(`/proc/self/fd/${handle.fd}`, { withFileTypes: true });
    const entries = await readdir(realPath, { withFileTypes: true });
    return (await isInside(folder, handle, realPath)) ? entries : null;
  } finally {
    await handle.close();
  }
}

/** The same question without help of the system: does `path` still lead, inside the folder, to this handle? */
export async function leadsInside(folder: Folder, handle: FileHandle, path: string): Promise<boolean> {
  const realPath = await realpath(path);
  if (pathInside(folder.realRoot, realPath) === null) return false;
  const [there, here] = await Promise.all([lstat(realPath), handle.stat()]);
  return there.dev === here.dev && there.ino === here.ino && (await realpath(path)) === realPath;
}

/** A path as one line of output. */
export function showPath(path: string): string {
  return CONTROL_CHARACTERS.test(path) ? JSON.stringify(path) : path;
}

function refusal(path: string, reason: string): Refusal {
  const shown = path.length > REFUSED_PATH_CHARS ? `${path.slice(0, REFUSED_PATH_CHARS)}…` : path;
  return { kind: 'refused', message: `${showPath(shown)} ${reason}.` };
}

async function isInside(folder: Folder, handle: FileHandle, realPath: string): Promise<boolean> {
  if (process.platform !== 'linux') return leadsInside(folder, handle, realPath);
  return pathInside(folder.realRoot, await readlink(`/proc/self/fd/${handle.fd}`)) !== null;
}

/** Closes the handle unless `check` gives something to keep it for. */
async function keepIf<Kept>(handle: FileHandle, check: () => Promise<Kept | null>): Promise<Kept | null> {
  let kept: Kept | null = null;
  try {
    kept = await check();
    return kept;
  } finally {
    if (kept === null) await handle.close();
  }
}

/** `path` relative to `root`, '' for the root itself; null when it lies elsewhere. */
function pathInside(root: string, path: string): string | null {
  const inside = relative(root, path);
  return inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside) ? null : inside;
}

function outside(path: string): Refusal {
  return refusal(path, 'is outside the folder; give a path relative to it, such as "src/main.ts"');
}

/** One message whether or not there is a file at the other end of the link. */
function strayLink(path: string): Refusal {
  return refusal(path, 'leads, through a symbolic link, outside the folder or nowhere');
}

/** Whether a path that cannot be opened fails at a link, or beyond one that leaves the folder. */
async function isStray(folder: Folder, inside: string): Promise<boolean> {
  for (let part = inside; part !== '.' && part !== ''; part = dirname(part)) {
    const path = join(folder.realRoot, part);
    const realPath = await realpath(path).catch(() => null);
    if (realPath !== null) return pathInside(folder.realRoot, realPath) === null;
    const entry = await lstat(path).catch(() => null);
    if (entry?.isSymbolicLink() === true) return true;
  }
  return false;
}

function kindOf(found: Stats): string {
  if (found.isFIFO()) return 'a pipe';
  if (found.isSocket()) return 'a socket';
  return 'a device';
}

function reasonOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  switch (code) {
    case 'ENOENT':
      return 'does not exist; use glob to see which files do';
    case 'ENOTDIR':
      return 'does not exist: a part of it is a file, not a directory; use glob to see which files exist';
    case 'EACCES':
    case 'EPERM':
      return 'may not be read';
    case 'ELOOP':
      return 'leads through too many symbolic links';
    case 'ENAMETOOLONG':
      return 'is too long for a path';
    default:
      return `cannot be read (${code})`;
  }
}
