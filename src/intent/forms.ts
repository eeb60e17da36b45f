/** Which cards a request asks its result to be: by their name where they are to be made, not where they are mentioned. */
import type { Lexicon } from './lexicon/index.ts';
import {
  type Found,
  type PhraseTable,
  phraseAt,
  phraseTable,
  phraseWithin,
  setOf,
  tableOf,
} from './phrases.ts';
import { type AskingSentence, askingSentences } from './requests.ts';
import { scannedText } from './scanned.ts';
import { isOneOf, requestText } from './words.ts';

/** "A nice sorted table": so many words may describe it. */
const DESCRIBING_WORDS = 2;
/** The longest way to introduce a form: "in the form of a". */
const INTRODUCING_WORDS = 5;
const NEGATED_WITHIN = 5;

interface Names {
  readonly nouns: PhraseTable<string>;
  /** After "as a" a type's own name serves too. */
  readonly afterAs: PhraseTable<string>;
  readonly verbs: PhraseTable<string>;
  readonly manners: PhraseTable<string>;
}

/** The asked ones of `types`, in their order; "as a <type>" serves any of them, a hyphen read as a space. */
export function formsAsked(text: string, types: readonly string[], lexicon: Lexicon): readonly string[] {
  const names = namesOf(types, lexicon);
  const asked = new Set<string>();
  for (const sentence of askingSentences(requestText(scannedText(text, []), lexicon), lexicon)) {
    const before = asked.size;
    for (let at = 0; at < sentence.forms.length; at++) {
      const type = formAt(sentence, at, { names, more: asked.size > before }, lexicon);
      if (type !== null) asked.add(type);
    }
  }
  return types.filter((type) => asked.has(type));
}

/** `more`: the sentence asked for one before. */
function formAt(
  sentence: AskingSentence,
  at: number,
  { names, more }: { readonly names: Names; readonly more: boolean },
  lexicon: Lexicon,
): string | null {
  const { forms } = sentence;
  if (phraseAt(forms, at, tableOf(lexicon.forms.exceptions)) !== null) return null;
  if (isNegated(sentence, at, lexicon)) return null;
  const manner = phraseAt(forms, at, names.manners);
  if (manner !== null && mayPresent(sentence, lexicon)) return manner.meaning;
  const verb = phraseAt(forms, at, names.verbs);
  if (verb !== null && isVerb(sentence, at, verb.words, lexicon)) return verb.meaning;
  const named = phraseAt(forms, at, names.afterAs);
  if (named !== null && endsThere(sentence, at, named, lexicon) && isPresented(sentence, at, lexicon))
    return named.meaning;
  const noun = phraseAt(forms, at, names.nouns);
  if (noun === null || !endsThere(sentence, at, noun, lexicon)) return null;
  if (more && isAlso(sentence, at, lexicon)) return noun.meaning;
  return isMade(sentence, at, noun.words, lexicon) ? noun.meaning : null;
}

/** "As a table", or "in a table" after a verb that presents. */
function isPresented(sentence: AskingSentence, at: number, lexicon: Lexicon): boolean {
  const { forms, asks } = sentence;
  const { as, inside, beingAs, presenting } = lexicon.forms;
  if (!mayPresent(sentence, lexicon)) return false;
  for (let start = Math.max(0, at - INTRODUCING_WORDS - DESCRIBING_WORDS); start < at; start++) {
    const said = phraseAt(forms, start, tableOf(as));
    if (said !== null && isClose(sentence, start + said.words, at, lexicon))
      if (!setOf(beingAs).has(forms[start - 1] ?? '')) return true;
    const within = phraseAt(forms, start, tableOf(inside));
    if (within !== null && isClose(sentence, start + within.words, at, lexicon))
      if (asks.some((ask) => isOneOf(forms[ask.at] ?? '', presenting))) return true;
  }
  return false;
}

/** An account of something asks for no form: it has a verb and is no request. */
function mayPresent({ manner, forms }: AskingSentence, { grammar }: Lexicon): boolean {
  return manner !== 'statement' || !forms.some((form) => setOf(grammar.auxiliaries).has(form));
}

