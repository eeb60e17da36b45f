/** Reaches what is listed and not offered: a tool by the words of a tool that finds tools, a skill by its name. */
import { fillArguments, keyValue } from './arguments.ts';
import { asksForForm, formOf } from './forms.ts';
import { type Listed, listedAffinity, listedIn } from './listed.ts';
import type { PlannedCall, Situation } from './situation.ts';
import { holds } from './terms.ts';
import { affinity, type KnownTool, mentions, wordsOf } from './toolbox.ts';

/** What one term in a listed name, or two in its line, amount to; a listed tool that is surely meant meets more. */
const MIN_AFFINITY = 2;
const SURE_AFFINITY = 3;
/** What a line about the world outside is worth where a value is asked for as it stands now. */
const OUTSIDE_WORTH = 2;
const OUTSIDE = /\b(?:web|internet|online|live|current|latest|news|real[- ]time|up[- ]to[- ]date)\b/;
const OF_CARDS = /\bcards?\b/;
const ORDERS_SKILL = /\b(?:use|using|apply|follow|activate|load|with|by|per|skills?)\b/i;

/** Before files are searched: a listed tool that is surely meant. */
export function sureFinds(situation: Situation): readonly PlannedCall[] {
  return finds(situation, SURE_AFFINITY);
}

/** When nothing that is offered fits. */
export function lastFinds(situation: Situation): readonly PlannedCall[] {
  return finds(situation, MIN_AFFINITY);
}

/** The tool of a form that is asked for and not offered, by the words of its name. */
export function formFinds(situation: Situation): readonly PlannedCall[] {
  const { conversation } = situation;
  const wanted = notOffered(situation).find(
    ({ name, line }) =>
      OF_CARDS.test(`${wordsOf(name)} ${line.toLowerCase()}`) &&
      asksForForm(conversation.directive, formOf(name)),
  );
  return wanted === undefined ? [] : findCall(situation, wordsOf(wanted.name));
}

/** The listed skill the directive asks for by name, once; not one whose text stands in the system text already. */
export function skillCalls({ conversation, tools, subject }: Situation): readonly PlannedCall[] {
  const loader = tools.find((known) => known.role === 'skill');
  if (loader?.key == null || !ORDERS_SKILL.test(conversation.directive)) return [];
  const { directive, system } = conversation;
  const lower = ` ${wordsOf(directive)} `;
  const skill = listedIn(system).find(
    ({ kind, name }) => kind === 'skill' && namedIn(name, directive, lower) && !isActive(name, system),
  );
  if (skill === undefined) return [];
  const args = fillArguments(loader, { [loader.key.name]: skill.name }, subject);
  return [{ name: loader.tool.name, args }];
}

/** Offered now because this turn's finding brought it. */
export function broughtTools(situation: Situation): readonly KnownTool[] {
  const found = foundTexts(situation);
  return situation.tools.filter(
    (known) => known.role === 'other' && found.some((text) => mentions(text, known.tool.name)),
  );
}

function foundTexts({ conversation, tools }: Situation): readonly string[] {
  const finders = new Set(tools.filter((known) => known.role === 'finder').map((known) => known.tool.name));
  return conversation.outcomes
    .filter((one) => one.current && !one.failed && finders.has(one.name))
    .map((one) => one.content);
}

function finds(situation: Situation, least: number): readonly PlannedCall[] {
  const { conversation, tools, subject, asOfNow } = situation;
  const candidates = notOffered(situation).filter(({ line }) => !OF_CARDS.test(line.toLowerCase()));
  if (candidates.length === 0) return [];
  const worth = (one: Listed): number =>
    listedAffinity(one, subject.terms) + (asOfNow && OUTSIDE.test(aboutOf(one)) ? OUTSIDE_WORTH : 0);
  const [best] = candidates.toSorted((left, right) => worth(right) - worth(left));
  const offered = tools.filter((known) => known.role === 'other');
  const rival = Math.max(0, ...offered.map((known) => affinity(known, subject.terms)));
  if (best === undefined || worth(best) < (asOfNow ? MIN_AFFINITY : least) || rival >= worth(best)) return [];
  const met = conversation.terms.filter((term) => holds(aboutOf(best), term)).map((term) => term.word);
  return findCall(situation, met.length > 0 ? met.join(' ') : wordsOf(best.name));
}

function findCall({ tools, subject }: Situation, words: string): readonly PlannedCall[] {
  const finder = tools.find((known) => known.role === 'finder');
  if (finder?.key == null) return [];
  const preset = { [finder.key.name]: keyValue(finder.key, words.trim()) };
  return [{ name: finder.tool.name, args: fillArguments(finder, preset, subject) }];
}

/** What was found already and is still not offered is not looked for again. */
function notOffered(situation: Situation): readonly Listed[] {
  const { conversation, tools } = situation;
  if (!tools.some((known) => known.role === 'finder')) return [];
  const offered = new Set(tools.map((known) => known.tool.name));
  const found = foundTexts(situation);
  return listedIn(conversation.system).filter(
    ({ kind, name }) => kind === 'tool' && !offered.has(name) && !found.some((text) => mentions(text, name)),
  );
}

function aboutOf({ name, line }: Listed): string {
  return `${wordsOf(name)} ${line.toLowerCase()}`;
}

/** As written, or by the words of the name; a plain word beside `skill`, for it stands in many directives. */
function namedIn(name: string, directive: string, lower: string): boolean {
  if (mentions(directive, name)) return true;
  const words = wordsOf(name).trim();
  const spoken = words.includes(' ') ? [` ${words} `] : [` ${words} skill`, ` skill ${words} `];
  return spoken.some((one) => lower.includes(one));
}

function isActive(name: string, system: string): boolean {
  return system.includes(`<skill name="${name}"`);
}
