/** Which tools to call next. Plans only from the directive, the offered tools and this turn's results. */
import { fillArguments, keyValue, type Preset } from './arguments.ts';
import { callKey } from './conversation.ts';
import { broughtTools, lastFinds, sureFinds } from './discovering.ts';
import { recallCalls } from './recalling.ts';
import {
  asksForNames,
  asksToVerify,
  observations,
  type PlannedCall,
  pathsIn,
  resultsOf,
  type Situation,
  targetsOf,
} from './situation.ts';
import { holds, samePath } from './terms.ts';
import { affinity, changes, type KnownTool, looksBack, looksOutside, mentions, toolFor } from './toolbox.ts';
import { lastTranscriptCalls, transcriptCalls } from './transcribing.ts';

/** Files fetched in one step when a listing or search names them and the directive does not. */
const MAX_GUESSED_FILES = 3;
/** What one term in a tool's name, or two in its description, amount to. */
const MIN_AFFINITY = 2;
/** What a tool that looks outside has ahead of others where a value is asked for as it stands now. */
const OUTSIDE_AFFINITY = 2;

type Plan = (situation: Situation) => readonly PlannedCall[];

/** What was looked for and brought comes first; the past is no source of a value as it stands now. */
const PLANS: readonly Plan[] = [
  callsOfBrought,
  callsOfCorrection,
  sureFinds,
  transcriptCalls,
  recallCalls,
  callsForNamedFiles,
  callsForListing,
  callsForHits,
  callsForSearch,
  callsForAnyFile,
  callsByAffinity,
  lastFinds,
  callsToVerify,
  lastTranscriptCalls,
];
/** What is to be verified is looked at before the past is. */
const PLANS_TO_LOOK: readonly Plan[] = [
  ...PLANS.filter((plan) => plan !== transcriptCalls && plan !== recallCalls),
  recallCalls,
];
const PLANS_FOR_PRESENT: readonly Plan[] = [
  callsOfBrought,
  callsOfCorrection,
  callsByAffinity,
  lastFinds,
  callsForListing,
  callsForHits,
  callsForSearch,
  callsForAnyFile,
];

/** In order of preference; empty when nothing new can be asked. Never a call made already in this turn. */
export function nextCalls(situation: Situation): readonly PlannedCall[] {
  for (const plan of plansFor(situation)) {
    const calls = plan(situation).filter(
      (call, at, all) =>
        !situation.conversation.made.has(callKey(call.name, call.args)) &&
        all.findIndex((other) => callKey(other.name, other.args) === callKey(call.name, call.args)) === at,
    );
    if (calls.length > 0) return calls;
  }
  return [];
}

function plansFor(situation: Situation): readonly Plan[] {
  if (situation.asOfNow) return PLANS_FOR_PRESENT;
  const isUnseen = asksToVerify(situation.conversation) && observations(situation).length === 0;
  return isUnseen ? PLANS_TO_LOOK : PLANS;
}

function callsForNamedFiles(situation: Situation): readonly PlannedCall[] {
  const { conversation } = situation;
  const fetch = toolFor('fetch', situation.tools, conversation.terms);
  if (fetch === undefined) return [];
  const listed = [...resultsOf('list', situation), ...resultsOf('search', situation)].flatMap((one) =>
    pathsIn(one.content),
  );
  const calls: PlannedCall[] = [];
  for (const file of targetsOf(conversation)) {
    const attempts = conversation.outcomes.filter(
      (one) => one.current && one.name === fetch.tool.name && one.path !== null && samePath(one.path, file),
    );
    if (attempts.some((one) => !one.failed)) continue;
    const full = listed.find((path) => samePath(path, file));
    if (attempts.length === 0 || full !== undefined) calls.push(keyed(fetch, full ?? file, situation));
    else calls.push(...listCall(situation, `**/${file.split('/').at(-1)}`));
  }
  return calls;
}

function callsForListing(situation: Situation): readonly PlannedCall[] {
  const { conversation } = situation;
  if (!asksForNames(conversation)) return [];
  const [glob] = conversation.shapes.globs;
  return listCall(situation, glob ?? '**/*');
}

/** Reads what a listing or a search of this turn has found. */
function callsForHits(situation: Situation): readonly PlannedCall[] {
  const { conversation } = situation;
  const fetch = toolFor('fetch', situation.tools, conversation.terms);
  if (fetch === undefined || asksForNames(conversation) || targetsOf(conversation).length > 0) return [];
  const hits = resultsOf('search', situation).flatMap((one) => pathsIn(one.content));
  const listed = resultsOf('list', situation).flatMap((one) => pathsIn(one.content));
  const fetched = conversation.outcomes.filter((one) => one.current && one.name === fetch.tool.name);
  const candidates = [...new Set([...hits, ...listed])].filter(
    (path) => !fetched.some((one) => one.path !== null && samePath(one.path, path)),
  );
  const worth = (path: string) =>
    2 * conversation.terms.filter((term) => holds(path.toLowerCase(), term)).length +
    hits.filter((hit) => hit === path).length;
  return candidates
    .toSorted((left, right) => worth(right) - worth(left))
    .slice(0, MAX_GUESSED_FILES)
    .map((path) => keyed(fetch, path, situation));
}

