/** A reply with calls: who makes each of them, and which cards are kept from being made. */
import type { ToolCallBlock } from '../ledger/blocks.ts';
import { uncitedSources } from './cited-source.ts';
import type { CalledTools, Finding, Withheld } from './facts.ts';
import { isStale } from './freshness.ts';
import { askedIn, type Judging, lastRetrieved, type PastCall } from './judged.ts';
import { isOffTopic } from './topic-mismatch.ts';

/** Calls of one step that run; the rest are answered with a typed `too_many_calls` result. */
export const MAX_CALLS_PER_STEP = 32;
/** Sources that a result names at most. */
const NAMED_SOURCES = 3;
const SOURCE_CHARS = 200;

/** How a card call comes out. */
type Card = 'shown' | 'repeated' | 'unfit' | Finding;

export function judgeCalls(
  judging: Judging,
  calls: readonly ToolCallBlock[],
  past: readonly PastCall[],
): CalledTools {
  const { toolOf, turn } = judging;
  const admitted = calls.slice(0, MAX_CALLS_PER_STEP);
  const indexesWhere = (is: (call: ToolCallBlock) => boolean): readonly number[] =>
    admitted.flatMap((call, index) => (is(call) ? [index] : []));
  const cards = judgeCards(judging, admitted, past);
  const withheld = [...cards].flatMap(([index, card]): Withheld[] =>
    typeof card === 'string' ? [] : [{ ...card, index }],
  );
  return {
    kind: 'calls',
    admitted: admitted.length,
    approvals: indexesWhere(({ name }) => toolOf(name)?.approval ?? false),
    inHop: indexesWhere(({ name }) => toolOf(name)?.inHop ?? false),
    byClient: indexesWhere((call) => isForClient(judging, call)),
    withheld,
    unfit: [...cards].flatMap(([index, card]) => (card === 'unfit' ? [index] : [])),
    idle:
      cards.size === admitted.length &&
      [...cards.values()].every((card) => card !== 'shown' && card !== 'unfit'),
    shown: turn.presentations.length > 0,
  };
}

/** Arguments that do not fit are answered at once, by a job. */
function isForClient({ toolOf }: Judging, { name, args, raw }: ToolCallBlock): boolean {
  const tool = toolOf(name);
  return tool?.byClient === true && raw === undefined && tool.fits(args);
}

/** By the index of the call. A card that stands twice in the batch is shown once. */
function judgeCards(
  judging: Judging,
  calls: readonly ToolCallBlock[],
  past: readonly PastCall[],
): ReadonlyMap<number, Card> {
  const shown = new Set(judging.turn.presentations.map(({ payloadDigest }) => payloadDigest));
  const judged = new Map<number, Card>();
  for (const [index, call] of calls.entries()) {
    if (judging.toolOf(call.name) === undefined) continue;
    const card = judging.cards.byTool(call.name);
    if (card === undefined) continue;
    const checked = card.check(call.args);
    if (!checked.ok) judged.set(index, 'unfit');
    else if (shown.has(checked.payloadDigest)) judged.set(index, 'repeated');
    else {
      const fault = faultOf(judging, call, past);
      judged.set(index, fault ?? 'shown');
      if (fault === null) shown.add(checked.payloadDigest);
    }
  }
  return judged;
}

/** The first check that keeps the card from being made. */
function faultOf(
  { turn, lexicon, lookups, isGiven }: Judging,
  { name, args }: ToolCallBlock,
  past: readonly PastCall[],
): Finding | null {
  const observed = past.some(({ ok, observes }) => ok && observes);
  if (isStale({ reading: turn.reading, observed, text: null }, lexicon))
    return { check: 'freshness', tools: lookups };
  const evidence = lastRetrieved(past);
  if (evidence.length === 0) return null;
  const directive = askedIn(turn);
  if (isOffTopic({ card: { tool: name, args }, directive, evidence }, lexicon))
    return { check: 'topic-mismatch' };
  const uncited = uncitedSources(args, isGiven);
  if (uncited.length === 0) return null;
  const reasons = uncited.slice(0, NAMED_SOURCES).map((source) => source.slice(0, SOURCE_CHARS));
  return { check: 'uncited-source', reasons };
}
