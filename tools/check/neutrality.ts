/** Finds names of vendors, topics and servers in the source: what the runtime does hangs on what a thing declares, never on its name. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import ts from 'typescript';

/** Names that test cases are apt to be about: none may become a rule. */
export const BANNED_WORDS = ['tavily', 'weather', 'noida'] as const;

export interface NamedThing {
  readonly line: number;
  readonly name: string;
}

const WORD = /[\p{L}\p{M}]+|\p{N}+/gu;
/** `fooBar` and `HTTPBar` are two words each. */
const CASE_BOUNDARY = /(?<=\p{Ll})(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})/u;
/** `\n` and `\b` would stick to the word behind them. */
const ESCAPE = /\\[a-zA-Z]/g;
/** Between the words of one name: `two-words`, `two_words`, `two words`. */
const MAX_GAP_CHARS = 1;

/**
 * Where source text holds one of the names, as whole words in any case. A name of several words is found however they
 * are joined. Comments are passed over; texts, templates and expressions are not.
 */
export function findNamed(source: string, names: readonly string[]): readonly NamedThing[] {
  const wanted = names
    .map((name) => ({ name, words: wordsOf(name) }))
    .filter(({ words }) => words.length > 0);
  const file = ts.createSourceFile('source.ts', source, ts.ScriptTarget.Latest);
  return leavesOf(file, file).flatMap((leaf) => {
    const from = leaf.getStart(file);
    const written = leaf.getText(file).replace(ESCAPE, '  ');
    const writtenWords = wordsOf(written);
    const meantWords = wordsOf(meant(leaf));
    return wanted.flatMap(({ name, words }): readonly NamedThing[] => {
      const places = rowsIn(writtenWords, words);
      const first = rowsIn(meantWords, words).length > 0 ? [0] : [];
      const offsets = places.length > 0 ? places : first;
      return offsets.map((at) => ({ line: lineAt(file, from + at), name }));
    });
  });
}

/** One line for each, as `path:line: name`; none where nothing under `src` knows a banned word or a server's name. */
export async function checkNeutrality(root: string, servers: readonly string[]): Promise<readonly string[]> {
  const found = await readdir(join(root, 'src'), { recursive: true });
  const paths = found
    .filter((name) => name.endsWith('.ts'))
    .sort()
    .map((name) => join('src', name));
  const reports: string[] = [];
  for (const path of paths) {
    const source = await readFile(join(root, path), 'utf8');
    const things = findNamed(source, [...BANNED_WORDS, ...servers]);
    reports.push(...things.map(({ line, name }) => `${path}:${line}: ${name}`));
  }
  return reports;
}

function leavesOf(node: ts.Node, file: ts.SourceFile): readonly ts.Node[] {
  if (ts.isJSDoc(node)) return [];
  const children = node.getChildren(file);
  return children.length === 0 ? [node] : children.flatMap((child) => leavesOf(child, file));
}

/** An escape may spell a letter. */
function meant(leaf: ts.Node): string {
  const isText =
    ts.isStringLiteralLike(leaf) ||
    ts.isIdentifier(leaf) ||
    ts.isTemplateHead(leaf) ||
    ts.isTemplateMiddleOrTemplateTail(leaf);
  return isText ? leaf.text : '';
}

interface PlacedWord {
  readonly word: string;
  readonly from: number;
  readonly end: number;
}

function wordsOf(text: string): readonly PlacedWord[] {
  const words: PlacedWord[] = [];
  for (const run of text.matchAll(WORD)) {
    let from = run.index;
    for (const part of run[0].split(CASE_BOUNDARY)) {
      words.push({ word: part.toLowerCase(), from, end: from + part.length });
      from += part.length;
    }
  }
  return words;
}

/** Offsets at which the words of a name stand one behind the other. */
function rowsIn(words: readonly PlacedWord[], name: readonly PlacedWord[]): readonly number[] {
  return words.flatMap(({ from }, at) => {
    const row = words.slice(at, at + name.length);
    const isRow = name.every(({ word }, index) => {
      const before = row[index - 1];
      const here = row[index];
      return here?.word === word && (before === undefined || here.from - before.end <= MAX_GAP_CHARS);
    });
    return isRow ? [from] : [];
  });
}

function lineAt(file: ts.SourceFile, position: number): number {
  return file.getLineAndCharacterOfPosition(position).line + 1;
}
