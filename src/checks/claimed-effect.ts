/** Whether a text claims that its writer has changed something outside the text. */
import { partsOf } from './code-blocks.ts';
import type { CheckLexicon } from './lexicon/index.ts';
import { holdsPhrase, phraseEnd, phrasesOf, type Sentence, sentencesOf, skipWords } from './sentences.ts';

const QUOTED = /"[^"\n]*"|“[^”\n]*”/gu;
const QUOTED_LINE = /^\s*>/u;
/** `notes.txt`, `src/main`: a thing that is kept. */
const PATH = /[\p{L}\p{N}_-]\.[a-z][a-z0-9]{0,4}(?![\p{L}\p{N}])|[\p{L}\p{N}_.~-]\/[\p{L}\p{N}_.-]/u;

/**
 * "I have deployed it", "Done: saved the report". What can be done in a reply, such as writing, counts where the
 * sentence names a thing that is kept and the reply does not show the work itself. Letters speak for their writer,
 * and quotations and conditions claim nothing.
 */
export function claimsEffect(text: string, lexicon: CheckLexicon): boolean {
  const parts = partsOf(text);
  const showsWork = parts.some(({ kind }) => kind === 'block');
  const letterOpenings = phrasesOf(lexicon.letterOpenings);
  const lines = parts.flatMap((part) => (part.kind === 'prose' ? part.text.split('\n') : []));
  const words = claimWords(lexicon);
  let claims = false;
  for (const line of lines) {
    if (QUOTED_LINE.test(line)) continue;
    const sentences = sentencesOf(line.replaceAll(QUOTED, ' '));
    if (phraseEnd(sentences[0]?.tokens ?? [], 0, letterOpenings) !== null) return false;
    claims ||= sentences.some((sentence) => claimsIn(sentence, PATH.test(line), showsWork, words));
  }
  return claims;
}

type ClaimWords = ReturnType<typeof claimWords>;

function claimWords(lexicon: CheckLexicon) {
  return {
    openers: phrasesOf(lexicon.claimOpeners),
    fillers: new Set(lexicon.afterClaimOpener),
    doneLeads: phrasesOf(lexicon.doneLeads),
    worldEffects: new Set(lexicon.worldEffects),
    textEffects: new Set(lexicon.textEffects),
    keptThings: new Set(lexicon.keptThings),
    shownCues: phrasesOf(lexicon.shownCues),
    conditions: phrasesOf(lexicon.claimConditions),
  } as const;
}

function claimsIn(
  { tokens, end }: Sentence,
  namesPath: boolean,
  showsWork: boolean,
  words: ClaimWords,
): boolean {
  if (end === '?') return false;
  const inWorld =
    !showsWork &&
    tokens.at(-1) !== ':' &&
    !holdsPhrase(tokens, words.shownCues) &&
    (namesPath || tokens.some((token) => words.keptThings.has(token)));
  return tokens.some((_, at) => {
    const verb = verbOfClaim(tokens, at, words);
    if (verb === null) return false;
    const effect = tokens[verb] ?? '';
    if (!words.worldEffects.has(effect) && !(inWorld && words.textEffects.has(effect))) return false;
    return !holdsPhrase(tokens.slice(0, at), words.conditions);
  });
}

/** Where the verb of a claim that opens at `at` stands; null where none opens. */
function verbOfClaim(tokens: readonly string[], at: number, words: ClaimWords): number | null {
  const opened = phraseEnd(tokens, at, words.openers);
  if (opened !== null) return skipWords(tokens, opened, words.fillers);
  const done = at === 0 ? phraseEnd(tokens, at, words.doneLeads) : null;
  if (done === null) return null;
  return [':', ',', '–', '—'].includes(tokens[done] ?? '') ? done + 1 : null;
}
