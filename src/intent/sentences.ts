/** Sentences of a text, and whether one of them asks for something. */
import { commandAt } from './lineage.ts';
import { phraseAt, type Token, tokensOf, type Vocabulary } from './strand-words.ts';

/** In UTF-16 units, `to` not included. */
export interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** A request shows at its beginning: no more of a sentence is looked at. */
const LOOKED_AT = 600;
/** Greetings, courtesies and markers before the verb. */
const MAX_OPENERS = 8;

/** The mark at the end, and the quotes behind it. */
const QUESTION_CHARS = 8;
/** A list item's mark, and the white space around it. */
const ITEM_CHARS = 40;
export const LIST_ITEM = /^[ \t]*(?:[-*•+]|\d{1,3}[.)])[ \t]+/;
/** What follows is looked at apart from it, so that a run of full stops is read once, however long it is. */
const SENTENCE_MARK = /[.!?…;]+["'”’)\]]*|[。！？；]+/gu;
const FULL_WIDTH = /^[。！？；]/u;
const BLANK = /^\s?$/u;
/** So much before a full stop is looked at; no abbreviation is longer. */
const WORD_CHARS = 12;
const LAST_WORD = /[\p{L}\p{N}.]+$/u;
const LIST_NUMBER = /^\s*\d{1,3}$/u;
const ASKS_AT_END = /[?？]["'”’)\]]*\s*$/u;

/** Covers the range, white space between sentences going with the one before. */
export function sentencesOf(text: string, { from, to }: Stretch, vocabulary: Vocabulary): readonly Stretch[] {
  const slice = text.slice(from, to);
  const sentences: Stretch[] = [];
  let start = 0;
  for (const { 0: mark, index } of slice.matchAll(SENTENCE_MARK)) {
    const end = index + mark.length;
    if (!BLANK.test(slice.charAt(end)) && !FULL_WIDTH.test(mark)) continue;
    if (
      mark.startsWith('.') &&
      endsNothing(slice.slice(Math.max(start, index - WORD_CHARS), index), vocabulary)
    )
      continue;
    sentences.push({ from: from + start, to: from + end });
    start = end;
  }
  if (start < slice.length) sentences.push({ from: from + start, to });
  return sentences;
}

/** An abbreviation, or the number of a list item. */
function endsNothing(before: string, { abbreviations }: Vocabulary): boolean {
  if (LIST_NUMBER.test(before)) return true;
  return abbreviations.has((LAST_WORD.exec(before)?.[0] ?? '').toLowerCase());
}

/** Whether any sentence of the range asks. */
export function hasRequest(text: string, range: Stretch, vocabulary: Vocabulary): boolean {
  return sentencesOf(text, range, vocabulary).some((sentence) => asks(text, sentence, vocabulary));
}

/** Whether one sentence asks: a verb in front, a question, a phrase that makes it a request. */
export function asks(text: string, { from, to }: Stretch, vocabulary: Vocabulary): boolean {
  if (ASKS_AT_END.test(text.slice(Math.max(from, to - QUESTION_CHARS), to))) return true;
  const item = LIST_ITEM.exec(text.slice(from, Math.min(to, from + ITEM_CHARS)));
  const start = from + (item?.[0].length ?? 0);
  return asksInWords(tokensOf(text, start, Math.min(to, start + LOOKED_AT)), vocabulary);
}

export function asksInWords(tokens: readonly Token[], vocabulary: Vocabulary): boolean {
  const at = afterOpeners(tokens, vocabulary);
  const first = tokens[at];
  if (first !== undefined && isVerb(first, tokens[at + 1], vocabulary)) return true;
  if (commandAt(tokens, vocabulary) !== null) return true;
  return tokens.some((_, index) => phraseAt(tokens, index, vocabulary.requestPhrases) > 0);
}

/** Index of the first word that is neither courtesy nor marker; the first word where all of them are. */
export function afterOpeners(tokens: readonly Token[], vocabulary: Vocabulary): number {
  let at = 0;
  for (let skipped = 0; skipped < MAX_OPENERS && at < tokens.length; skipped++) {
    const marker = markerAt(tokens, at, vocabulary)?.words ?? 0;
    const opener = vocabulary.openers.has(tokens[at]?.form ?? '') ? 1 : 0;
    if (marker === 0 && opener === 0) break;
    at += Math.max(marker, opener);
  }
  return at < tokens.length ? at : 0;
}

export interface Marker {
  readonly kind: 'sequence' | 'addition';
  /** Weak ones need a beginning before them, strong ones none. */
  readonly strength: 'strong' | 'weak';
  readonly words: number;
}

export function markerAt(tokens: readonly Token[], at: number, vocabulary: Vocabulary): Marker | null {
  const strong = phraseAt(tokens, at, vocabulary.sequence);
  if (strong > 0) return { kind: 'sequence', strength: 'strong', words: strong };
  const added = phraseAt(tokens, at, vocabulary.addition);
  if (added > 0) return { kind: 'addition', strength: 'strong', words: added };
  const weak = phraseAt(tokens, at, vocabulary.weakSequence);
  if (weak > 0) return { kind: 'sequence', strength: 'weak', words: weak };
  const also = phraseAt(tokens, at, vocabulary.weakAddition);
  return also > 0 ? { kind: 'addition', strength: 'weak', words: also } : null;
}

/** Known as one, or a word that nothing is known of with an object right behind it: "frobnicate the widgets". */
function isVerb(first: Token, next: Token | undefined, vocabulary: Vocabulary): boolean {
  const { requestVerbs, questionWords, statementStarters, antecedents, openDeictics, deictics } = vocabulary;
  if (requestVerbs.has(first.form) || questionWords.has(first.form)) return true;
  if (statementStarters.has(first.form) || /^\p{N}/u.test(first.form)) return false;
  if (next === undefined || next.afterBreak) return false;
  return antecedents.has(next.form) || openDeictics.has(next.form) || phraseAt([next], 0, deictics) > 0;
}
