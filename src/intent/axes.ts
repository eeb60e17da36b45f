/** The axes of a reading beside its act, each from its own words. What reads plainly is left out. */
import type { Domain } from '../ledger/domains.ts';
import { DOMAINS } from '../ledger/domains.ts';
import type { Act, Reading } from '../ledger/reading.ts';
import { type ActReading, isRuled, isScheduled } from './acts.ts';
import type { Lexicon } from './lexicon/index.ts';
import { phraseAt, phraseWithin, setOf, tableOf } from './phrases.ts';
import type { AskingSentence } from './requests.ts';
import { isFile, isFileName, isOneOf, type RequestText, type Word } from './words.ts';

/** Acts that change something take more than one step of work. */
const STEPPED_ACTS: ReadonlySet<Act> = new Set(['modify', 'operate', 'orchestrate']);
const MADE_ACTS: ReadonlySet<Act> = new Set(['author', 'modify', 'orchestrate']);
const ADDRESS = /^(?:https?:\/\/|www\.)/iu;
/** How sure the words of a request make its reading where they leave something open. */
const CLARITY_CONFIDENCE = { clear: 1, partial: 0.6, unclear: 0.3 } as const;
/** The object of a harmless removal stands so near. */
const OBJECT_WORDS = 4;

export type Clarity = keyof typeof CLARITY_CONFIDENCE;
type Axes = Pick<Reading, 'horizon' | 'stakes' | 'evidence' | 'modality' | 'attendance'>;

export function axesOf(sentences: readonly AskingSentence[], act: Act, lexicon: Lexicon): Axes {
  const asked = sentences.filter(({ manner }) => manner !== 'question');
  const says = (list: readonly string[], among = asked): boolean =>
    among.some(({ forms }) => phraseWithin(forms, list));
  const { axes } = lexicon;
  const horizon = horizonOf(sentences, act, says(axes.task), lexicon);
  const stakes = stakesOf(sentences, lexicon);
  const evidence = evidenceOf(sentences, act, lexicon);
  const modality = modalityOf(sentences, act, lexicon);
  const isAlone = says(axes.unattended) || sentences.some((sentence) => isScheduled(sentence, lexicon));
  return {
    ...(horizon === 'reply' ? {} : { horizon }),
    ...(stakes === 'low' ? {} : { stakes }),
    ...(evidence === 'plain' ? {} : { evidence }),
    ...(modality === 'prose' ? {} : { modality }),
    ...(isAlone ? { attendance: 'unattended' } : {}),
  };
}

/** Domains that its words name, in the vocabulary's order. */
export function domainsOf(
  sentences: readonly AskingSentence[],
  quoted: RequestText['quotations'],
  lexicon: Lexicon,
): readonly Domain[] {
  const words = sentences.flatMap((sentence) => sentence.words);
  const named = (domain: Domain): boolean => {
    if (domain === 'filesystem' && (words.some(isFile) || quoted.some(({ text }) => isFileName(text))))
      return true;
    if (domain === 'web' && words.some(({ written }) => ADDRESS.test(written))) return true;
    return (
      domain !== 'live-data' &&
      sentences.some((sentence) => namesDomain(sentence, lexicon.axes.domains[domain]))
    );
  };
  return DOMAINS.filter(named);
}

/** Nothing of substance and no cue: unclear. One of the two missing: partial. */
export function clarityOf(
  sentences: readonly AskingSentence[],
  quotations: number,
  act: ActReading,
  lexicon: Lexicon,
): Clarity {
  const words = sentences.flatMap((sentence) => sentence.words);
  const { stopwords, vague, openers } = lexicon.grammar;
  const isEmpty = ({ form }: Word): boolean =>
    [stopwords, vague, openers].some((list) => setOf(list).has(form)) || form.length === 1;
  const hasContent = quotations > 0 || words.some((word) => !isEmpty(word));
  if (act.cued)
    return hasContent || !words.some(({ form }) => isPlaceholder(form, lexicon)) ? 'clear' : 'partial';
  return hasContent ? 'partial' : 'unclear';
}

export function clarityConfidence(clarity: Clarity): number {
  return CLARITY_CONFIDENCE[clarity];
}

function namesDomain({ forms }: AskingSentence, list: readonly string[]): boolean {
  return phraseWithin(forms, list) || forms.some((form) => isOneOf(form, list));
}

/** Stands where a noun should: "do the thing". */
function isPlaceholder(form: string, { grammar }: Lexicon): boolean {
  return setOf(grammar.placeholders).has(form);
}

function horizonOf(sentences: readonly AskingSentence[], act: Act, isTask: boolean, lexicon: Lexicon) {
  const stands = (sentence: AskingSentence): boolean =>
    isScheduled(sentence, lexicon) || isRuled(sentence, lexicon);
  if (act === 'govern' || sentences.some(stands)) return 'standing';
  return STEPPED_ACTS.has(act) || isTask ? 'task' : 'reply';
}

/** Of the verbs that requests open with: a question about one raises nothing, and "do not" opens another request. */
function stakesOf(sentences: readonly AskingSentence[], lexicon: Lexicon) {
  const steps = sentences.flatMap((sentence) =>
    sentence.asks.map(({ at }) => stakeAt(sentence, at, lexicon)),
  );
  if (steps.includes('high')) return 'high';
  return steps.includes('elevated') ? 'elevated' : 'low';
}

function stakeAt({ forms, manner }: AskingSentence, at: number, lexicon: Lexicon) {
  const { irreversible, costly, grave, toAsker } = lexicon.axes.stakes;
  if (manner !== 'request') return 'low';
  if (isHarmless(forms, at, lexicon) || phraseAt(forms, at, tableOf(toAsker)) !== null) return 'low';
  if (phraseAt(forms, at, tableOf(irreversible)) !== null) return 'high';
  if (phraseAt(forms, at, tableOf(costly)) === null) return 'low';
  return phraseWithin(forms, grave, at) ? 'high' : 'elevated';
}

/** "Delete the comma". */
function isHarmless(forms: readonly string[], at: number, { axes, grammar }: Lexicon): boolean {
  const prepositions = setOf(grammar.prepositions);
  for (let index = at + 1; index <= at + OBJECT_WORDS; index++) {
    const form = forms[index] ?? '';
    if (prepositions.has(form)) return false;
    if (isOneOf(form, axes.stakes.harmless)) return true;
  }
  return false;
}

function evidenceOf(sentences: readonly AskingSentence[], act: Act, lexicon: Lexicon) {
  const { verified, sourced } = lexicon.axes.evidence;
  const isChecked = sentences.some(
    ({ forms, manner }) => manner === 'request' && phraseWithin(forms, verified),
  );
  if (act === 'verify' || isChecked) return 'verified';
  return sentences.some(({ forms }) => phraseWithin(forms, sourced)) ? 'sourced' : 'plain';
}

function modalityOf(sentences: readonly AskingSentence[], act: Act, lexicon: Lexicon) {
  const says = (list: readonly string[]): boolean =>
    sentences.some(({ forms }) => phraseWithin(forms, list) || forms.some((form) => isOneOf(form, list)));
  const { code, data, visual } = lexicon.axes.modality;
  const makes = MADE_ACTS.has(act);
  if (says(data)) return 'data';
  if (makes && says(visual)) return 'visual';
  return makes && says(code) ? 'code' : 'prose';
}
