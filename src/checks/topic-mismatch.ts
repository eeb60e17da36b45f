/** Whether a card is about something else than its turn. */
import type { Json } from '../ledger/json.ts';
import { textsOf } from './json-texts.ts';
import type { CheckLexicon } from './lexicon/index.ts';
import { isUnspaced, wordsOf, wordsOfEvidence } from './words.ts';

const LEAST_WORD_LENGTH = 3;
const LETTER = /\p{L}/u;

/**
 * Asked only once a retrieval of this turn succeeded. `evidence` is the whole text of its results. A card whose
 * input says nothing in words, and a turn without words, are on topic.
 */
export function isOffTopic(
  given: {
    readonly card: { readonly tool: string; readonly args: Json };
    readonly directive: string;
    readonly evidence: readonly string[];
  },
  lexicon: CheckLexicon,
): boolean {
  const stopwords = new Set(lexicon.topicStopwords);
  const shown = shownWords(given.card.args, stopwords, new Set(lexicon.structuralNames));
  if (![...shown].some((word) => LETTER.test(word))) return false;
  for (const word of topicWords(wordsOf(given.card.tool), stopwords)) shown.add(word);
  let speaks = false;
  for (const word of contextWords(given.directive, given.evidence, stopwords)) {
    if (shown.has(word)) return false;
    speaks = true;
  }
  return speaks;
}

/** Names that every card has say nothing of what this one is about. */
function shownWords(
  args: Json,
  stopwords: ReadonlySet<string>,
  structuralNames: ReadonlySet<string>,
): Set<string> {
  const shown = new Set<string>();
  for (const { text, isName } of textsOf(args)) {
    if (isName && structuralNames.has(text.toLowerCase())) continue;
    for (const word of topicWords(wordsOf(text), stopwords)) shown.add(word);
  }
  return shown;
}

function* contextWords(
  directive: string,
  evidence: readonly string[],
  stopwords: ReadonlySet<string>,
): Generator<string, void, void> {
  yield* topicWords(wordsOf(directive), stopwords);
  for (const text of evidence) yield* topicWords(wordsOfEvidence(text), stopwords);
}

function* topicWords(words: Iterable<string>, stopwords: ReadonlySet<string>): Generator<string, void, void> {
  for (const word of words)
    if ((word.length >= LEAST_WORD_LENGTH || isUnspaced(word)) && !stopwords.has(word)) yield word;
}
