/** The words of a request as they are compared, sentence by sentence; what it quotes stands apart. */
import type { Lexicon } from './lexicon/index.ts';
import { comparedForm, setOf } from './phrases.ts';

export interface Word {
  /** As compared: compatibility forms folded, lower case, without hyphens; one part of a contraction. */
  readonly form: string;
  /** As the text has it. */
  readonly written: string;
  /** In UTF-16 units of the text. */
  readonly at: number;
  /** `name`: joined by dots, slashes and the like (`src/a.ts`, `read_file`), an address too. */
  readonly kind: 'word' | 'figure' | 'name';
  /** A comma, a bracket or a dash stands before it, or nothing does. */
  readonly opensClause: boolean;
}

export interface Sentence {
  readonly words: readonly Word[];
  /** `words` by their forms alone. */
  readonly forms: readonly string[];
  /** It ends in a question mark. */
  readonly hasMark: boolean;
}

export interface Quotation {
  /** Without its marks. */
  readonly text: string;
  readonly at: number;
}

export interface RequestText {
  readonly sentences: readonly Sentence[];
  readonly quotations: readonly Quotation[];
}

/** Longer runs are data, not words. */
const MAX_WORD_CHARS = 256;
/** A comma joins digits only. Each step takes one character, so a run is read once, however long it is. */
const RUN =
  /https?:\/\/[^\s"'`<>]+|(?:\.{0,2}\/)?[\p{L}\p{N}_$€£#@~](?:[\p{L}\p{M}\p{N}_./\\@:%+'’‐‑-]|(?<=\d),(?=\d))*/gu;
/** Bounded, so that an unclosed mark costs no more than a line. */
const QUOTED =
  /"[^"\n]{1,400}"|“[^”\n]{1,400}”|«[^»\n]{1,400}»|`[^`\n]{1,400}`|(?<![\p{L}\p{N}])['‘][^'’\n]{1,80}['’](?![\p{L}\p{N}])/gu;
const TRAILING = ".:/\\'’-‐‑%@";
const ENDS_SENTENCE = /[.!?;:…。！？\n]/u;
const ENDS_CLAUSE = /[,()[\]{}–—|]|\s-+\s/u;
const ASKS = /[?？]/u;
const NAME_JOINT = /[_/\\@:]|\.(?=[\p{L}\p{N}])/u;
const FIGURE = /^[$€£#]?\p{N}[\p{N}.,:%]*(?:\p{L}{1,3})?$/u;
/** An extension has a letter, so that a number is no file. */
const FILE_NAME = /^(?!www\.)[^\s:@]*\.(?=\d*[A-Za-z])[A-Za-z0-9]{1,8}$/u;
const TYPOGRAPHIC = /[’‘]/gu;

const expansions = new WeakMap<Lexicon, ReadonlyMap<string, readonly string[]>>();

/** A text that quotes everything it says is read as if it quoted nothing. */
export function requestText(text: string, lexicon: Lexicon): RequestText {
  const quotations = quotationsOf(text);
  const sentences = sentencesOf(masked(text, quotations), lexicon);
  if (sentences.length > 0 || quotations.length === 0) return { sentences, quotations };
  return { sentences: sentencesOf(text, lexicon), quotations };
}

function quotationsOf(text: string): readonly Quotation[] {
  return Array.from(text.matchAll(QUOTED), (match) => ({
    text: match[0].slice(1, -1),
    at: match.index,
  }));
}

/** Blanks of the same length stand for what is quoted and its marks. */
function masked(text: string, quotations: readonly Quotation[]): string {
  let from = 0;
  const parts: string[] = [];
  for (const { text: quoted, at } of quotations) {
    parts.push(text.slice(from, at), ' '.repeat(quoted.length + 2));
    from = at + quoted.length + 2;
  }
  return parts.join('') + text.slice(from);
}

function sentencesOf(text: string, lexicon: Lexicon): readonly Sentence[] {
  const sentences: Sentence[] = [];
  let words: Word[] = [];
  let end = 0;
  const close = (gap: string): void => {
    if (words.length > 0)
      sentences.push({ words, forms: words.map(({ form }) => form), hasMark: ASKS.test(gap) });
    words = [];
  };
  for (const { 0: run, index } of text.matchAll(RUN)) {
    const written = trimmed(run);
    const gap = text.slice(end, index);
    const ends = ENDS_SENTENCE.test(gap) && !isAbbreviated(words.at(-1), gap, lexicon);
    if (ends) close(gap);
    end = index + written.length;
    if (written.length > MAX_WORD_CHARS) continue;
    const opensClause = words.length === 0 || ENDS_CLAUSE.test(gap);
    words.push(...wordsOf(written, index, opensClause, lexicon));
  }
  close(text.slice(end));
  return sentences;
}

function trimmed(run: string): string {
  let end = run.length;
  while (end > 1 && TRAILING.includes(run.charAt(end - 1))) end -= 1;
  return run.slice(0, end);
}

/** Its dot ends no sentence. */
function isAbbreviated(last: Word | undefined, gap: string, { grammar }: Lexicon): boolean {
  return last !== undefined && /^\.\s*$/u.test(gap) && grammar.abbreviations.includes(last.form);
}

function wordsOf(written: string, at: number, opensClause: boolean, lexicon: Lexicon): readonly Word[] {
  const lower = written.normalize('NFKC').toLowerCase().replace(TYPOGRAPHIC, "'");
  const kind = kindOf(lower);
  const parts = kind === 'word' ? partsOf(lower, lexicon) : [lower];
  return parts.map((form, index) => ({ form, written, at, kind, opensClause: opensClause && index === 0 }));
}

function kindOf(lower: string): Word['kind'] {
  if (FIGURE.test(lower)) return 'figure';
  return NAME_JOINT.test(lower) ? 'name' : 'word';
}

/** A possessive counts as the word itself. */
function partsOf(lower: string, lexicon: Lexicon): readonly string[] {
  const parts = expansionsOf(lexicon).get(lower);
  if (parts !== undefined) return parts;
  return [comparedForm(lower.endsWith("'s") ? lower.slice(0, -2) : lower)];
}

function expansionsOf(lexicon: Lexicon): ReadonlyMap<string, readonly string[]> {
  const known = expansions.get(lexicon);
  if (known !== undefined) return known;
  const made = new Map<string, readonly string[]>();
  for (const [expansion, contracted] of Object.entries(lexicon.grammar.contractions))
    for (const form of contracted) made.set(form, expansion.split(' '));
  expansions.set(lexicon, made);
  return made;
}

/** Whether any of the lists has the word, its plural in `s` folded. */
export function isOneOf(form: string, list: readonly string[]): boolean {
  const words = setOf(list);
  return words.has(form) || (form.length > 3 && form.endsWith('s') && words.has(form.slice(0, -1)));
}

export function isFile({ kind, written }: Word): boolean {
  return kind === 'name' && isFileName(written);
}

export function isFileName(text: string): boolean {
  return FILE_NAME.test(text);
}
