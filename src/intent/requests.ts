/** Where a sentence asks for something: the words that open each request, past courtesies and conditions. */
import { ACTS, type Act } from '../ledger/reading.ts';
import type { Lexicon } from './lexicon/index.ts';
import { type Found, type PhraseTable, phraseAt, phraseTable, setOf, tableOf } from './phrases.ts';
import type { RequestText, Sentence } from './words.ts';

export type Strength = 'strong' | 'fair';

export interface Cue {
  readonly act: Act;
  readonly strength: Strength;
}

/** One thing that is asked: its first word past the courtesies, and the cue that stands there. */
export interface Ask {
  readonly at: number;
  readonly cue: Found<Cue> | null;
}

/** Only a request has something done; a question, whatever it is about, has nothing done. */
export type Manner = 'request' | 'question' | 'statement';

export interface AskingSentence extends Sentence {
  readonly manner: Manner;
  /** Begins with an auxiliary: the answer is yes or no. */
  readonly yesOrNo: boolean;
  /** In order; the first is where the sentence itself begins, cue or not. */
  readonly asks: readonly Ask[];
}

/** Courtesies pile up; what is longer than this is no courtesy. */
const MAX_LEAD_INS = 12;

interface Openings {
  readonly cues: PhraseTable<Cue>;
  readonly leadIns: PhraseTable<'polite' | 'plain'>;
}

const ready = new WeakMap<Lexicon, Openings>();

export function askingSentences(text: RequestText, lexicon: Lexicon): readonly AskingSentence[] {
  return text.sentences.map((sentence) => asking(sentence, lexicon));
}

/** The cue that stands at a word; null when none does. */
export function cueAt(forms: readonly string[], at: number, lexicon: Lexicon): Found<Cue> | null {
  return phraseAt(forms, at, openingsOf(lexicon).cues);
}

function asking(sentence: Sentence, lexicon: Lexicon): AskingSentence {
  const { at, polite } = firstAsked(sentence, lexicon);
  const yesOrNo = isYesOrNo(sentence, at, lexicon);
  const first: Ask = {
    at,
    cue: yesOrNo && isBare(sentence, at, lexicon) ? null : cueAt(sentence.forms, at, lexicon),
  };
  const asks = [first, ...laterAsks(sentence, first, lexicon)];
  return { ...sentence, yesOrNo, asks, manner: mannerOf(sentence, { asks, yesOrNo, polite }, lexicon) };
}

function mannerOf(
  { forms, hasMark }: Sentence,
  { asks, yesOrNo, polite }: Pick<AskingSentence, 'asks' | 'yesOrNo'> & { readonly polite: boolean },
  { grammar }: Lexicon,
): Manner {
  const first = forms[asks[0]?.at ?? 0] ?? '';
  if (yesOrNo || setOf(grammar.questionWords).has(first) || (hasMark && !polite)) return 'question';
  return asks.some(({ cue }) => cue !== null) ? 'request' : 'statement';
}

/** "Do" and "have" command as well: they ask before a pronoun or where the sentence ends in a question mark. */
function isYesOrNo({ forms, hasMark }: Sentence, at: number, { grammar }: Lexicon): boolean {
  const first = forms[at] ?? '';
  if (!setOf(grammar.auxiliaries).has(first) || forms[at + 1] === undefined) return false;
  if (setOf(grammar.negations).has(forms[at + 1] ?? '')) return hasMark;
  return !setOf(grammar.commanding).has(first) || hasMark || setOf(grammar.pronouns).has(forms[at + 1] ?? '');
}

/** The auxiliary alone is its cue. */
function isBare({ forms }: Sentence, at: number, lexicon: Lexicon): boolean {
  return (cueAt(forms, at, lexicon)?.words ?? 1) === 1;
}

/** Past greetings, courtesies, rules, schedules, and a clause in front that only says when. */
function firstAsked(sentence: Sentence, lexicon: Lexicon): { readonly at: number; readonly polite: boolean } {
  const lead = pastLeadIns(sentence.forms, 0, lexicon);
  if (!opensAside(sentence, lead.at, lexicon)) return lead;
  const main = nextClause(sentence, lead.at + 1, lexicon);
  if (main === null) return lead;
  const second = pastLeadIns(sentence.forms, main, lexicon);
  return { at: second.at, polite: lead.polite || second.polite };
}

function opensAside({ forms, hasMark }: Sentence, at: number, lexicon: Lexicon): boolean {
  const { subordinators, prepositions, questionWords, auxiliaries } = lexicon.grammar;
  const first = forms[at] ?? '';
  if (setOf(questionWords).has(first))
    return setOf(subordinators).has(first) && !hasMark && !setOf(auxiliaries).has(forms[at + 1] ?? '');
  if (cueAt(forms, at, lexicon) !== null) return false;
  return setOf(subordinators).has(first) || setOf(prepositions).has(first);
}

