/** A text as the words that carry its subject. */
import { isStopword } from './stopwords.ts';

/** Longer runs are data, not words. */
const MAX_WORD_LENGTH = 256;
/** One class after the first letter, so that a run is read once, however long it is. */
const RUN = /[\p{L}\p{N}_][\p{L}\p{N}\p{M}_./\\-]*/gu;
const SEPARATORS = /[^\p{L}\p{N}\p{M}]+/u;
/** What makes a run one name (`read_file`, `src/a/b.ts`); a hyphen alone does not. */
const NAME_JOINT = /[_./\\]/;
const TRAILING = './\\-';
const SENTENCE_END = /[.!?…。！？\n]/u;
/** Written without spaces: read as overlapping pairs of characters. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const LATIN_ONLY = /^[\w./\\-]*$/;
const PLURAL = /^\p{L}{3,}s$/u;

export interface Word {
  /** Lower case, plural folded: the form that is compared. */
  readonly form: string;
  /** As the text has it, after compatibility normalisation. */
  readonly written: string;
  /** Offset in the normalised text, in code units. */
  readonly at: number;
  /** `part`: of a name such as `read_file`, which is a word of its own. */
  readonly kind: 'word' | 'name' | 'part';
  readonly startsSentence: boolean;
  /** The word before it in the sentence, stopwords and parts skipped; null at its start. */
  readonly previous: string | null;
}

/** Compatibility forms are folded first: `text` is `normalised(text)`. */
export function normalised(text: string): string {
  return text.normalize('NFKC');
}

/** Words in order; stopwords and single Latin letters or digits are left out. */
export function wordsOf(text: string): readonly Word[] {
  const words: Word[] = [];
  let previous: string | null = null;
  let end = 0;
  let startsSentence = true;
  for (const match of text.matchAll(RUN)) {
    const run = trimmed(match[0]);
    if (SENTENCE_END.test(text.slice(end, match.index))) {
      startsSentence = true;
      previous = null;
    }
    end = match.index + run.length;
    if (run.length > MAX_WORD_LENGTH) continue;
    for (const word of wordsOfRun(run)) {
      const paired = !isUnspaced(word.form);
      words.push({ ...word, at: match.index, startsSentence, previous: paired ? previous : null });
      if (word.kind !== 'part') previous = paired ? word.form : null;
    }
    startsSentence = false;
  }
  return words;
}

function trimmed(run: string): string {
  let end = run.length;
  while (end > 1 && TRAILING.includes(run.charAt(end - 1))) end -= 1;
  return run.slice(0, end);
}

type Form = Pick<Word, 'form' | 'written' | 'kind'>;

function wordsOfRun(run: string): readonly Form[] {
  const parts = run.split(SEPARATORS).filter((part) => part !== '');
  const isName = parts.length > 1 && NAME_JOINT.test(run);
  const forms: Form[] = [];
  if (isName && parts.some((part) => !isStopword(part.toLowerCase())))
    forms.push({ form: run.toLowerCase(), written: run, kind: 'name' });
  for (const written of parts)
    for (const form of formsOf(written)) forms.push({ form, written, kind: isName ? 'part' : 'word' });
  return forms;
}

function formsOf(part: string): readonly string[] {
  const lower = part.toLowerCase();
  if (isUnspaced(lower)) return characterPairs(lower);
  if (isStopword(lower) || /^[a-z0-9]$/.test(lower)) return [];
  const folded = PLURAL.test(lower) && !lower.endsWith('ss') ? lower.slice(0, -1) : lower;
  return isStopword(folded) ? [] : [folded];
}

function isUnspaced(text: string): boolean {
  return !LATIN_ONLY.test(text) && UNSPACED.test(text);
}

function characterPairs(run: string): readonly string[] {
  const characters = [...run];
  if (characters.length < 3) return [run];
  return characters.slice(1).map((character, index) => `${characters[index] ?? ''}${character}`);
}
