/**
 * Looks for what left the request: searches the transcript by the words that tell most, then reads the item of the best
 * line that was found. What is still in the request was read already, so only items that left it are opened.
 */
import type { Json } from '../../ledger/json.ts';
import { asksSomething, callKey } from './conversation.ts';
import { foundNothing } from './evidence.ts';
import { itemsIn } from './notices.ts';
import type { Outcome } from './outcome.ts';
import { otherToolsFirst } from './recalling.ts';
import type { PlannedCall, Situation } from './situation.ts';
import { holds, type Term } from './terms.ts';
import type { KnownTool } from './toolbox.ts';
import { type Hit, hitsIn, isOfLookup, type TranscriptOp } from './transcript-text.ts';

/** Words in one search: each further one brings more lines that are about something else. */
const MAX_WORDS = 6;
/** A line with less of what is asked leads nowhere. */
const MIN_SHARE = 0.4;
/** A line with so much of what is asked is what was looked for, though more lines may have been left out. */
const SURE_SHARE = 0.75;
/** Items opened in one turn. */
const MAX_READS = 2;
/** A search that brings so many lines may have left out the newest ones. */
const MANY_HITS = 100;
/** Behind a question stand its answer and, before that, what was called for it. */
const ANSWER_ITEMS = 2;
/** Signs that RE2 reads as more than themselves. */
const RE2_SIGNS = /[\\^$.*+?()[\]{}|]/g;

/** Before the files are looked at, unless the directive speaks of them. */
export function transcriptCalls(situation: Situation): readonly PlannedCall[] {
  const isBegun = searches(situation).length > 0;
  return !isBegun && otherToolsFirst(situation) ? [] : lastTranscriptCalls(situation);
}

/** When nothing else that is offered helps. */
export function lastTranscriptCalls(situation: Situation): readonly PlannedCall[] {
  const known = situation.tools.find((one) => one.role === 'transcript');
  if (known === undefined || situation.conversation.residues.length === 0) return [];
  return readCalls(known, situation) ?? grepCalls(known, situation);
}

/** The call that an order to use the tool means: the items it names, else its words, else what there is. */
export function orderedLookup(known: KnownTool, text: string, terms: readonly Term[]): PlannedCall {
  const items = inOrder(itemsIn(text));
  if (items.length > 0) return calling(known, { op: 'read', items });
  const [pattern] = patternsOf(terms, false);
  return calling(known, pattern === undefined ? { op: 'index' } : { op: 'grep', pattern, items: 'all' });
}

/** null when there is nothing more to open. */
function readCalls(known: KnownTool, situation: Situation): readonly PlannedCall[] | null {
  const reads = answersTo('read', situation);
  if (reads.filter((one) => !one.failed).length >= MAX_READS) return [];
  const done = reads.filter((one) => !one.failed || one.lookup?.items.length === 1);
  const opened = new Set(done.flatMap((one) => one.lookup?.items ?? []));
  const named = itemsIn(situation.conversation.directive).filter(
    (item) => isGone(item, situation) && !opened.has(item),
  );
  if (named.length > 0) return [calling(known, { op: 'read', items: inOrder(named) })];
  const best = bestHit(situation, opened);
  if (best === null || (best.share < SURE_SHARE && isToBeNarrowed(situation))) return null;
  return [calling(known, { op: 'read', items: around(best.hit, situation) })];
}

function grepCalls(known: KnownTool, situation: Situation): readonly PlannedCall[] {
  const { conversation } = situation;
  const untried = patternsOf(conversation.terms, overflows(situation).length > 0)
    .map((pattern) => calling(known, { op: 'grep', pattern, items: 'all' }))
    .find((call) => !conversation.made.has(callKey(call.name, call.args)));
  return untried === undefined ? [] : [untried];
}

function overflows(situation: Situation): readonly Outcome[] {
  return searches(situation).filter((one) => hitsIn(one.content).length >= MANY_HITS);
}

/** What was found last left lines out. */
function isToBeNarrowed(situation: Situation): boolean {
  return overflows(situation).some((one) => one === searches(situation).at(-1));
}

/** Two telling words on one line, then any of the words; where those were too many, the most telling one alone. */
function patternsOf(terms: readonly Term[], overflowed: boolean): readonly string[] {
  const stems = terms
    .toSorted((left, right) => right.boost - left.boost || right.word.length - left.word.length)
    .slice(0, MAX_WORDS)
    .map((term) => term.stem.replace(RE2_SIGNS, '\\$&'));
  const [first, second] = stems;
  if (first === undefined) return [];
  const both = second === undefined ? [] : [`(?i)${first}.*${second}|${second}.*${first}`];
  return [...both, `(?i)${stems.join('|')}`, ...(overflowed ? [`(?i)${first}`] : [])];
}

interface RatedHit {
  readonly hit: Hit;
  /** Of the words of what is asked, 0 to 1. */
  readonly share: number;
}

/** What says most of what is asked; of equals a statement before a question, then the newest. */
function bestHit(situation: Situation, opened: ReadonlySet<number>): RatedHit | null {
  const { terms } = situation.conversation;
  const share = ({ text }: Hit): number => {
    const lower = text.toLowerCase();
    return terms.filter((term) => holds(lower, term)).length / Math.max(1, terms.length);
  };
  const [best] = searches(situation)
    .flatMap((one) => hitsIn(one.content))
    .filter((hit) => isGone(hit.item, situation) && !opened.has(hit.item))
    .filter(({ text }) => !isOfLookup(text) && !foundNothing(text))
    .map((hit) => ({ hit, share: share(hit), asks: Number(asksSomething(hit.text)) }))
    .filter((one) => one.share >= MIN_SHARE)
    .toSorted((a, b) => b.share - a.share || a.asks - b.asks || b.hit.item - a.hit.item);
  return best ?? null;
}

/** The item, and what follows it where it only asks. Numbers may have gaps: where a read failed, the item alone. */
function around({ item, text }: Hit, situation: Situation): readonly number[] {
  if (!asksSomething(text) || answersTo('read', situation).some((one) => one.failed)) return [item];
  const behind = Array.from({ length: ANSWER_ITEMS }, (_, at) => item + at + 1);
  return [item, ...behind.filter((next) => isGone(next, situation))];
}

function inOrder(items: readonly number[]): readonly number[] {
  return [...new Set(items)].toSorted((left, right) => left - right);
}

function isGone(item: number, { conversation }: Situation): boolean {
  return conversation.residues.some(({ from, to }) => from <= item && item <= to);
}

function searches(situation: Situation): readonly Outcome[] {
  return answersTo('grep', situation).filter((one) => !one.failed);
}

function answersTo(op: TranscriptOp, { conversation }: Situation): readonly Outcome[] {
  return conversation.outcomes.filter((one) => one.current && one.lookup?.op === op);
}

function calling({ tool }: KnownTool, args: Json): PlannedCall {
  return { name: tool.name, args };
}
