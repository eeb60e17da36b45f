/** Finds clocks, timers, randomness and the process in the pure floors, where they come in as arguments. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface Sighting {
  readonly line: number;
  readonly found: string;
}

const PURE_FOLDERS = ['ledger', 'intent', 'context', 'checks', 'machines'];

/** `new Date(value)` is arithmetic; without a value it reads the clock. */
const IMPURE =
  /\bDate\s*\.\s*now\b|\bnew\s+Date\s*(?:\(\s*\)|(?=[;,)\]}]))|(?<!new\s+)\bDate\s*\(|\bMath\s*\.\s*random\b|\b(?:performance|crypto|process)\s*\.\s*\w+|\b(?:setTimeout|setInterval|setImmediate|queueMicrotask|fetch)\s*\(/g;

/** Comments and texts are blanked, so that naming a clock is allowed; their line breaks stay, for the line numbers. */
const COMMENT_OR_TEXT = /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"/g;

export function findImpure(source: string): readonly Sighting[] {
  const code = source.replace(COMMENT_OR_TEXT, (part) => part.replace(/[^\n]/g, ' '));
  return [...code.matchAll(IMPURE)].map((match) => ({
    line: code.slice(0, match.index).split('\n').length,
    found: match[0].replace(/\s+/g, ' ').trim(),
  }));
}

/** One line for each sighting, as `path:line`; none when the floors are pure. */
export async function checkClocks(root: string): Promise<readonly string[]> {
  const reports = await Promise.all(PURE_FOLDERS.map((folder) => checkFolder(root, join('src', folder))));
  return reports.flat();
}

async function checkFolder(root: string, folder: string): Promise<readonly string[]> {
  const names = await readdir(join(root, folder), { recursive: true });
  const paths = names
    .filter((name) => name.endsWith('.ts'))
    .sort()
    .map((name) => join(folder, name));
  const reports = await Promise.all(
    paths.map(async (path) => {
      const sightings = findImpure(await readFile(join(root, path), 'utf8'));
      return sightings.map(({ line, found }) => `${path}:${line}: ${found}: take it as an argument`);
    }),
  );
  return reports.flat();
}