/** "Make me a chart", "a chart of …", "chart of …". */
function isMade(sentence: AskingSentence, at: number, nounWords: number, lexicon: Lexicon): boolean {
  const { forms, asks, manner } = sentence;
  const first = asks[0]?.at ?? 0;
  const isAsked = phraseAt(forms, first, tableOf(lexicon.light)) !== null;
  if (standsElsewhere(forms, at + nounWords, lexicon)) return false;
  const article = articleBefore(sentence, at, lexicon);
  if (article === null)
    return at === first && lexicon.grammar.prepositions.includes(forms[at + nounWords] ?? '');
  if (article === first) return true;
  let verb = article - 1;
  while (verb > first && setOf(lexicon.forms.between).has(forms[verb] ?? '')) verb -= 1;
  return isOneOf(forms[verb] ?? '', lexicon.forms.making) && (manner === 'request' || isAsked);
}

/** "A chart and a table". */
function isAlso(sentence: AskingSentence, at: number, lexicon: Lexicon): boolean {
  const article = articleBefore(sentence, at, lexicon);
  return article !== null && setOf(lexicon.grammar.joiners).has(sentence.forms[article - 1] ?? '');
}

function articleBefore(sentence: AskingSentence, at: number, lexicon: Lexicon): number | null {
  for (let article = at - 1; article >= Math.max(0, at - 1 - DESCRIBING_WORDS); article--)
    if (setOf(lexicon.forms.articles).has(sentence.forms[article] ?? ''))
      return isClose(sentence, article + 1, at, lexicon) ? article : null;
  return null;
}

/** Only words that describe the noun stand between. */
function isClose({ forms, words }: AskingSentence, from: number, at: number, { grammar }: Lexicon): boolean {
  if (from > at || at - from > DESCRIBING_WORDS) return false;
  const parting = [grammar.determiners, grammar.prepositions, grammar.conjunctions, grammar.auxiliaries];
  for (let index = from; index < at; index++)
    if (parting.some((list) => setOf(list).has(forms[index] ?? '')) || words[index]?.opensClause === true)
      return false;
  return true;
}

/** The noun is the head of its phrase: in "chart component" it is not. */
function endsThere(
  { forms, words }: AskingSentence,
  at: number,
  { words: length }: Found<string>,
  lexicon: Lexicon,
): boolean {
  const { grammar, forms: named } = lexicon;
  const isCard = named.card.includes(forms[at + length] ?? '') ? 1 : 0;
  const next = at + length + isCard;
  if (next >= forms.length || words[next]?.opensClause === true) return true;
  const follows = [
    grammar.prepositions,
    grammar.conjunctions,
    grammar.joiners,
    grammar.auxiliaries,
    named.after,
  ];
  return follows.some((list) => setOf(list).has(forms[next] ?? ''));
}

/** "A table in the database". */
function standsElsewhere(
  forms: readonly string[],
  next: number,
  { forms: named, grammar }: Lexicon,
): boolean {
  if (!setOf(named.into).has(forms[next] ?? '')) return false;
  const determined = setOf(grammar.determiners).has(forms[next + 1] ?? '') ? 2 : 1;
  return [0, 1].some((further) => isOneOf(forms[next + determined + further] ?? '', named.elsewhere));
}

/** It opens a request and has an object. */
function isVerb(
  { asks, forms, words }: AskingSentence,
  at: number,
  length: number,
  { grammar }: Lexicon,
): boolean {
  const next = forms[at + length];
  if (next === undefined || words[at + length]?.opensClause === true) return false;
  return (
    asks.some((ask) => ask.at === at) &&
    ![grammar.prepositions, grammar.auxiliaries].some((list) => setOf(list).has(next))
  );
}

function isNegated({ forms, words }: AskingSentence, at: number, { forms: named }: Lexicon): boolean {
  let from = at;
  while (from > 0 && from > at - NEGATED_WITHIN && words[from]?.opensClause !== true) from -= 1;
  return phraseWithin(forms, named.negations, from, at);
}

function namesOf(types: readonly string[], { forms: { nouns, verbs, manners } }: Lexicon): Names {
  const known = new Set(types);
  const of = (lists: Readonly<Record<string, readonly string[]>>) =>
    Object.entries(lists).flatMap(([type, list]) =>
      known.has(type) ? list.map((phrase) => [phrase, type] as const) : [],
    );
  const own = types.map((type) => [type.toLowerCase().replaceAll('-', ' '), type] as const);
  return {
    nouns: phraseTable(of(nouns)),
    afterAs: phraseTable([...own, ...of(nouns)]),
    verbs: phraseTable(of(verbs)),
    manners: phraseTable(of(manners)),
  };
}
