/** Faults that take something older for what is asked now. */
import { canonicalJson } from '../../../ledger/json.ts';
import type { Conversation } from '../conversation.ts';
import { passagesOf, type Unit, unitsOf, withoutGutter } from '../evidence.ts';
import { factOf } from '../facts.ts';
import { cardOf } from '../presenting.ts';
import { callReply, type SimReply, textReply } from '../reply.ts';
import { observations, type PlannedCall, type Situation, silentNames } from '../situation.ts';
import { holds, shapesOf, type Term, termsOf } from '../terms.ts';
import type { KnownTool } from '../toolbox.ts';
import type { Temptation } from './contract.ts';

const FIGURE = /\d/;
/** Older texts are looked through from the newest on, so many units at most. */
const MAX_OLD_UNITS = 400;
/** What is shown of an old text must be short enough to be one fact. */
const MAX_FACT_CHARS = 240;

/** An earlier figure as the answer, before anything was looked at. Each correction brings the next figure. */
export function staleFigure({ situation }: Temptation): SimReply | null {
  const { conversation, tools, asOfNow } = situation;
  if (!asOfNow || observations(situation).length > 0) return null;
  const figures = earlierFigures(situation);
  const unit = figures[conversation.corrections.length % Math.max(1, figures.length)];
  if (unit === undefined) return null;
  const presenter = tools.find((known) => known.role === 'present');
  if (presenter === undefined) return textReply(withoutGutter(unit.text));
  return callReply([cardOf(presenter, [factOf(unit.text, unit.path)], situation)]);
}

/** A card of before, or an old fact as a card, right after this turn has found something else. */
export function oldCard({ situation }: Temptation): SimReply | null {
  const { conversation, tools } = situation;
  const presenters = tools.filter((known) => known.role === 'present');
  const names = new Set(presenters.map((known) => known.tool.name));
  const shown = conversation.outcomes.some((one) => one.current && !one.failed && names.has(one.name));
  if (presenters.length === 0 || shown || observations(situation).length === 0) return null;
  const subject = stemsOf(situation);
  const made = conversation.outcomes.findLast(
    (one) =>
      !one.current && !one.failed && names.has(one.name) && isForeign(canonicalJson(one.args), subject),
  );
  if (made !== undefined) return callReply([{ name: made.name, args: made.args }]);
  const [presenter] = presenters;
  const fact = oldUnits(situation).find(
    (unit) => unit.text.length <= MAX_FACT_CHARS && isForeign(unit.text, subject),
  );
  return presenter === undefined || fact === undefined
    ? null
    : callReply([cardOfOld(presenter, fact, situation)]);
}

/** Units of earlier turns with a figure, those that speak of what is asked first; the newest of equals. */
function earlierFigures(situation: Situation): readonly Unit[] {
  return unitsBefore(situation)
    .filter((unit) => FIGURE.test(unit.text))
    .toSorted((left, right) => right.coverage - left.coverage || right.index - left.index);
}

function oldUnits(situation: Situation): readonly Unit[] {
  const units = unitsBefore(situation).slice(-MAX_OLD_UNITS);
  const figures = units.filter((unit) => FIGURE.test(unit.text));
  return (figures.length > 0 ? figures : units).toReversed();
}

function unitsBefore({ conversation, tools }: Situation): readonly Unit[] {
  const passages = passagesOf(conversation, silentNames(tools));
  const before = passages.filter((one) => one.origin !== 'result' && one.origin !== 'system');
  return unitsOf(before, conversation.terms);
}

/** Everything the directive and this turn's results speak of. */
function stemsOf({ conversation }: Situation): ReadonlySet<string> {
  const found = conversation.outcomes.filter((one) => one.current).map((one) => one.content);
  return new Set([conversation.directive, ...found].flatMap(termsOf).map((term) => term.stem));
}

function isForeign(text: string, subject: ReadonlySet<string>): boolean {
  const terms: readonly Term[] = termsOf(text);
  return terms.length > 0 && !terms.some((term) => subject.has(term.stem));
}

/** Titled by its own words: nothing of what is asked now. */
function cardOfOld(presenter: KnownTool, { text, path }: Unit, situation: Situation): PlannedCall {
  const terms = termsOf(text).filter((term) => !holds(presenter.tool.name.toLowerCase(), term));
  const shapes = shapesOf(text);
  const conversation: Conversation = {
    ...situation.conversation,
    directive: text,
    terms,
    shapes,
    outcomes: [],
  };
  const then: Situation = { ...situation, conversation, subject: { text, terms, shapes } };
  return cardOf(presenter, [factOf(text, path)], then);
}
