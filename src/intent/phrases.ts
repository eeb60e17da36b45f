/** Phrases of a lexicon made ready to be looked for among the words of a text. */

/** What a phrase stands for, and how many words it has. */
export interface Found<Meaning> {
  readonly meaning: Meaning;
  readonly words: number;
}

interface Entry<Meaning> {
  readonly pattern: readonly string[];
  readonly meaning: Meaning;
}

/** The entries by their first word, the longest and most literal first. */
export type PhraseTable<Meaning> = ReadonlyMap<string, readonly Entry<Meaning>[]>;

const WILD = /[*#]/u;
/** "class", "status" and "analysis" are no plurals. */
const PLURAL = /[^sui]s$/u;
const FIGURE = /\p{N}/u;

const sets = new WeakMap<readonly string[], ReadonlySet<string>>();
const tables = new WeakMap<readonly string[], PhraseTable<true>>();

/** A word as it is compared: a hyphenated one counts as the word it makes. */
export function comparedForm(word: string): string {
  return word.replace(/[-‐‑]/gu, '');
}

/** A list of single words, made into a set once. */
export function setOf(list: readonly string[]): ReadonlySet<string> {
  const known = sets.get(list);
  if (known !== undefined) return known;
  const made = new Set(list.map(comparedForm));
  sets.set(list, made);
  return made;
}

/** A list of phrases, made into a table once. */
export function tableOf(list: readonly string[]): PhraseTable<true> {
  const known = tables.get(list);
  if (known !== undefined) return known;
  const made = phraseTable(list.map((phrase) => [phrase, true] as const));
  tables.set(list, made);
  return made;
}

/** Of two equal phrases the first counts. */
export function phraseTable<Meaning>(
  phrases: Iterable<readonly [phrase: string, meaning: Meaning]>,
): PhraseTable<Meaning> {
  const table = new Map<string, Entry<Meaning>[]>();
  for (const [phrase, meaning] of phrases) {
    const pattern = phrase.split(' ').map(comparedForm);
    const [first = ''] = pattern;
    const entries = table.get(first) ?? [];
    entries.push({ pattern, meaning });
    table.set(first, entries);
  }
  for (const entries of table.values())
    entries.sort((a, b) => b.pattern.length - a.pattern.length || wildness(a.pattern) - wildness(b.pattern));
  return table;
}

/** The longest phrase that begins at `at`; null when none does. */
export function phraseAt<Meaning>(
  forms: readonly string[],
  at: number,
  table: PhraseTable<Meaning>,
): Found<Meaning> | null {
  for (const { pattern, meaning } of table.get(forms[at] ?? '') ?? [])
    if (pattern.every((part, index) => fits(forms[at + index], part)))
      return { meaning, words: pattern.length };
  return null;
}

/** The first phrase that stands anywhere from `from` up to `to`. */
export function phraseWithin(
  forms: readonly string[],
  list: readonly string[],
  from = 0,
  to = forms.length,
): boolean {
  const table = tableOf(list);
  for (let at = from; at < to; at++) if (phraseAt(forms, at, table) !== null) return true;
  return false;
}

function fits(form: string | undefined, part: string): boolean {
  if (form === undefined) return false;
  if (part === '*') return true;
  if (part === '#') return FIGURE.test(form);
  if (!part.startsWith('*')) return form === part;
  if (part === '*s') return form.length > 3 && PLURAL.test(form);
  const ending = part.slice(1);
  return form.endsWith(ending) && form.length > ending.length + 1;
}

function wildness(pattern: readonly string[]): number {
  return pattern.filter((part) => WILD.test(part)).length;
}
