/** `glob`: the files whose paths fit a pattern. */
import { join } from 'node:path';
import { z } from 'zod';
import { defineTool } from '../define.ts';
import { type Folder, openFolder, openInside, showPath } from '../files/confined.ts';
import { compileGlob, type Glob } from '../files/pattern.ts';
import { SKIPPED_FOLDERS, type WalkedFile, walk } from '../files/walk.ts';
import { tolerateBlanks } from './blanks.ts';

const DEFAULT_LIMIT = 100;
const MAX_LIMIT = 1_000;

export const globTool = tolerateBlanks(
  defineTool({
    name: 'glob',
    description:
      'Lists files whose path fits a pattern. "**" spans any number of folders, as in "src/**/*.ts"; one path a line, sorted. .git, node_modules and symbolic links are left out unless named.',
    input: z.strictObject({
      pattern: z.string().min(1).describe('Pattern relative to the folder, such as "**/*.md".'),
      limit: z.int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT).describe('Most paths to list.'),
    }),
    serves: ['filesystem'],
    alwaysLoaded: true,
    effect: 'read',
    run: async ({ pattern, limit }, { root, signal }) => {
      const compiled = compileGlob(pattern);
      if (!compiled.ok) return { content: compiled.message, isError: true };
      const folder = await openFolder(root);
      const shown: string[] = [];
      let total = 0;
      let unreadable = 0;
      const onUnreadable = () => {
        unreadable += 1;
      };
      for await (const file of globFiles(folder, compiled.glob, signal, onUnreadable)) {
        total += 1;
        if (shown.length < limit) shown.push(showPath(file.path));
      }
      const notes = unreadable > 0 ? [`(${unreadable} folders could not be read)`] : [];
      if (total === 0) return [noMatch(pattern), ...notes].join('\n');
      if (total > limit) notes.unshift(`(showing ${limit} of ${total}; narrow the pattern or raise limit)`);
      return [...shown, ...notes].join('\n');
    },
  }),
  ['limit'],
);

async function* globFiles(
  folder: Folder,
  glob: Glob,
  signal: AbortSignal,
  onUnreadable: () => void,
): AsyncGenerator<WalkedFile, void, void> {
  const base = glob.base === '' ? { kind: 'directory' as const, path: '', realPath: folder.realRoot } : null;
  const from = base ?? (await openInside(folder, glob.base));
  if (from.kind === 'file') await from.handle.close();
  if (from.kind !== 'directory') return;
  const skip = new Set([...SKIPPED_FOLDERS].filter((name) => !glob.names.has(name)));
  for await (const file of walk(folder, { from, skip, maxDepth: glob.maxDepth, signal, onUnreadable })) {
    if (glob.matches(file.path)) yield file;
  }
}

function noMatch(pattern: string): string {
  const nothing = `No file fits ${JSON.stringify(pattern)}.`;
  return pattern.includes('**')
    ? nothing
    : `${nothing} To look in every folder, try ${JSON.stringify(join('**', pattern))}.`;
}
