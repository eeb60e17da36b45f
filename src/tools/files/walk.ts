/** Walks a folder's files in the code-unit order of their paths, without following symbolic links. */
import { join } from 'node:path';
import { type Folder, listReal } from './confined.ts';

/** Written by tools, not by people, and larger than all the rest. */
export const SKIPPED_FOLDERS: ReadonlySet<string> = new Set(['.git', 'node_modules']);

export interface WalkedFile {
  /** Relative to the folder, with `/`. */
  readonly path: string;
  readonly realPath: string;
}

export interface WalkOptions {
  /** Directory to begin in: its path relative to the folder ('' for the folder) and its real path. */
  readonly from: { readonly path: string; readonly realPath: string };
  /** Names of folders not entered. */
  readonly skip: ReadonlySet<string>;
  /** Segments of the longest path wanted; null for any. */
  readonly maxDepth: number | null;
  readonly signal: AbortSignal;
  readonly onUnreadable: () => void;
}

interface Entry extends WalkedFile {
  readonly isDirectory: boolean;
  readonly depth: number;
}

/** Memory holds the entries of the open directories only. Throws the signal's reason once it is aborted. */
export async function* walk(folder: Folder, options: WalkOptions): AsyncGenerator<WalkedFile, void, void> {
  const { from, maxDepth, signal } = options;
  const depth = from.path === '' ? 0 : from.path.split('/').length;
  const pending: Entry[] = [{ ...from, isDirectory: true, depth }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    signal.throwIfAborted();
    if (!next.isDirectory) yield { path: next.path, realPath: next.realPath };
    else if (maxDepth === null || next.depth < maxDepth) {
      for (const entry of await entriesOf(folder, next, options)) pending.push(entry);
    }
  }
}

/** Last path first, since the walk takes from the end; a directory sorts as its name with `/`, as its files do. */
async function entriesOf(folder: Folder, parent: Entry, options: WalkOptions): Promise<readonly Entry[]> {
  const listed = await listReal(folder, parent.realPath).catch(() => null);
  if (listed === null) options.onUnreadable();
  const keyed: { readonly key: string; readonly entry: Entry }[] = [];
  for (const dirent of listed ?? []) {
    const isDirectory = dirent.isDirectory();
    if (isDirectory ? options.skip.has(dirent.name) : !dirent.isFile()) continue;
    const entry: Entry = {
      path: parent.path === '' ? dirent.name : `${parent.path}/${dirent.name}`,
      realPath: join(parent.realPath, dirent.name),
      isDirectory,
      depth: parent.depth + 1,
    };
    keyed.push({ key: isDirectory ? `${dirent.name}/` : dirent.name, entry });
  }
  return keyed.sort((a, b) => (a.key < b.key ? 1 : -1)).map(({ entry }) => entry);
}