/** One search a step: quoted words first, then codes, then the longest subject words. */
function callsForSearch(situation: Situation): readonly PlannedCall[] {
  const { conversation } = situation;
  const search = toolFor('search', situation.tools, conversation.terms);
  if (search === undefined || canFetchTargets(situation)) return [];
  const { quoted, codeLike } = conversation.shapes;
  const words = conversation.terms.toSorted(
    (left, right) => right.boost - left.boost || right.word.length - left.word.length,
  );
  const needles = [...new Set([...quoted, ...codeLike, ...words.map((term) => term.word)])];
  const untried = needles
    .map((needle) => keyed(search, needle, situation))
    .find((call) => !conversation.made.has(callKey(call.name, call.args)));
  return untried === undefined ? [] : [untried];
}

/** A file that is named is read, not searched for; without a tool that reads, it is. */
function canFetchTargets({ conversation, tools }: Situation): boolean {
  return targetsOf(conversation).length > 0 && tools.some((known) => known.role === 'fetch');
}

/** Without a search that helps, looks at what files there are. */
function callsForAnyFile(situation: Situation): readonly PlannedCall[] {
  const { conversation } = situation;
  const tried = resultsOf('list', situation).length > 0;
  return tried || conversation.terms.length === 0 || canFetchTargets(situation)
    ? []
    : listCall(situation, '**/*');
}

/** Any other tool whose own words the directive uses. */
function callsByAffinity(situation: Situation): readonly PlannedCall[] {
  const { tools, subject, asOfNow } = situation;
  const worth = (known: KnownTool): number =>
    affinity(known, subject.terms) + (asOfNow && looksOutside(known) ? OUTSIDE_AFFINITY : 0);
  const [best] = tools
    .filter((known) => known.role === 'other' && !(asOfNow && (looksBack(known) || changes(known))))
    .toSorted((left, right) => worth(right) - worth(left));
  return best === undefined || worth(best) < MIN_AFFINITY ? [] : callOf(best, situation);
}

/** A tool that was found in this turn is what it was found for. */
function callsOfBrought(situation: Situation): readonly PlannedCall[] {
  const [best] = broughtTools(situation).toSorted(
    (left, right) => affinity(right, situation.subject.terms) - affinity(left, situation.subject.terms),
  );
  return best === undefined ? [] : callOf(best, situation);
}

/** A correction names the tools that would help. */
function callsOfCorrection(situation: Situation): readonly PlannedCall[] {
  const { standing } = situation.conversation;
  if (standing === null) return [];
  const [best] = situation.tools
    .filter((known) => known.role === 'other' && !changes(known) && mentions(standing.text, known.tool.name))
    .toSorted(
      (left, right) => affinity(right, situation.subject.terms) - affinity(left, situation.subject.terms),
    );
  return best === undefined ? [] : callOf(best, situation);
}

/** What is to be verified and stands in no file here is looked at wherever anything can be looked at. */
function callsToVerify(situation: Situation): readonly PlannedCall[] {
  const { conversation, tools } = situation;
  if (!asksToVerify(conversation) || observations(situation).length > 0) return [];
  const outside = tools.find(looksOutside);
  return outside === undefined ? [] : callOf(outside, situation);
}

/** Once a turn; one that failed may be made again in other words. */
function callOf({ tool, ...known }: KnownTool, { conversation, subject }: Situation): readonly PlannedCall[] {
  const answered = conversation.outcomes.some((one) => one.current && !one.failed && one.name === tool.name);
  return answered ? [] : [{ name: tool.name, args: fillArguments({ tool, ...known }, {}, subject) }];
}

function listCall(situation: Situation, pattern: string): readonly PlannedCall[] {
  const list = toolFor('list', situation.tools, situation.conversation.terms);
  if (list?.key == null) return [];
  // A tool that lists a folder takes a folder, not a pattern.
  const folder = !/pattern|glob|wildcard/i.test(list.key.text + list.tool.description);
  return [keyed(list, folder ? '.' : pattern, situation)];
}

function keyed(known: KnownTool, text: string, situation: Situation): PlannedCall {
  const preset: Preset = known.key === null ? {} : { [known.key.name]: keyValue(known.key, text) };
  return { name: known.tool.name, args: fillArguments(known, preset, situation.subject) };
}
