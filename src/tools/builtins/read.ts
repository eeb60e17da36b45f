/** `read`: a text file of the session's folder, whole or by lines. */
import { extname } from 'node:path';
import { z } from 'zod';
import type { ToolContext, ToolOutput } from '../contract.ts';
import { defineTool } from '../define.ts';
import { type Folder, listReal, type Opened, openFolder, openInside, showPath } from '../files/confined.ts';
import { firstBytes, isBinary, lineBlocks, MAX_TEXT_BYTES, readText, undecodedNote } from '../files/text.ts';
import { tolerateBlanks } from './blanks.ts';
import { boundsOf, lineRange, wrongOrder } from './line-range.ts';

/** Names a refused directory lists: enough to choose from, short enough to read. */
const LISTED_ENTRIES = 50;
const SHOWN_BYTES = 8;

type OpenedFile = Extract<Opened, { readonly kind: 'file' }>;

export const readTool = tolerateBlanks(
  defineTool({
    name: 'read',
    description:
      'Reads a text file. Give a range to read some of its lines, counted from 1, both ends included; without one the whole file is returned.',
    input: z.strictObject({
      path: z.string().min(1).describe('Path of the file, relative to the folder, such as "src/main.ts".'),
      range: lineRange.optional().describe('Lines to read.'),
    }),
    serves: ['filesystem'],
    alwaysLoaded: true,
    effect: 'read',
    run: async ({ path, range }, context) => {
      const folder = await openFolder(context.root);
      const opened = await openInside(folder, path);
      if (opened.kind === 'refused') return failure(opened.message);
      if (opened.kind === 'directory') return failure(await describeDirectory(folder, opened));
      try {
        if (await isBinary(opened.handle)) return success(await describeBinary(opened));
        const output =
          range === undefined
            ? await readWhole(opened, context.signal)
            : await readLines(opened, boundsOf(range), context);
        return output.isError ? output : { ...output, files: [{ kind: 'read', path: opened.path }] };
      } finally {
        await opened.handle.close();
      }
    },
  }),
  ['range'],
);

async function readWhole(file: OpenedFile, signal: AbortSignal): Promise<ToolOutput> {
  const text = await readText(file.handle, signal);
  if (text === null) {
    const call = `read(${JSON.stringify({ path: file.path, range: { from: 1, to: 500 } })})`;
    const size = `${file.sizeBytes} bytes, more than the ${MAX_TEXT_BYTES} a whole read returns`;
    return failure(
      `${showPath(file.path)} has ${size}. Read a part of it, as with ${call}, or search it with grep.`,
    );
  }
  return success(text === '' ? `${showPath(file.path)} is empty.` : text + undecodedNote(text));
}

/** The total is told when it is cheap to know; a large file is read no further than the range. */
async function readLines(
  file: OpenedFile,
  range: { readonly from: number; readonly to: number },
  context: ToolContext,
): Promise<ToolOutput> {
  const backwards = wrongOrder(range);
  if (backwards !== null) return failure(backwards);
  const readsToEnd = file.sizeBytes <= MAX_TEXT_BYTES;
  const parts: string[] = [];
  let collectedChars = 0;
  let lastLine = 0;
  for await (const block of lineBlocks(file.handle, context.signal)) {
    const lines = block.text.split('\n');
    const ended = lines.at(-1) === '';
    lastLine = block.firstLine + lines.length - (ended ? 2 : 1);
    if (block.firstLine > range.to && !readsToEnd) break;
    const wanted = lines.slice(
      Math.max(0, range.from - block.firstLine),
      Math.max(0, range.to - block.firstLine + 1),
    );
    const reachesEnd = range.to >= block.firstLine + lines.length - 1;
    const text = wanted.join('\n') + (wanted.length > 0 && !reachesEnd ? '\n' : '');
    collectedChars += text.length;
    if (collectedChars > MAX_TEXT_BYTES) return failure(tooManyLines(file, range));
    parts.push(text);
  }
  if (range.from > lastLine) {
    return failure(`${showPath(file.path)} has ${lastLine} lines; line ${range.from} is beyond its end.`);
  }
  const total = readsToEnd ? ` of ${lastLine}` : '';
  const text = parts.join('');
  const head = `${showPath(file.path)} lines ${range.from}-${Math.min(range.to, lastLine)}${total}`;
  return success(`${head}\n${text}${undecodedNote(text)}`);
}

function tooManyLines(file: OpenedFile, range: { readonly from: number; readonly to: number }): string {
  const to = Number.isFinite(range.to) ? `line ${range.to}` : 'the end';
  const lines = `${showPath(file.path)} from line ${range.from} to ${to}`;
  return `${lines} is more than ${MAX_TEXT_BYTES} characters. Ask for fewer lines, or search the file with grep.`;
}

async function describeBinary(file: OpenedFile): Promise<string> {
  const kind = extname(file.path) === '' ? '' : ` (${showPath(extname(file.path))})`;
  const bytes = await firstBytes(file.handle, SHOWN_BYTES);
  return `${showPath(file.path)} is a binary file${kind} of ${file.sizeBytes} bytes, not text. Its first bytes are ${bytes}.`;
}

async function describeDirectory(
  folder: Folder,
  directory: Extract<Opened, { readonly kind: 'directory' }>,
): Promise<string> {
  const entries = (await listReal(folder, directory.realPath).catch(() => null)) ?? [];
  const names = entries.map((entry) => showPath(entry.name) + (entry.isDirectory() ? '/' : '')).sort();
  const listed = names.slice(0, LISTED_ENTRIES).join('\n');
  const count = names.length > LISTED_ENTRIES ? ` (showing ${LISTED_ENTRIES} of ${names.length})` : '';
  const title = `${showPath(directory.path || '.')} is a directory, not a file.`;
  return names.length === 0 ? `${title} It is empty.` : `${title} Read one of its files${count}:\n${listed}`;
}

function success(content: string): ToolOutput {
  return { content, isError: false };
}

function failure(content: string): ToolOutput {
  return { content, isError: true };
}