function nextClause({ words, forms }: Sentence, from: number, { grammar }: Lexicon): number | null {
  const joiners = setOf(grammar.joiners);
  for (let at = from; at < words.length; at++)
    if (words[at]?.opensClause === true && !joiners.has(forms[at] ?? '')) return at;
  return null;
}

function laterAsks({ words, forms }: Sentence, first: Ask, lexicon: Lexicon): readonly Ask[] {
  const { joiners } = lexicon.grammar;
  const asks: Ask[] = [];
  let last = first;
  let at = first.at + (first.cue?.words ?? 1);
  while (at < forms.length) {
    const joined = setOf(joiners).has(forms[at - 1] ?? '');
    const isLed = [lexicon.grammar.politeness, lexicon.axes.schedules].some(
      (list) => phraseAt(forms, at, tableOf(list)) !== null,
    );
    const mayBegin = words[at]?.opensClause === true || isLed || (joined && last.cue !== null);
    const begin = mayBegin ? pastLeadIns(forms, at, lexicon).at : at;
    const cue = mayBegin ? cueAt(forms, begin, lexicon) : null;
    const isOwn =
      cue !== null &&
      !(joined && !isLed && isPurpose(forms, last, at, lexicon)) &&
      !isStillForbidden(forms, last, begin, lexicon);
    if (isOwn) {
      last = { at: begin, cue };
      asks.push(last);
    }
    at = isOwn ? begin + cue.words : at + 1;
  }
  return asks;
}

/** "To create and delete": the second verb goes with the first, which asks nothing. */
function isPurpose(forms: readonly string[], last: Ask, to: number, lexicon: Lexicon): boolean {
  const purposes = setOf(lexicon.grammar.purposes);
  for (let at = last.at + (last.cue?.words ?? 1); at < to - 1; at++)
    if (purposes.has(forms[at] ?? '') && cueAt(forms, at + 1, lexicon) !== null) return true;
  return false;
}

/** "Do not edit, move or delete": one "not" for the whole row. */
function isStillForbidden(forms: readonly string[], last: Ask, to: number, { grammar }: Lexicon): boolean {
  const [negations, choices, turns] = [grammar.negations, grammar.choices, grammar.turns].map(setOf);
  const forbids = forms.slice(last.at, last.at + 2).some((form) => negations?.has(form));
  if (!forbids || !forms.slice(last.at).some((form) => choices?.has(form))) return false;
  return !forms.slice(last.at, to).some((form) => turns?.has(form));
}

/** The first word that is neither said before any sentence nor before a request. At the end when all are. */
function pastLeadIns(
  forms: readonly string[],
  from: number,
  lexicon: Lexicon,
): { readonly at: number; readonly polite: boolean } {
  let at = from;
  let polite = false;
  for (let count = 0; count < MAX_LEAD_INS; count++) {
    const asked = phraseAt(forms, at, tableOf(lexicon.grammar.askings));
    const beforeQuestion = asked !== null && isQuestion(forms[at + asked.words], lexicon);
    const lead = beforeQuestion ? null : leadInAt(forms, at, lexicon);
    if (!beforeQuestion && lead === null) break;
    polite ||= lead?.meaning === 'polite';
    at += beforeQuestion ? asked.words : (lead?.words ?? 0);
  }
  return { at, polite };
}

/** What asks goes before what is as long and only leads in: "whenever", "let Ann know". A greeting only leads in. */
function leadInAt(forms: readonly string[], at: number, lexicon: Lexicon): Found<'polite' | 'plain'> | null {
  const { cues, leadIns } = openingsOf(lexicon);
  const lead = phraseAt(forms, at, leadIns);
  const cue = phraseAt(forms, at, cues);
  if (lead === null || cue === null || cue.words < lead.words) return lead;
  return cue.words === lead.words && cue.meaning.act === 'converse' ? lead : null;
}

function isQuestion(form: string | undefined, { grammar }: Lexicon): boolean {
  return form !== undefined && setOf(grammar.questionWords).has(form);
}

function openingsOf(lexicon: Lexicon): Openings {
  const known = ready.get(lexicon);
  if (known !== undefined) return known;
  const { grammar, openings, axes } = lexicon;
  const cues = ACTS.flatMap((act) =>
    (['strong', 'fair'] as const).flatMap((strength) =>
      openings[act][strength].map((phrase) => [phrase, { act, strength }] as const),
    ),
  );
  const polite = grammar.politeness.map((phrase) => [phrase, 'polite'] as const);
  const plain = [...grammar.openers, ...axes.schedules, ...axes.rules].map(
    (phrase) => [phrase, 'plain'] as const,
  );
  const made: Openings = { cues: phraseTable(cues), leadIns: phraseTable([...polite, ...plain]) };
  ready.set(lexicon, made);
  return made;
}
