/**
 * The `plan` policy: the newest whole turns that fit what the bound model was measured to use, and one
 * packet in place of the older ones. A turn is whole or it is not there.
 */
import type { CapacityProfile } from '../capacity/profile.ts';
import { tokensOf } from '../capacity/tokens.ts';

/** The packet's end moves in steps of this many turns, so that it is rarely rebuilt. */
const PACKET_BATCH_TURNS = 8;

export interface ClosedTurnWeight {
  readonly number: number;
  /** Rendered size, as `weighMessages` counts it. */
  readonly bytes: number;
}

export interface StoredPacket {
  readonly from: number;
  readonly to: number;
  readonly bytes: number;
}

export interface PlanInput {
  readonly profile: CapacityProfile;
  readonly prefixBytes: number;
  readonly openTurnBytes: number;
  /** Newest first; may stop early, as long as it goes past what the budget can hold. */
  readonly closed: readonly ClosedTurnWeight[];
  readonly closedCount: number;
  readonly packets: readonly StoredPacket[];
}

export interface PlanRun {
  readonly from: number;
  readonly to: number;
  readonly fidelity: 'full' | 'packet';
}

export interface Plan {
  readonly runs: readonly PlanRun[];
  readonly budgetTokens: number;
  readonly spentTokens: number;
  /** Closed turns in neither a run nor a packet. */
  readonly leftOut: number;
  /** A packet that should stand in the request but is not stored. */
  readonly wants: { readonly from: number; readonly to: number } | null;
}

/** Prompt ceiling: the horizon measures the prompt, the reply is charged to the window. */
export function promptCeiling(profile: CapacityProfile): number {
  const window = Math.min(profile.declaredWindow, profile.verifiedWindow ?? Number.POSITIVE_INFINITY);
  return Math.max(0, Math.min(profile.horizon.tokens, window - profile.outputReserve));
}

export function planTurns(input: PlanInput): Plan {
  const budgetTokens = historyBudget(input);
  const firstNumber = input.closed.length === 0 ? 0 : (input.closed[0]?.number ?? 0) - input.closedCount + 1;
  const fitting = newestThatFit(input.closed, input.profile, budgetTokens);
  if (fitting.length === input.closedCount)
    return finish(input, budgetTokens, fitting, null, null, firstNumber);

  return withPacket(input, budgetTokens, fitting, firstNumber);
}

/** The packet ends on a batch; where its own cost would push turns out, it takes in the next batch too. */
function withPacket(
  input: PlanInput,
  budgetTokens: number,
  fitting: readonly ClosedTurnWeight[],
  firstNumber: number,
): Plan {
  const { closed, closedCount, packets, profile } = input;
  let batches = Math.ceil((closedCount - fitting.length) / PACKET_BATCH_TURNS);
  for (;;) {
    const covered = Math.min(closedCount, batches * PACKET_BATCH_TURNS);
    const range = { from: firstNumber, to: firstNumber + covered - 1 };
    const stored = packets.find((packet) => packet.from === range.from && packet.to === range.to);
    if (stored === undefined) return finish(input, budgetTokens, fitting, null, range, firstNumber);
    const left = budgetTokens - tokensOf(stored.bytes, profile);
    if (left < 0) return finish(input, budgetTokens, fitting, null, null, firstNumber);
    const newer = closed.filter((turn) => turn.number > range.to);
    const kept = newestThatFit(newer, profile, left);
    if (kept.length === closedCount - covered)
      return finish(input, budgetTokens, kept, stored, null, firstNumber);
    batches += 1;
  }
}

function historyBudget({ profile, prefixBytes, openTurnBytes }: PlanInput): number {
  const open = Math.max(tokensOf(openTurnBytes, profile), Math.ceil(profile.closedTurnTokens.value));
  return Math.max(0, promptCeiling(profile) - tokensOf(prefixBytes, profile) - open);
}

function newestThatFit(
  newestFirst: readonly ClosedTurnWeight[],
  profile: CapacityProfile,
  budgetTokens: number,
): readonly ClosedTurnWeight[] {
  let left = budgetTokens;
  const kept: ClosedTurnWeight[] = [];
  for (const turn of newestFirst) {
    left -= tokensOf(turn.bytes, profile);
    if (left < 0) break;
    kept.push(turn);
  }
  return kept;
}

function finish(
  input: PlanInput,
  budgetTokens: number,
  kept: readonly ClosedTurnWeight[],
  packet: StoredPacket | null,
  wants: Plan['wants'],
  firstNumber: number,
): Plan {
  const runs: PlanRun[] = [];
  if (packet !== null) runs.push({ from: packet.from, to: packet.to, fidelity: 'packet' });
  const oldest = kept.at(-1);
  const newest = kept[0];
  if (oldest !== undefined && newest !== undefined)
    runs.push({ from: oldest.number, to: newest.number, fidelity: 'full' });
  const spentBytes = kept.map((turn) => turn.bytes).concat(packet === null ? [] : [packet.bytes]);
  const spentTokens = spentBytes.reduce((sum, bytes) => sum + tokensOf(bytes, input.profile), 0);
  const packeted = packet === null ? 0 : packet.to - firstNumber + 1;
  return { runs, budgetTokens, spentTokens, leftOut: input.closedCount - kept.length - packeted, wants };
}
