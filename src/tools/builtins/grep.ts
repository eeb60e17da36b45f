/** `grep`: the lines of the folder's text files that match an expression. */

import type { FileHandle } from 'node:fs/promises';
import { z } from 'zod';
import { defineTool } from '../define.ts';
import { type Folder, openFolder, openInside, openReal, showPath } from '../files/confined.ts';
import { compileLinePattern, type LinePattern } from '../files/line-pattern.ts';
import { compileGlob, type Glob } from '../files/pattern.ts';
import { isBinary, type LineBlock, lineBlocks } from '../files/text.ts';
import { SKIPPED_FOLDERS, walk } from '../files/walk.ts';
import { tolerateBlanks } from './blanks.ts';

const DEFAULT_LIMIT = 50;
const MAX_LIMIT = 500;
/** A matching line of a minified file is shown around its match. */
const LINE_CHARS = 400;
const LINE_CHARS_BEFORE_MATCH = 100;
/** What a cut through a surrogate pair leaves at either end. */
const HALF_CHARACTER = /^[\udc00-\udfff]|[\ud800-\udbff]$/g;

interface Search {
  readonly pattern: LinePattern;
  readonly limit: number;
  readonly signal: AbortSignal;
  readonly shown: string[];
  matches: number;
  files: number;
  unreadable: number;
}

export const grepTool = tolerateBlanks(
  defineTool({
    name: 'grep',
    description:
      'Searches text files for lines that match a regular expression (RE2 syntax) and prints them as path:line: text. Without a path it searches every file except those below .git and node_modules.',
    input: z.strictObject({
      pattern: z.string().min(1).describe('Regular expression; plain text finds itself.'),
      path: z.string().optional().describe('File or folder to search, relative to the folder.'),
      glob: z.string().optional().describe('Search only files that fit, such as "*.ts" or "src/**/*.md".'),
      limit: z.int().min(1).max(MAX_LIMIT).default(DEFAULT_LIMIT).describe('Most lines to print.'),
      ignoreCase: z.boolean().default(false).describe('Whether A matches a.'),
    }),
    serves: ['filesystem'],
    alwaysLoaded: true,
    effect: 'read',
    run: async ({ pattern, path = '.', glob, limit, ignoreCase }, { root, signal }) => {
      const compiled = compileLinePattern(pattern, ignoreCase);
      if (!compiled.ok) return { content: compiled.message, isError: true };
      const filter = glob === undefined ? null : compileGlob(glob.includes('/') ? glob : `**/${glob}`);
      if (filter?.ok === false) return { content: filter.message, isError: true };
      const folder = await openFolder(root);
      const opened = await openInside(folder, path);
      if (opened.kind === 'refused') return { content: opened.message, isError: true };
      const counts = { matches: 0, files: 0, unreadable: 0 };
      const search: Search = { pattern: compiled.pattern, limit, signal, shown: [], ...counts };
      if (opened.kind === 'file') {
        const searched = await searchFile(search, opened.path, opened.handle);
        if (!searched) return `${showPath(opened.path)} is a binary file; grep searches text.`;
      } else await searchFolder(search, folder, opened, filter?.glob ?? null);
      return report(search, pattern);
    },
  }),
  ['path', 'glob', 'limit', 'ignoreCase'],
);

async function searchFolder(
  search: Search,
  folder: Folder,
  from: { readonly path: string; readonly realPath: string },
  filter: Glob | null,
): Promise<void> {
  const onUnreadable = () => {
    search.unreadable += 1;
  };
  const skip = new Set([...SKIPPED_FOLDERS].filter((name) => filter?.names.has(name) !== true));
  const prefixChars = from.path === '' ? 0 : from.path.length + 1;
  for await (const file of walk(folder, {
    from,
    skip,
    maxDepth: null,
    signal: search.signal,
    onUnreadable,
  })) {
    // A pattern may be meant from the folder's root or from the path that was asked for.
    if (filter !== null && !filter.matches(file.path) && !filter.matches(file.path.slice(prefixChars)))
      continue;
    const opened = await openReal(folder, file.realPath).catch(() => null);
    if (opened === null) search.unreadable += 1;
    else await searchFile(search, file.path, opened.handle);
  }
}

/** False for a file that is not text. Closes the handle. */
async function searchFile(search: Search, path: string, handle: FileHandle): Promise<boolean> {
  try {
    if (await isBinary(handle)) return false;
    search.files += 1;
    let lastMatch = 0;
    for await (const block of lineBlocks(handle, search.signal)) {
      if (search.pattern.mayMatch(block.text)) lastMatch = searchBlock(search, path, block, lastMatch);
    }
    return true;
  } finally {
    await handle.close();
  }
}

/** Gives the number of the last matching line: a line in pieces counts once. */
function searchBlock(search: Search, path: string, block: LineBlock, previousMatch: number): number {
  let lastMatch = previousMatch;
  const lines = block.text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  for (const [index, line] of lines.entries()) {
    const number = block.firstLine + index;
    const text = line.endsWith('\r') ? line.slice(0, -1) : line;
    const at = search.pattern.indexIn(text);
    if (at === -1 || number === lastMatch) continue;
    lastMatch = number;
    search.matches += 1;
    if (search.shown.length < search.limit) {
      search.shown.push(`${showPath(path)}:${number}: ${clipAround(text, at)}`);
    }
  }
  return lastMatch;
}

function report(search: Search, pattern: string): string {
  const notes = search.unreadable > 0 ? [`(${search.unreadable} files or folders could not be read)`] : [];
  if (search.matches === 0) {
    const where = search.files === 1 ? '1 file' : `${search.files} files`;
    return [`No line matches ${JSON.stringify(pattern)} in ${where}.`, ...notes].join('\n');
  }
  if (search.matches > search.limit) {
    const counts = `showing ${search.limit} of ${search.matches} lines`;
    notes.unshift(`(${counts}; narrow the pattern, give a path or glob, or raise limit)`);
  }
  return [...search.shown, ...notes].join('\n');
}

function clipAround(line: string, at: number): string {
  if (line.length <= LINE_CHARS) return line;
  const from = Math.max(0, Math.min(at - LINE_CHARS_BEFORE_MATCH, line.length - LINE_CHARS));
  const to = from + LINE_CHARS;
  const part = line.slice(from, to).replace(HALF_CHARACTER, '');
  const rest = to < line.length ? `… [${line.length - to} more characters]` : '';
  return `${from > 0 ? '…' : ''}${part}${rest}`;
}
