/** What a request is about, as written: names, figures, quotations and files. */
import type { Lexicon } from './lexicon/index.ts';
import { setOf } from './phrases.ts';
import { cueAt } from './requests.ts';
import type { RequestText, Sentence, Word } from './words.ts';

const MAX_ENTITIES = 12;
/** A longer one is material, no name. */
const MAX_ENTITY_CHARS = 120;
const MIN_DIGITS = 2;
const DIGIT = /\p{N}/gu;
const CAPITAL = /^\p{Lu}/u;
/** A capital, or a digit beside letters, past the beginning: `iPhone`, `OpenAI`, `GPT-6`. */
const INNER_CAPITAL = /^.\P{Lu}*\p{Lu}/u;
const LETTER = /\p{L}/u;
const SHOUTED = /^\P{Ll}+$/u;

interface Entity {
  readonly text: string;
  readonly at: number;
}

/** Each once, in order of appearance, at most 12. A capital that only begins a sentence makes no name. */
export function entitiesOf({ sentences, quotations }: RequestText, lexicon: Lexicon): readonly string[] {
  const shouted = isShouted(sentences);
  const found: Entity[] = [
    ...quotations.map(({ text, at }) => ({ text: text.trim(), at })),
    ...sentences.flatMap((sentence) => namedIn(sentence, shouted, lexicon)),
  ];
  const texts = found
    .filter(({ text }) => text !== '' && text.length <= MAX_ENTITY_CHARS)
    .sort((a, b) => a.at - b.at)
    .map(({ text }) => text);
  return [...new Set(texts)].slice(0, MAX_ENTITIES);
}

function namedIn({ words }: Sentence, shouted: boolean, lexicon: Lexicon): readonly Entity[] {
  const found: Entity[] = [];
  let run: Word[] = [];
  const close = (): void => {
    const [first] = run;
    if (first !== undefined)
      found.push({ text: run.map(({ written }) => bare(written)).join(' '), at: first.at });
    run = [];
  };
  for (const [index, word] of words.entries()) {
    if (word.written === words[index - 1]?.written && word.at === words[index - 1]?.at) continue;
    if (word.opensClause) close();
    const capital = !shouted && word.kind === 'word' && isCapital(words, index, lexicon);
    if (capital) run.push(word);
    else if (word.kind === 'figure' && run.length > 0 && !word.opensClause) run.push(word);
    else close();
    if (!capital && run.length === 0 && isThing(word)) found.push({ text: word.written, at: word.at });
  }
  close();
  return found;
}

function isThing({ kind, written }: Word): boolean {
  if (kind === 'figure') return (written.match(DIGIT)?.length ?? 0) >= MIN_DIGITS;
  return kind === 'name' && LETTER.test(written);
}

/** At the beginning of a sentence a capital counts in a name of two words, or with another inside. */
function isCapital(words: readonly Word[], index: number, lexicon: Lexicon): boolean {
  const word = words[index];
  if (word === undefined || !CAPITAL.test(word.written)) return word !== undefined && hasInnerCapital(word);
  if (isPlainWord(word, lexicon)) return false;
  if (index > 0 || hasInnerCapital(word)) return word.written.length > 1;
  const next = words[1];
  if (next === undefined || next.opensClause || isPlainWord(next, lexicon)) return false;
  return CAPITAL.test(next.written) && cueAt([word.form], 0, lexicon) === null;
}

function hasInnerCapital({ written }: Word): boolean {
  return INNER_CAPITAL.test(written);
}

/** A question word or another that names nothing. */
function isPlainWord({ form, written }: Word, { grammar }: Lexicon): boolean {
  const lists = [
    grammar.stopwords,
    grammar.questionWords,
    grammar.auxiliaries,
    grammar.pronouns,
    grammar.openers,
  ];
  return !hasTwoCapitals(written) && lists.some((list) => setOf(list).has(form));
}

/** "IT" and "US" are names where "It" and "us" are words. */
function hasTwoCapitals(written: string): boolean {
  return /^\p{Lu}{2,}$/u.test(written);
}

/** All in capitals: they tell nothing. */
function isShouted(sentences: readonly Sentence[]): boolean {
  const words = sentences.flatMap((sentence) => sentence.words.filter(({ written }) => LETTER.test(written)));
  return words.length > 1 && words.every(({ written }) => SHOUTED.test(written));
}

/** A name without the mark of its owner. */
function bare(written: string): string {
  return written.replace(/['’]s$/u, '');
}
