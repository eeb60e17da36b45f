/** The act of a request: what its cues weigh, and how sure that makes one of them. */
import { ACTS, type Act } from '../ledger/reading.ts';
import type { Lexicon } from './lexicon/index.ts';
import { type PhraseTable, phraseAt, phraseTable, phraseWithin, setOf, tableOf } from './phrases.ts';
import { type Ask, type AskingSentence, cueAt } from './requests.ts';
import { isOneOf } from './words.ts';

/** A schedule or a standing rule outweighs the verb it is about. */
const DECISIVE = 2;
const WEIGHTS = { strong: 1.5, fair: 1, faint: 0.5 } as const;
/** What a decisive cue leaves of the others. */
const BESIDE_DECISIVE = 0.5;
/** Of several things asked, the first says what the whole is. */
const LATER_WEIGHTS = [1, 0.5] as const;
const LATEST_WEIGHT = 0.25;
const COVERAGE_SHARE = 0.6;
const STRENGTH_SHARE = 0.4;
/** A best score from here on is as strong as one can be. */
const FULL_SCORE = 1.5;
/** An act with so much of the best score may be meant as well. */
const ALTERNATE_FROM = 0.5;
const MAX_ALTERNATES = 3;
/** The object of a light verb stands so near. */
const OBJECT_WORDS = 5;
/** A greeting with more words after it has something else to say. */
const GREETING_WORDS = 6;
/** So many requests in a stated order are a plan for others to carry out. */
const PLANNED_ASKS = 3;
const PLANNED_MARKERS = 2;

export interface ActReading {
  readonly act: Act;
  readonly alternates: readonly Act[];
  /** 0..1: the best act's share of all the weight, and how much weight it has. */
  readonly confidence: number;
  /** False where no word said which: the act is then the commonest one. */
  readonly cued: boolean;
}

type Scores = Map<Act, number>;
type ObjectAct = 'analyze' | 'locate' | 'author';

/** `now`: the request is about how something stands now, outside. */
export function readAct(sentences: readonly AskingSentence[], now: boolean, lexicon: Lexicon): ActReading {
  const scores: Scores = new Map();
  let index = 0;
  for (const sentence of sentences)
    for (const [place, ask] of sentence.asks.entries()) {
      const weighed = weigh(sentence, ask, { now, first: place === 0 }, lexicon);
      const share = LATER_WEIGHTS[index] ?? LATEST_WEIGHT;
      for (const [act, weight] of weighed) add(scores, act, weight * share);
      if (weighed.some(([act]) => act !== 'converse')) index += 1;
    }
  for (const sentence of sentences) addWithin(scores, sentence, lexicon);
  addDecisive(scores, sentences, lexicon);
  if (scores.size === 0 && now) add(scores, 'answer', WEIGHTS.fair);
  if (scores.size > 1) scores.delete('converse');
  return decided(scores, sentences);
}

