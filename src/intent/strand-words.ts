/** Words of a text in order, and the phrases looked for among them. */
import type { STRAND_WORDS_EN } from './lexicon/strands-en.ts';

/** One language's lists: words parted by white space, phrases by bars, small letters. */
export type StrandWords = { readonly [List in keyof typeof STRAND_WORDS_EN]: string };

/** The words of each phrase, longest phrase first, by its first word. */
export type Phrases = ReadonlyMap<string, readonly (readonly string[])[]>;

type PhraseList =
  | 'sequence'
  | 'weakSequence'
  | 'addition'
  | 'weakAddition'
  | 'requestPhrases'
  | 'deictics'
  | 'continues'
  | 'corrects'
  | 'correctsClosed'
  | 'replaces'
  | 'replacesClosed';

/** `StrandWords`, made ready to be looked up. */
export type Vocabulary = {
  readonly [List in keyof StrandWords]: List extends PhraseList ? Phrases : ReadonlySet<string>;
};

export interface Token {
  /** Small letters, typographic apostrophes straightened. */
  readonly form: string;
  readonly from: number;
  readonly to: number;
  /** Punctuation or a line break stands between it and the word before; true for the first. */
  readonly afterBreak: boolean;
}

/** Parts by one joiner each, so that a run is read once, however long it is. */
const WORD = /[\p{L}\p{N}][\p{L}\p{M}\p{N}]*(?:[-'’][\p{L}\p{N}][\p{L}\p{M}\p{N}]*)*/gu;
const BREAK = /[^\p{L}\p{N}\s"'“”‘’*_`]/u;

const ready = new WeakMap<StrandWords, Vocabulary>();

/** Made once for each set of lists. */
export function vocabularyOf(words: StrandWords): Vocabulary {
  const known = ready.get(words);
  if (known !== undefined) return known;
  const made: Vocabulary = {
    sequence: phrases(words.sequence),
    weakSequence: phrases(words.weakSequence),
    addition: phrases(words.addition),
    weakAddition: phrases(words.weakAddition),
    bindsMarker: set(words.bindsMarker),
    conditions: set(words.conditions),
    openers: set(words.openers),
    requestVerbs: set(words.requestVerbs),
    questionWords: set(words.questionWords),
    requestPhrases: phrases(words.requestPhrases),
    statementStarters: set(words.statementStarters),
    deictics: phrases(words.deictics),
    openDeictics: set(words.openDeictics),
    afterDeictic: set(words.afterDeictic),
    namedAfter: set(words.namedAfter),
    antecedents: set(words.antecedents),
    negations: set(words.negations),
    continues: phrases(words.continues),
    corrects: phrases(words.corrects),
    correctsClosed: phrases(words.correctsClosed),
    replaces: phrases(words.replaces),
    replacesClosed: phrases(words.replacesClosed),
    afterCommand: set(words.afterCommand),
    abbreviations: set(words.abbreviations),
    noKeywords: set(words.noKeywords),
  };
  ready.set(words, made);
  return made;
}

/** The words of `text` from `from` up to `to`, with their places in `text`. */
export function tokensOf(text: string, from: number, to: number): readonly Token[] {
  const slice = text.slice(from, to);
  const tokens: Token[] = [];
  let end = 0;
  for (const { 0: run, index } of slice.matchAll(WORD)) {
    const gap = slice.slice(end, index);
    const afterBreak = tokens.length === 0 || BREAK.test(gap) || gap.includes('\n');
    end = index + run.length;
    tokens.push({ form: formOf(run), from: from + index, to: from + end, afterBreak });
  }
  return tokens;
}

/** How many words the longest of the phrases has that stands at word `at`; 0 for none. */
export function phraseAt(tokens: readonly Token[], at: number, among: Phrases): number {
  const candidates = among.get(tokens[at]?.form ?? '') ?? [];
  const found = candidates.find((phrase) => phrase.every((form, index) => tokens[at + index]?.form === form));
  return found?.length ?? 0;
}

function formOf(run: string): string {
  return run.toLowerCase().replaceAll('’', "'");
}

function set(list: string): ReadonlySet<string> {
  return new Set(list.split(/\s+/u).filter((word) => word !== ''));
}

function phrases(list: string): Phrases {
  const byFirst = new Map<string, (readonly string[])[]>();
  const all = list.split('|').map((phrase) => phrase.split(/\s+/u).filter((word) => word !== ''));
  for (const phrase of all.toSorted((left, right) => right.length - left.length)) {
    const [first] = phrase;
    if (first !== undefined) byFirst.set(first, [...(byFirst.get(first) ?? []), phrase]);
  }
  return byFirst;
}
