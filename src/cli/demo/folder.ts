/** What the folder of the demo holds, read just far enough to ask about it. */
import { lstat, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface TextFile {
  /** Relative to the folder, with `/`. */
  readonly path: string;
  readonly text: string;
}

export interface Folder {
  readonly root: string;
  readonly files: readonly TextFile[];
  /** Too many entries to search them all while somebody watches. */
  readonly isLarge: boolean;
}

const MAX_FILES = 60;
const MAX_FILE_BYTES = 64 * 1024;
/** Searching this many files takes well under a second. */
const LARGE_ENTRIES = 4_000;
/** Depth below the folder up to which files are read for questions; entries are counted at every depth. */
const READ_DEPTH = 1;
const SKIPPED: ReadonlySet<string> = new Set(['node_modules', '.git']);
/** Made by programs for programs: nothing in them is worth asking. */
const GENERATED = /(?:^|[-.])lock(?:\.|$)|\.min\.|\.map$|\.svg$/i;

export async function readFolder(root: string): Promise<Folder> {
  const files: TextFile[] = [];
  let entries = 0;
  let level: readonly string[] = [''];
  for (let depth = 0; level.length > 0 && entries <= LARGE_ENTRIES; depth += 1) {
    const next: string[] = [];
    for (const folder of level) {
      const found = await readdir(join(root, folder), { withFileTypes: true }).catch(() => []);
      entries += found.length;
      if (entries > LARGE_ENTRIES) break;
      for (const entry of found.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
        const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
        if (entry.isDirectory() && !SKIPPED.has(entry.name)) next.push(path);
        if (!entry.isFile() || depth > READ_DEPTH || files.length >= MAX_FILES) continue;
        const file = await readTextFile(root, path);
        if (file !== null) files.push(file);
      }
    }
    level = next;
  }
  return { root, files, isLarge: entries > LARGE_ENTRIES };
}

async function readTextFile(root: string, path: string): Promise<TextFile | null> {
  const name = path.slice(path.lastIndexOf('/') + 1);
  if (name.startsWith('.') || GENERATED.test(name)) return null;
  try {
    const { size } = await lstat(join(root, path));
    if (size === 0 || size > MAX_FILE_BYTES) return null;
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await readFile(join(root, path)));
    return text.includes('\0') ? null : { path, text };
  } catch {
    return null;
  }
}