function decided(scores: Scores, sentences: readonly AskingSentence[]): ActReading {
  const cued = scores.size > 0;
  if (!cued && sentences.some(({ asks, manner }) => manner === 'question' && asks.length > 0))
    scores.set('answer', WEIGHTS.faint);
  const ranked = [...ACTS]
    .map((act) => ({ act, score: scores.get(act) ?? 0 }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score);
  const [best, ...others] = ranked;
  if (best === undefined) return { act: 'answer', alternates: [], confidence: 0, cued };
  const total = ranked.reduce((sum, { score }) => sum + score, 0);
  const alternates = others.filter(({ score }) => score >= best.score * ALTERNATE_FROM);
  return {
    act: best.act,
    alternates: alternates.slice(0, MAX_ALTERNATES).map(({ act }) => act),
    confidence: COVERAGE_SHARE * (best.score / total) + STRENGTH_SHARE * Math.min(best.score / FULL_SCORE, 1),
    cued,
  };
}

function weigh(
  sentence: AskingSentence,
  ask: Ask,
  { now, first }: { readonly now: boolean; readonly first: boolean },
  lexicon: Lexicon,
): readonly (readonly [Act, number])[] {
  const { cue, at } = ask;
  const isYesOrNo = first
    ? sentence.yesOrNo
    : setOf(lexicon.grammar.auxiliaries).has(sentence.forms[at] ?? '');
  if (isYesOrNo && cue?.meaning.strength !== 'strong') return weighYesOrNo(sentence, ask, now, lexicon);
  const object = objectOf(sentence, ask, lexicon);
  if (object !== null) return [[object, WEIGHTS.strong]];
  if (cue !== null) return [[cue.meaning.act, WEIGHTS[cue.meaning.strength]]];
  return first ? weighGreeting(sentence, lexicon) : [];
}

/** Of how the world outside stands one wants to hear; of anything else, to have it checked, or only to hear. */
function weighYesOrNo(
  { forms }: AskingSentence,
  { cue }: Ask,
  now: boolean,
  { within }: Lexicon,
): readonly (readonly [Act, number])[] {
  if (now) return [['answer', WEIGHTS.fair]];
  if (phraseWithin(forms, within.verify)) return [['verify', WEIGHTS.strong]];
  if (cue !== null && cue.meaning.act !== 'answer') return [[cue.meaning.act, WEIGHTS[cue.meaning.strength]]];
  return [
    ['verify', WEIGHTS.fair],
    ['answer', WEIGHTS.faint],
  ];
}

/** A greeting stands before what is skipped as one. */
function weighGreeting({ forms }: AskingSentence, lexicon: Lexicon): readonly (readonly [Act, number])[] {
  const cue = cueAt(forms, 0, lexicon);
  if (cue?.meaning.act !== 'converse') return [];
  const rest = forms.length - cue.words;
  return [['converse', rest > GREETING_WORDS ? WEIGHTS.faint : WEIGHTS[cue.meaning.strength]]];
}

/** "Give me a summary": the object of a light verb says what is asked. A definite one is no thing to be made. */
function objectOf({ forms, words }: AskingSentence, { at, cue }: Ask, lexicon: Lexicon): ObjectAct | null {
  const light = phraseAt(forms, at, tableOf(lexicon.light));
  if (light === null || light.words < (cue?.words ?? 0)) return null;
  const { definites, prepositions } = lexicon.grammar;
  const from = at + light.words;
  let found: ObjectAct | null = null;
  let definite = false;
  for (let index = from; index < Math.min(from + OBJECT_WORDS, forms.length); index++) {
    const form = forms[index] ?? '';
    if (setOf(prepositions).has(form) || words[index]?.opensClause === true) break;
    definite ||= setOf(definites).has(form);
    const act = objectTable(lexicon).find(([, list]) => isOneOf(form, list))?.[0];
    if (act !== undefined) found = act === 'author' && definite ? null : act;
  }
  return found;
}

function objectTable({ objects }: Lexicon): readonly (readonly [ObjectAct, readonly string[]])[] {
  return [
    ['analyze', objects.analyze],
    ['locate', objects.locate],
    ['author', objects.author],
  ];
}

function addWithin(scores: Scores, { forms, manner }: AskingSentence, { within }: Lexicon): void {
  if (manner === 'statement') return;
  if (phraseWithin(forms, within.analyze)) add(scores, 'analyze', WEIGHTS.faint);
  if (manner === 'question') return;
  if (phraseWithin(forms, within.orchestrate)) add(scores, 'orchestrate', WEIGHTS.strong);
  if (phraseWithin(forms, within.govern)) add(scores, 'govern', WEIGHTS.faint);
}

function addDecisive(scores: Scores, sentences: readonly AskingSentence[], lexicon: Lexicon): void {
  const decisive = new Set<Act>();
  if (sentences.some((sentence) => isScheduled(sentence, lexicon)) || isPlan(sentences, lexicon))
    decisive.add('orchestrate');
  if (sentences.some((sentence) => isRuled(sentence, lexicon))) decisive.add('govern');
  if (decisive.size === 0) return;
  for (const [act, score] of scores) if (!decisive.has(act)) scores.set(act, score * BESIDE_DECISIVE);
  for (const act of decisive) add(scores, act, DECISIVE);
}

/** It asks for work that comes again: no question about how often, and no account of it. */
export function isScheduled({ forms, manner }: AskingSentence, { axes }: Lexicon): boolean {
  if (manner !== 'request') return false;
  return phraseWithin(forms, axes.schedules) || isOneOf(forms.at(-1) ?? '', axes.closingSchedules);
}

/** It sets a rule for what comes after. */
export function isRuled({ forms, manner }: AskingSentence, { axes }: Lexicon): boolean {
  return manner !== 'question' && phraseWithin(forms, axes.rules);
}

function isPlan(sentences: readonly AskingSentence[], { axes }: Lexicon): boolean {
  const asked = sentences.flatMap(({ asks, manner }) => (manner === 'request' ? asks : []));
  const table: PhraseTable<string> = phraseTable(axes.sequence.map((phrase) => [phrase, phrase] as const));
  const markers = new Set<string>();
  for (const { forms } of sentences)
    for (let at = 0; at < forms.length; at++) {
      const marker = phraseAt(forms, at, table);
      if (marker !== null) markers.add(marker.meaning);
    }
  return asked.filter(({ cue }) => cue !== null).length >= PLANNED_ASKS && markers.size >= PLANNED_MARKERS;
}

function add(scores: Scores, act: Act, weight: number): void {
  scores.set(act, (scores.get(act) ?? 0) + weight);
}
