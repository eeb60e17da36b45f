/** Shortens a text by keeping its most telling sentences, in their order and word for word. */
import { isHeading, sentencesOf, withoutGutter } from './evidence.ts';
import { turnLineOf } from './pointers.ts';

/** Signs that a sentence records a decision, a change or something unfinished. */
const TELLING =
  /\b(?:not|never|no longer|instead|correct(?:ed|ion)|chang(?:ed|es)|decid(?:ed|es)|approv(?:ed|al)|refus(?:ed|al)|fail(?:ed|ure|s)?|must|open|pending|because|therefore)\b/i;
/** Figures, dotted and joined names, and capitals inside a sentence. */
const MARKS = /\d+|[A-Za-z]\w*[._/][A-Za-z]\w*|(?<=[\w,;] )[A-Z]\w+/g;
const SENTENCE_LIMIT = /\b(?:at most|up to|within|under|no more than|about|in|≤|<=?)\s*(\d{1,4})\s+words?\b/i;

/** Up to so many words a line that stands for a turn is taken whole: apart, its sentences would name no turn. */
const TURN_LINE_WORDS = 80;
/** What only says that a summary follows or is wanted. */
const FRAMING = /\bsummar\w*\b.*:$/i;

/** `maxWords` bounds the result; one sentence always stays, cut at the bound if it must be. */
export function summarise(text: string, maxWords: number): string {
  const sentences = text
    .split('\n')
    .map((line) => withoutGutter(line.replace(/\[evidence:[^\]]*\]/g, '')).trim())
    .filter((line) => line !== '' && !/^[-=`|~#*\s]+$/.test(line) && !FRAMING.test(line))
    .flatMap((line) => (isHeading(line) || isTurn(line) ? [line] : sentencesOf(line)));
  const scored = sentences.map((sentence, index) => ({
    sentence,
    index,
    words: wordCount(sentence),
    worth: worthOf(sentence, index),
  }));
  const kept: typeof scored = [];
  let left = maxWords;
  for (const one of scored.toSorted((a, b) => b.worth - a.worth || a.index - b.index)) {
    if (one.words > left) continue;
    kept.push(one);
    left -= one.words;
  }
  if (kept.length === 0) return (sentences[0] ?? '').split(/\s+/).slice(0, maxWords).join(' ');
  return kept
    .toSorted((a, b) => a.index - b.index)
    .map((one, at) => `${at === 0 ? '' : isTurn(one.sentence) ? '\n' : ' '}${one.sentence}`)
    .join('');
}

function isTurn(line: string): boolean {
  return turnLineOf(line) !== null && wordCount(line) <= TURN_LINE_WORDS;
}

/** The length an instruction asks for; null when it names none. */
export function askedWords(instruction: string): number | null {
  const found = SENTENCE_LIMIT.exec(instruction)?.[1];
  return found === undefined ? null : Number(found);
}

/** Facts a word: figures, names, files and codes, with a little for standing first. */
function worthOf(sentence: string, index: number): number {
  const marks = sentence.match(MARKS)?.length ?? 0;
  const telling = TELLING.test(sentence) ? 2 : 0;
  return (1 + marks + telling + (index === 0 ? 3 : 0)) / Math.sqrt(Math.max(4, wordCount(sentence)));
}

function wordCount(text: string): number {
  return text.match(/\S+/g)?.length ?? 0;
}
