/** Which tools to call next. Plans only from the directive, the offered tools and this turn's results. */
import { fillArguments, keyValue, type Preset } from './arguments.ts';
import { callKey } from './conversation.ts';
import { recallCalls } from './recalling.ts';
import {
  asksForNames,
  type PlannedCall,
  pathsIn,
  resultsOf,
  type Situation,
  targetsOf,
} from './situation.ts';
import { holds, samePath } from './terms.ts';
import { affinity, type KnownTool, toolFor } from './toolbox.ts';

/** Files fetched in one step when a listing or search names them and the directive does not. */
const MAX_GUESSED_FILES = 3;
/** What one term in a tool's name, or two in its description, amount to. */
const MIN_AFFINITY = 2;
/** In order of preference; empty when nothing new can be asked. Never a call made already in this turn. */
export function nextCalls(situation: Situation): readonly PlannedCall[] {
  const plans = [
    recallCalls,
    callsForNamedFiles,
    callsForListing,
    callsForHits,
    callsForSearch,
    callsForAnyFile,
    callsByAffinity,
  ];
  for (const plan of plans) {
    const calls = plan(situation).filter(
      (call, at, all) =>
        !situation.conversation.made.has(callKey(call.name, call.args)) &&
        all.findIndex((other) => callKey(other.name, other.args) === callKey(call.name, call.args)) === at,
    );
    if (calls.length > 0) return calls;
  }
  return [];
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
  if (search === undefined || targetsOf(conversation).length > 0) return [];
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

/** Without a search that helps, looks at what files there are. */
function callsForAnyFile(situation: Situation): readonly PlannedCall[] {
  const { conversation } = situation;
  const tried = resultsOf('list', situation).length > 0;
  return tried || conversation.terms.length === 0 || targetsOf(conversation).length > 0
    ? []
    : listCall(situation, '**/*');
}

/** Any other tool whose own words the directive uses. */
function callsByAffinity(situation: Situation): readonly PlannedCall[] {
  const { tools, subject } = situation;
  const [best] = tools
    .filter((known) => known.role === 'other')
    .toSorted((left, right) => affinity(right, subject.terms) - affinity(left, subject.terms));
  if (best === undefined || affinity(best, subject.terms) < MIN_AFFINITY) return [];
  if (situation.conversation.outcomes.some((one) => one.current && one.name === best.tool.name)) return [];
  return [{ name: best.tool.name, args: fillArguments(best, {}, subject) }];
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
