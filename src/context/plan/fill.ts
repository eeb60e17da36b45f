/** Which turns are whole: by value, each wholly or not at all, with a share held for those that are promoted. */
import { tokensOf } from '../capacity/tokens.ts';
import type { TurnIndex } from '../relevance/turn-index.ts';
import type { PlanInput, PlanOptions } from './contract.ts';
import type { Signals } from './values.ts';

/** Turns that may be planned, `from` to `count` (left out), and what each costs in tokens. */
export interface Plannable {
  readonly from: number;
  readonly count: number;
  full(position: number): number;
  card(position: number): number;
}

export interface WholeTurns {
  /** By position. */
  readonly isWhole: Uint8Array;
  readonly tokens: number;
  /** Positions in the order in which they give way to a packet: those that only their age speaks for first. */
  readonly givingWay: readonly number[];
  /** How many of those only their age speaks for. */
  readonly merelyNew: number;
}

export function plannableTurns({ index, profile }: PlanInput<TurnIndex>, from: number): Plannable {
  return {
    from,
    count: index.count,
    full: (position) => tokensOf(index.fullBytesAt(position), profile),
    card: (position) => tokensOf(index.cardBytesAt(position), profile),
  };
}

/** 1 for the newest closed turn. */
function recencyOf(position: number, count: number): number {
  return 1 / (count - position);
}

/** Whether something else than its age makes a turn whole, if it is whole. */
export function isPromoted(
  { strength }: Signals,
  position: number,
  count: number,
  eligibility: 'recency' | 'signal',
): boolean {
  const value = strength[position] ?? 0;
  return eligibility === 'signal' ? value > 0 : value > recencyOf(position, count);
}

/**
 * `promotedShare` of the budget is held while promoted turns wait; what they leave of it is taken up afterwards. Where
 * not all turns can be whole, those that are take at most `wholeShare`: the rest of the budget shows many as cards.
 */
export function fillWhole(
  turns: Plannable,
  signals: Signals,
  options: Pick<PlanOptions, 'promotedShare' | 'wholeShare' | 'eligibility'>,
  budgetTokens: number,
): WholeTurns {
  const { from, count } = turns;
  const isWhole = new Uint8Array(count);
  const promoted = promotedByValue(turns, signals, options.eligibility);
  const isWaiting = new Uint8Array(count);
  for (const position of promoted) isWaiting[position] = 1;
  const held = Math.floor(options.promotedShare * budgetTokens);
  let waiting = promoted.reduce((sum, position) => sum + turns.full(position), 0);
  const isAll = fullTokens(turns) <= budgetTokens;
  const most = isAll ? budgetTokens : Math.floor(options.wholeShare * budgetTokens);
  let left = most;
  let takenByPromoted = 0;
  const admit = (position: number, cost: number) => {
    isWhole[position] = 1;
    left -= cost;
  };

  let next = 0;
  const takePromoted = (position: number) => {
    const cost = turns.full(position);
    waiting -= cost;
    next += 1;
    if (cost > left) return;
    takenByPromoted += cost;
    admit(position, cost);
  };
  const heldBack: number[] = [];
  const oldestByAge = options.eligibility === 'signal' ? count : from;
  for (let position = count - 1; position >= oldestByAge; position--) {
    if (isWaiting[position] === 1) continue;
    for (let ahead = promoted[next]; ahead !== undefined; ahead = promoted[next]) {
      if (!goesFirst(ahead, position, signals, count)) break;
      takePromoted(ahead);
    }
    const cost = turns.full(position);
    const reserve = Math.max(0, Math.min(held - takenByPromoted, waiting));
    if (cost <= left - reserve) admit(position, cost);
    else if (cost <= left) heldBack.push(position);
  }
  for (let last = promoted[next]; last !== undefined; last = promoted[next]) takePromoted(last);
  for (const position of heldBack) if (turns.full(position) <= left) admit(position, turns.full(position));

  const givingWay: number[] = [];
  for (let position = from; position < count; position++)
    if (isWhole[position] === 1 && isWaiting[position] === 0) givingWay.push(position);
  const merelyNew = givingWay.length;
  for (const position of promoted.toReversed()) if (isWhole[position] === 1) givingWay.push(position);
  return { isWhole, tokens: most - left, givingWay, merelyNew };
}

function fullTokens(turns: Plannable): number {
  let tokens = 0;
  for (let position = turns.from; position < turns.count; position++) tokens += turns.full(position);
  return tokens;
}

/** Highest value first; among equals what is pointed back at, then the newer. */
function promotedByValue(
  { from, count }: Plannable,
  signals: Signals,
  eligibility: 'recency' | 'signal',
): readonly number[] {
  const promoted: number[] = [];
  for (let position = from; position < count; position++)
    if (isPromoted(signals, position, count, eligibility)) promoted.push(position);
  const value = (position: number) => Math.max(signals.strength[position] ?? 0, recencyOf(position, count));
  const pointed = (position: number) => Number(position === signals.pointedAt);
  return promoted.sort(
    (one, other) => value(other) - value(one) || pointed(other) - pointed(one) || other - one,
  );
}

function goesFirst(promoted: number, byAge: number, signals: Signals, count: number): boolean {
  const difference = (signals.strength[promoted] ?? 0) - recencyOf(byAge, count);
  return difference > 0 || (difference === 0 && (promoted === signals.pointedAt || promoted > byAge));
}
