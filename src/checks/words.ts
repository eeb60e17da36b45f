/** A text as the words that are compared: lower case, compatibility forms folded, marks kept. */

const RUN = /[\p{L}\p{M}\p{N}]+/gu;
/** Scripts without spaces between words are read as overlapping pairs of characters. */
const UNSPACED = String.raw`\p{scx=Hani}\p{scx=Hira}\p{scx=Kana}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}`;
const HAS_UNSPACED = new RegExp(`[${UNSPACED}]`, 'u');
const SAME_SPACING = new RegExp(`[${UNSPACED}]+|[^${UNSPACED}]+`, 'gu');
/** What a JSON string hides of the words it holds. */
const JSON_ESCAPE = /\\(?:u([0-9a-f]{4})|[nrtbf/"\\])/giu;

/** In order, one at a time: a reader may stop at the first word it looked for. */
export function* wordsOf(text: string): Generator<string, void, void> {
  for (const [run] of text.normalize('NFKC').toLowerCase().matchAll(RUN)) {
    if (HAS_UNSPACED.test(run)) yield* mixedWords(run);
    else yield run;
  }
}

/** As above; a text with JSON escapes is read a second time without them, because `\nfirst` is no word. */
export function* wordsOfEvidence(text: string): Generator<string, void, void> {
  yield* wordsOf(text);
  if (text.includes('\\')) yield* wordsOf(withoutEscapes(text));
}

/** Whether a word is one of a script without spaces, whose pairs are shorter than words elsewhere. */
export function isUnspaced(word: string): boolean {
  return HAS_UNSPACED.test(word);
}

function* mixedWords(run: string): Generator<string, void, void> {
  for (const [part] of run.matchAll(SAME_SPACING)) {
    if (HAS_UNSPACED.test(part)) yield* characterPairs(part);
    else yield part;
  }
}

function* characterPairs(part: string): Generator<string, void, void> {
  let previous: string | null = null;
  let pairs = 0;
  for (const character of part) {
    if (previous !== null) {
      yield previous + character;
      pairs += 1;
    }
    previous = character;
  }
  if (pairs === 0) yield part;
}

function withoutEscapes(text: string): string {
  return text.replace(JSON_ESCAPE, (_, code: string | undefined) =>
    code === undefined ? ' ' : String.fromCharCode(Number.parseInt(code, 16)),
  );
}
