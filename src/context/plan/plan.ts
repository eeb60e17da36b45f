/**
 * The `plan` policy: which closed turns a request carries whole, which as cards, and which a packet stands
 * for, against what the bound model was measured to use. A pure function of the index, the stored packets
 * and the profile, so that the same session serves a small model and a large one.
 */
import type { TurnIndex } from '../relevance/turn-index.ts';
import { historyBudget } from './budget.ts';
import type { Plan, PlanInput, PlanRun, Promotion } from './contract.ts';
import { fillWhole, isPromoted, plannableTurns } from './fill.ts';
import { type Layout, layOut } from './packets.ts';
import { steadied } from './steady.ts';
import { type Signals, signalsOf } from './values.ts';

export function planTurns(input: PlanInput<TurnIndex>): Plan {
  const { index, options } = input;
  const budgetTokens = historyBudget(input);
  const from = index.positionAfter(input.behind);
  const signals = signalsOf(input, from);
  const turns = plannableTurns(input, from);
  const filled = fillWhole(turns, signals, options, budgetTokens);
  const promoted = (position: number) => isPromoted(signals, position, index.count, options.eligibility);
  const whole = options.steady ? steadied(turns, filled, promoted) : filled;
  const layout = layOut(input, turns, whole, budgetTokens);
  return {
    runs: runsOf(index, from, layout),
    packet: layout.packet,
    promoted: promotions(input, from, signals, layout.isWhole),
    continues: signals.continues,
    budgetTokens,
    spentTokens: layout.spentTokens,
    leftOut: layout.packet === null ? countUnseen(from, layout) : 0,
    wants: layout.wants,
  };
}

function runsOf(index: TurnIndex, from: number, layout: Layout): readonly PlanRun[] {
  const runs: PlanRun[] = [];
  let start = from;
  for (let position = from; position < index.count; position++) {
    const fidelity = fidelityAt(position, layout);
    if (position + 1 < index.count && fidelityAt(position + 1, layout) === fidelity) continue;
    if (fidelity !== null) runs.push({ from: index.numberAt(start), to: index.numberAt(position), fidelity });
    start = position + 1;
  }
  return runs;
}

function fidelityAt(position: number, { isWhole, cardsFrom, packet }: Layout): PlanRun['fidelity'] | null {
  if (isWhole[position] === 1) return 'full';
  if (position >= cardsFrom) return 'card';
  return packet === null ? null : 'packet';
}

function countUnseen(from: number, { isWhole, cardsFrom }: Layout): number {
  let unseen = 0;
  for (let position = from; position < cardsFrom; position++) unseen += isWhole[position] === 1 ? 0 : 1;
  return unseen;
}

function promotions(
  { index, options }: PlanInput<TurnIndex>,
  from: number,
  signals: Signals,
  isWhole: Uint8Array,
): readonly Promotion[] {
  const promoted: Promotion[] = [];
  for (let position = from; position < index.count; position++) {
    const by = signals.by[position];
    if (by === undefined || isWhole[position] === 0) continue;
    if (!isPromoted(signals, position, index.count, options.eligibility)) continue;
    const value = Math.round((signals.strength[position] ?? 0) * 1_000) / 1_000;
    const path = by === 'link' ? signals.reached.get(position)?.path : undefined;
    promoted.push({ number: index.numberAt(position), by, value, ...(path === undefined ? {} : { path }) });
  }
  return promoted;
}
