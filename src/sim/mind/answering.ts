/** Says what the request holds of what was asked, in one to four sentences, or that it holds nothing. */
import type { Conversation } from './conversation.ts';
import { isHeading, NO_PRESENT_VALUE, NOT_FOUND, type Origin, type Unit, withoutGutter } from './evidence.ts';
import {
  asksForNames,
  asksToVerify,
  asksWhichFiles,
  lookedUp,
  observations,
  pathsIn,
  resultsOf,
  type Situation,
  targetsOf,
} from './situation.ts';
import { summarise } from './summary.ts';
import { samePath } from './terms.ts';
import { mentions } from './toolbox.ts';

const MAX_SENTENCES = 4;
const MAX_SENTENCE_CHARS = 400;
const MAX_NAMES = 40;
/** Enough of what was asked to answer without looking further: from earlier text, from this turn's results. */
const SETTLED_EARLIER = 0.75;
const SETTLED_NOW = 0.6;
/** Enough to be worth saying when there is nothing more to look at. */
const WORTH_SAYING = 0.4;
/** In a file that was asked for by name, less is enough. */
const WORTH_SAYING_OF_TARGET = 0.25;
/** A further sentence is added for so much of what the first ones left open. */
const WORTH_ADDING = 0.2;
const SUMMARY_WORDS = 60;
const ASKS_FOR_SUMMARY = /\b(?:summar|overview|gist|outline|recap)/i;
const ORIGIN_RANK: Readonly<Record<Origin, number>> = {
  result: 0,
  'earlier-result': 1,
  assistant: 2,
  user: 3,
  system: 4,
};

/** Whether the visible text suffices, so that no further call is needed. */
export function settled(situation: Situation): boolean {
  const { conversation } = situation;
  if (mustLook(situation)) return false;
  if (asksForNames(conversation)) return resultsOf('list', situation).length > 0;
  if (situation.asOfNow && lookedUp(situation).length > 0) return true;
  const files = conversation.shapes.files;
  if (files.length > 0) return files.every((file) => fileSettled(file, situation));
  if (conversation.terms.length === 0) return !situation.conversation.directive.includes('?');
  const best = ranked(situation)[0];
  if (best === undefined) return false;
  return best.coverage >= (best.passage.origin === 'result' ? SETTLED_NOW : SETTLED_EARLIER);
}

/** Nothing was looked at yet, and earlier text is not enough: by the question, or by a correction that names a tool. */
function mustLook(situation: Situation): boolean {
  if (observations(situation).length > 0) return false;
  const { conversation, tools, asOfNow } = situation;
  const { standing } = conversation;
  if (asOfNow || asksToVerify(conversation)) return true;
  return (
    standing !== null &&
    tools.some((known) => known.role !== 'present' && mentions(standing.text, known.tool.name))
  );
}

export function answerText(situation: Situation): string {
  const { conversation } = situation;
  if (asksForNames(conversation)) {
    const names = resultsOf('list', situation).flatMap((one) => pathsIn(one.content));
    if (resultsOf('list', situation).length > 0) return namesText([...new Set(names)]);
  }
  if (wantsWhole(conversation)) {
    const whole = wholeText(situation);
    if (whole !== null) return whole;
  }
  const said = choose(situation).map(sentence);
  const hits = new Set(resultsOf('search', situation).flatMap((one) => pathsIn(one.content)));
  if (asksWhichFiles(conversation) && hits.size > 1) said.unshift(namesText([...hits]));
  return said.length === 0 ? notFound(situation) : said.slice(0, MAX_SENTENCES).join(' ');
}

/** A file is asked for as such, not for something in it. */
function wantsWhole(conversation: Conversation): boolean {
  if (ASKS_FOR_SUMMARY.test(conversation.directive)) return true;
  return conversation.terms.length === 0 && targetsOf(conversation).length > 0;
}

function fileSettled(file: string, situation: Situation): boolean {
  const { conversation, units } = situation;
  const seen = conversation.outcomes.filter(
    (one) => one.path !== null && samePath(one.path, file) && !one.failed,
  );
  if (seen.length === 0) return false;
  if (wantsWhole(conversation)) return true;
  return units.some(
    (unit) => unit.path !== null && samePath(unit.path, file) && unit.coverage >= SETTLED_NOW,
  );
}

