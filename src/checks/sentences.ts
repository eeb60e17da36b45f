/** A text as sentences of words and clause marks, and phrases looked for in them. */

/** A full stop inside a figure or an address ends nothing. */
const TOKEN = /[\p{L}\p{M}\p{N}]+(?:'[\p{L}\p{M}\p{N}]+)*|[,:()–—]|[!?;\n。！？]|\.(?![\p{L}\p{N}])/gu;
const ENDS: ReadonlySet<string> = new Set(['.', '!', '?', ';', '\n', '。', '！', '？']);
const MARKS: ReadonlySet<string> = new Set([',', ':', '(', ')', '–', '—']);

export interface Sentence {
  /** Words in lower case with straight apostrophes, and the marks between clauses; never empty. */
  readonly tokens: readonly string[];
  /** The sign that ended it; empty where the text did. */
  readonly end: string;
}

/** Phrases by their first word. */
export type Phrases = ReadonlyMap<string, readonly (readonly string[])[]>;

export function sentencesOf(text: string): readonly Sentence[] {
  const sentences: Sentence[] = [];
  let tokens: string[] = [];
  for (const [token] of text.normalize('NFKC').replaceAll('’', "'").toLowerCase().matchAll(TOKEN)) {
    if (!ENDS.has(token)) tokens.push(token);
    else if (tokens.length > 0) {
      sentences.push({ tokens, end: token });
      tokens = [];
    }
  }
  if (tokens.length > 0) sentences.push({ tokens, end: '' });
  return sentences;
}

export function isMark(token: string): boolean {
  return MARKS.has(token);
}

/** Each phrase is words with one space between them, as `sentencesOf` writes words. */
export function phrasesOf(list: readonly string[]): Phrases {
  const phrases = new Map<string, string[][]>();
  for (const phrase of list) {
    const [first = '', ...rest] = phrase.split(' ');
    phrases.set(first, [...(phrases.get(first) ?? []), rest]);
  }
  for (const rests of phrases.values()) rests.sort((a, b) => b.length - a.length);
  return phrases;
}

/** Where the longest phrase that begins at `at` ends; null for none. */
export function phraseEnd(tokens: readonly string[], at: number, phrases: Phrases): number | null {
  const rests = phrases.get(tokens[at] ?? '');
  const found = rests?.find((rest) => rest.every((word, index) => tokens[at + 1 + index] === word));
  return found === undefined ? null : at + 1 + found.length;
}

export function holdsPhrase(tokens: readonly string[], phrases: Phrases): boolean {
  return tokens.some((_, at) => phraseEnd(tokens, at, phrases) !== null);
}

/** The first place from `at` on that holds none of the words. */
export function skipWords(tokens: readonly string[], at: number, words: ReadonlySet<string>): number {
  let next = at;
  while (words.has(tokens[next] ?? '')) next += 1;
  return next;
}
