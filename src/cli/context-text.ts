/** Plans and contexts as tables for people. */
import type { DryPlan, SessionContext } from '../client/index.ts';
import { oneLine } from './output.ts';
import { table } from './table.ts';

const REASON_CHARS = 100;
const PERCENT = 100;

type Chosen = Pick<
  DryPlan,
  | 'pieces'
  | 'budget_tokens'
  | 'spent_tokens'
  | 'prefix_tokens'
  | 'left_out'
  | 'continues'
  | 'profile'
  | 'room'
>;

export function planText(plan: DryPlan): string {
  const { from, to } = plan.wants ?? { from: 0, to: 0 };
  return [
    `T${plan.turn_number} under ${plan.policy} on ${plan.leg}`,
    '',
    piecesTable(plan),
    '',
    ...totals(plan),
    `prompt    ${plan.ceiling_tokens} tokens at most; this one ${promptTokens(plan)}`,
    ...(plan.wants === null ? [] : [`wanted    a summary of ${turns(from, to)}`]),
    ...(plan.evicts === null
      ? []
      : [`evicts    ${numbered('#', plan.evicts.from, plan.evicts.to)} before the request is sent`]),
  ].join('\n');
}

export function contextText({ context }: SessionContext): string {
  if (context === null) return 'No turn of this session was planned yet.';
  const calls = table(
    [
      { title: 'Step' },
      { title: 'Ended' },
      { title: 'Fresh', align: 'right' },
      { title: 'Cache read', align: 'right' },
      { title: 'Cache write', align: 'right' },
      { title: 'Reply', align: 'right' },
    ],
    context.calls.map(({ step, settlement, usage }) => [
      String(step),
      settlement,
      String(usage?.input_tokens ?? '-'),
      String(usage?.cache_read_tokens ?? '-'),
      String(usage?.cache_write_tokens ?? '-'),
      String(usage?.output_tokens ?? '-'),
    ]),
  );
  return [
    `T${context.turn_number} (${context.turn}), ${context.status}, on ${context.leg ?? 'no leg yet'}`,
    '',
    piecesTable(context),
    '',
    ...totals(context),
    `prefix    ${context.prefix_digest}`,
    ...(context.handoff === null
      ? []
      : [`handoff   record ${context.handoff.record}, ${context.handoff.tokens} tokens`]),
    ...(context.degraded ? ['degraded  a summary was wanted and could not be had'] : []),
    '',
    calls,
  ].join('\n');
}

function piecesTable({ pieces }: Chosen): string {
  if (pieces.length === 0) return 'No earlier turn is carried.';
  const isItems = pieces.some(({ unit }) => unit === 'item');
  return table(
    [
      { title: isItems ? 'Items' : 'Turns' },
      { title: 'As' },
      { title: 'Tokens', align: 'right' },
      { title: 'Because' },
    ],
    pieces.map(({ from, to, unit, fidelity, tokens, reason }) => [
      numbered(unit === 'item' ? '#' : 'T', from, to),
      fidelity,
      String(tokens),
      oneLine(reason, REASON_CHARS),
    ]),
  );
}

function totals(plan: Chosen): readonly string[] {
  const { profile } = plan;
  const sure = Math.round(profile.confidence * PERCENT);
  return [
    `history   ${plan.spent_tokens} of ${plan.budget_tokens} tokens`,
    `prefix    ${plan.prefix_tokens} tokens`,
    `model     window ${profile.window}, horizon ${profile.horizon_tokens} (${sure} % sure), ${profile.tokens_per_byte.toFixed(3)} tokens a byte`,
    ...(plan.room === null ? [] : [roomLine(plan.room)]),
    ...(plan.continues === null ? [] : [`thread    goes on with T${plan.continues}`]),
    ...(plan.left_out === 0
      ? []
      : [`left out  ${plan.left_out} turns, for want of room; recall reaches them`]),
  ];
}

function promptTokens(plan: DryPlan): number {
  return plan.prefix_tokens + plan.spent_tokens + plan.open_turn_tokens;
}

function turns(from: number, to: number): string {
  return numbered('T', from, to);
}

export function numbered(sign: 'T' | '#', from: number, to: number): string {
  return from === to ? `${sign}${from}` : `${sign}${from}-${sign}${to}`;
}

function roomLine({
  unit,
  used,
  pressure_from: pressure,
  due_from: due,
}: NonNullable<Chosen['room']>): string {
  const now = used === null ? 'not measured since the last edit' : `${used} ${unit} used`;
  return `room      ${now}; the model is told from ${pressure} on, an eviction is due from ${due} on`;
}
