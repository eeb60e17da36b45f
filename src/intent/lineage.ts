/**
 * How a part of a directive stands to what was asked before. The words alone say whether it goes on, corrects or
 * replaces; which thread is meant, the earlier threads say. No word stops, pauses or cancels anything.
 */
import type { Act, Strand } from '../ledger/reading.ts';
import {
  phraseAt,
  type StrandWords,
  type Token,
  tokensOf,
  type Vocabulary,
  vocabularyOf,
} from './strand-words.ts';

type Lineage = Strand['lineage'];

/** Older threads are not gone on with. */
const OPEN_THREADS = 12;
/** One shared word goes on with a thread; it takes two to say that two threads are one. */
const MERGE_WORDS = 2;
/** A command stands at the beginning; courtesies before it are few. */
const MAX_BEFORE_COMMAND = 4;
/** What points back stands near the verb; further on, a part has named something itself. */
const DEICTIC_WORDS = 5;
/** A subject is named in the first of a part's words, if anywhere. */
const KEYWORD_CHARS = 2_000;
const MIN_KEYWORD_CHARS = 3;

export interface Thread {
  /** As `threadId` gives it. */
  readonly id: string;
  readonly act: Act;
  /** As `keywordsOf` gives them. */
  readonly keywords: ReadonlySet<string>;
}

/** A part, with the lineage that its words alone give it. */
export interface PlacedStrand {
  readonly act: Act;
  readonly lineage: Lineage;
  readonly keywords: ReadonlySet<string>;
}

export interface Placed {
  readonly lineage: Lineage;
  /** The thread it goes on with, corrects or replaces; null opens one. */
  readonly thread: string | null;
  /** Other threads that it shows to be the same. */
  readonly merges: readonly string[];
}

/** `T4.0`: the first part of turn 4. */
export function threadId(turn: number, strand: number): string {
  return `T${turn}.${strand}`;
}

/**
 * `threads` oldest first. Words that point back mean the newest thread of the act, else the newest; a part that only
 * shares a subject word goes on where the act is the same, too. With no thread open, every part is new.
 */
export function threadOf({ act, lineage, keywords }: PlacedStrand, threads: readonly Thread[]): Placed {
  const open = threads.slice(-OPEN_THREADS).toReversed();
  const shared = (thread: Thread) => [...keywords].filter((word) => thread.keywords.has(word)).length;
  const related = open.find((thread) => thread.act === act && shared(thread) > 0);
  const meant =
    lineage === 'new' ? related : (related ?? open.find((thread) => thread.act === act) ?? open[0]);
  if (meant === undefined) return { lineage: 'new', thread: null, merges: [] };
  const merges = open.filter((thread) => thread !== meant && shared(thread) >= MERGE_WORDS);
  return {
    lineage: lineage === 'new' ? 'continues' : lineage,
    thread: meant.id,
    merges: merges.map(({ id }) => id),
  };
}

/** Small-letter words that name a subject: no question words, no verbs of asking, no courtesies. */
export function keywordsOf(text: string, words: StrandWords): ReadonlySet<string> {
  const { noKeywords, questionWords, requestVerbs, openers } = vocabularyOf(words);
  const none = [noKeywords, questionWords, requestVerbs, openers];
  const forms = tokensOf(text, 0, Math.min(text.length, KEYWORD_CHARS)).map(({ form }) => form);
  return new Set(
    forms.filter((form) => form.length >= MIN_KEYWORD_CHARS && !none.some((list) => list.has(form))),
  );
}

/** What a command in front of the words makes of what was asked before; null where none stands there. */
export function commandAt(tokens: readonly Token[], vocabulary: Vocabulary): Exclude<Lineage, 'new'> | null {
  const { corrects, correctsClosed, replaces, replacesClosed, continues, openers, negations } = vocabulary;
  for (let at = 0; at < Math.min(tokens.length, MAX_BEFORE_COMMAND); at++) {
    const closed = (phrases: Vocabulary['replacesClosed']) => {
      const words = phraseAt(tokens, at, phrases);
      return words > 0 && namesNothing(tokens[at + words], vocabulary);
    };
    if (phraseAt(tokens, at, replaces) > 0 || closed(replacesClosed)) return 'replaces';
    if (phraseAt(tokens, at, corrects) > 0 || closed(correctsClosed)) return 'corrects';
    if (phraseAt(tokens, at, continues) > 0) return 'continues';
    const form = tokens[at]?.form ?? '';
    if (negations.has(form) || !openers.has(form)) return null;
  }
  return null;
}

/** Whether the words, courtesies left off, point at something that they do not name themselves. */
export function pointsBack(tokens: readonly Token[], vocabulary: Vocabulary): boolean {
  const { deictics, openDeictics, afterDeictic, antecedents, namedAfter } = vocabulary;
  for (const [at, { form }] of tokens.slice(0, DEICTIC_WORDS).entries()) {
    const words = phraseAt(tokens, at, deictics);
    if (words > 0 && !namedAfter.has(tokens[at + words]?.form ?? '')) return true;
    if (antecedents.has(form)) return false;
    const next = tokens[at + 1];
    const isOpen = next === undefined || next.afterBreak || afterDeictic.has(next.form);
    if (openDeictics.has(form) && isOpen) return true;
  }
  return false;
}

function namesNothing(next: Token | undefined, { afterCommand, requestVerbs }: Vocabulary): boolean {
  return next === undefined || next.afterBreak || afterCommand.has(next.form) || requestVerbs.has(next.form);
}