/** Units worth saying, best first; those of the files asked for stand alone when there are any. */
function ranked({ conversation, units }: Situation): readonly Unit[] {
  const targets = targetsOf(conversation);
  const met = units.filter(
    (unit) => unit.coverage > 0 && (unit.passage.origin !== 'system' || unit.coverage >= SETTLED_EARLIER),
  );
  const about = met.filter((unit) => targets.some((file) => unit.path !== null && samePath(unit.path, file)));
  return (about.length > 0 ? about : met).toSorted(
    (left, right) =>
      right.coverage - left.coverage ||
      ORIGIN_RANK[left.passage.origin] - ORIGIN_RANK[right.passage.origin] ||
      // Between equals of one kind the later text is the newer word; inside one text the first stands.
      (left.passage === right.passage ? left.index - right.index : right.index - left.index),
  );
}

/** The best unit, then those that meet what is still open; one of each file when several were named. */
export function choose(situation: Situation): readonly Unit[] {
  const { conversation, units } = situation;
  const candidates = ranked(situation);
  const [best] = candidates;
  const enough = targetsOf(conversation).length > 0 ? WORTH_SAYING_OF_TARGET : WORTH_SAYING;
  if (best === undefined || best.coverage < enough) return tellingUnits(situation);
  const chosen: Unit[] = [best];
  const files = conversation.shapes.files;
  if (files.length > 1) {
    for (const file of files) {
      const own = candidates.find((unit) => unit.path !== null && samePath(unit.path, file));
      if (own !== undefined && !chosen.includes(own)) chosen.push(own);
    }
  }
  if (isHeading(best.text) || best.text.endsWith('?')) {
    chosen.push(...units.filter((unit) => unit.passage === best.passage && unit.index === best.index + 1));
  }
  return addOpen(chosen, candidates).slice(0, MAX_SENTENCES);
}

/** A look-up may answer in figures alone, without a word of the question. */
function tellingUnits(situation: Situation): readonly Unit[] {
  if (!situation.asOfNow || lookedUp(situation).length === 0) return [];
  const figures = situation.units.filter((unit) => /\d/.test(unit.text));
  return (figures.length > 0 ? figures : situation.units).slice(0, 1);
}

function addOpen(chosen: readonly Unit[], candidates: readonly Unit[]): readonly Unit[] {
  const all = [...chosen];
  const total = Math.max(...candidates.map((unit) => sum(unit.own)), Number.EPSILON);
  while (all.length < MAX_SENTENCES) {
    const gain = (unit: Unit) =>
      sum(unit.own.filter((_, at) => all.every((one) => (one.own[at] ?? 0) === 0)));
    const [next] = candidates
      .filter((unit) => !all.includes(unit))
      .map((unit) => ({ unit, gained: gain(unit) }))
      .toSorted((left, right) => right.gained - left.gained);
    if (next === undefined || next.gained < WORTH_ADDING * total) return all;
    all.push(next.unit);
  }
  return all;
}

function sentence(unit: Unit): string {
  const text = withoutGutter(unit.text).slice(0, MAX_SENTENCE_CHARS);
  const ended = /[^\p{L}\p{N}]$/u.test(text) ? text : `${text}.`;
  return unit.path === null ? ended : `In ${unit.path}: ${ended}`;
}

function wholeText(situation: Situation): string | null {
  const targets = targetsOf(situation.conversation);
  const seen = situation.conversation.outcomes.filter((one) => !one.failed);
  const about = seen.filter((one) => targets.some((file) => one.path !== null && samePath(one.path, file)));
  const sources = about.length > 0 ? about : seen.filter((one) => one.current);
  if (sources.length === 0) return null;
  const words = Math.ceil(SUMMARY_WORDS / sources.length);
  return sources
    .slice(0, MAX_SENTENCES)
    .map((one) => `${one.path === null ? '' : `In ${one.path}: `}${summarise(one.content, words)}`)
    .join('\n');
}

function namesText(names: readonly string[]): string {
  if (names.length === 0) return `${NOT_FOUND}: no file matches.`;
  const rest = names.length > MAX_NAMES ? ` and ${names.length - MAX_NAMES} more` : '';
  const count = names.length === 1 ? 'There is 1 match' : `There are ${names.length} matches`;
  return `${count}: ${names.slice(0, MAX_NAMES).join(', ')}${rest}.`;
}

function notFound({ conversation, asOfNow }: Situation): string {
  const words = conversation.terms.map((term) => term.word);
  if (asOfNow) return `${NO_PRESENT_VALUE}${words.length === 0 ? '' : ` for ${words.join(', ')}`}.`;
  return words.length === 0 ? `${NOT_FOUND}.` : `${NOT_FOUND}: nothing there speaks of ${words.join(', ')}.`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((left, right) => left + right, 0);
}
