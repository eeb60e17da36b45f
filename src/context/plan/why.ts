/** A plan in words, for whoever asks why a request looks as it does. Made when asked, never stored. */
import { tokensOf } from '../capacity/tokens.ts';
import type { TurnIndex } from '../relevance/turn-index.ts';
import type { Plan, PlanInput, PlanRun, Promotion } from './contract.ts';

/** Neighbours that are shown alike for one reason. Together the pieces cost what the plan spends. */
export interface PlanPiece extends PlanRun {
  /** A packet is charged once, on its first piece. */
  readonly tokens: number;
  readonly reason: string;
}

type MadeOf = Pick<PlanInput<TurnIndex>, 'index' | 'profile'>;
type Explained = Pick<Plan, 'runs' | 'packet' | 'promoted' | 'wants'>;

/** Oldest first. `input` is what the plan was made of. */
export function explainPlan(input: MadeOf, plan: Explained): readonly PlanPiece[] {
  const promoted = new Map(plan.promoted.map((promotion) => [promotion.number, promotion]));
  const pieces: PlanPiece[] = [];
  let packetTokens = plan.packet === null ? 0 : tokensOf(plan.packet.bytes, input.profile);
  for (const run of plan.runs) {
    if (run.fidelity === 'packet') {
      pieces.push({ ...run, tokens: packetTokens, reason: packetReason(plan) });
      packetTokens = 0;
    } else pieces.push(...turnPieces(input, { ...run, fidelity: run.fidelity }, promoted));
  }
  return pieces;
}

function packetReason({ packet, wants }: Explained): string {
  const named = packet === null ? '' : ` of T${packet.from} to T${packet.to}`;
  if (packet?.quality === 'model') return `older than what fits: the summary${named}`;
  return `older than what fits: made from the cards${named}${wants === null ? '' : ', until it is summarised'}`;
}

function turnPieces(
  { index, profile }: MadeOf,
  run: PlanRun & { readonly fidelity: 'full' | 'card' },
  promoted: ReadonlyMap<number, Promotion>,
): readonly PlanPiece[] {
  const pieces: PlanPiece[] = [];
  const end = index.positionOf(run.to);
  for (let position = index.positionOf(run.from); position <= end; position++) {
    const number = index.numberAt(position);
    const bytes = run.fidelity === 'full' ? index.fullBytesAt(position) : index.cardBytesAt(position);
    const tokens = tokensOf(bytes, profile);
    const reason = run.fidelity === 'card' ? 'fits as a card' : wholeReason(promoted.get(number));
    const last = pieces.at(-1);
    if (last?.reason === reason)
      pieces[pieces.length - 1] = { ...last, to: number, tokens: last.tokens + tokens };
    else pieces.push({ from: number, to: number, fidelity: run.fidelity, tokens, reason });
  }
  return pieces;
}

function wholeReason(promotion: Promotion | undefined): string {
  if (promotion === undefined) return 'among the newest that fit';
  const { by, value, path = [] } = promotion;
  switch (by) {
    case 'anaphora':
      return 'what the directive points back at';
    case 'relevance':
      return `matches what is asked (${value})`;
    case 'link':
      return `linked over ${path.join(' → ')} (${value})`;
  }
}
