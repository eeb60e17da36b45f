/** Where the packet ends, which packet it is, and which turns are cards. */
import type { CapacityProfile } from '../capacity/profile.ts';
import { tokensOf } from '../capacity/tokens.ts';
import type { TurnIndex } from '../relevance/turn-index.ts';
import type { PlanInput, PlannedPacket, StoredPacket, TurnRange } from './contract.ts';
import type { Plannable, WholeTurns } from './fill.ts';

/** The packet's end moves in steps of this many turns, so that it is rarely rebuilt. */
export const PACKET_BATCH_TURNS = 8;
/** A packet made from cards says what it covers and how to reach it; less room than this is none. */
const SMALLEST_PACKET_BYTES = 600;
/** A summary of 400 words, its frame, and a kilobyte of evidence ids. */
const LARGEST_PACKET_BYTES = 5_600;
/** A packet may take one of so many equal parts of the budget. */
const BUDGET_PARTS = 5;

export interface Layout {
  readonly isWhole: Uint8Array;
  /** Turns from this position on that are not whole are cards. */
  readonly cardsFrom: number;
  readonly packet: PlannedPacket | null;
  readonly wants: TurnRange | null;
  readonly spentTokens: number;
}

/** What a packet that is made from cards may weigh: a fifth of the budget, 600 bytes at least, 5,600 at most. */
export function packetAllowanceBytes(
  budgetTokens: number,
  profile: Pick<CapacityProfile, 'tokensPerByte'>,
): number {
  const share = Math.floor(budgetTokens / profile.tokensPerByte.value / BUDGET_PARTS);
  return Math.min(LARGEST_PACKET_BYTES, Math.max(SMALLEST_PACKET_BYTES, share));
}

/**
 * Cards for the turns that are not whole, newest first; where they do not all fit, a packet over the oldest.
 * Room is made for the allowance even where the stored packet is smaller, so that storing one moves no turn.
 */
export function layOut(
  input: PlanInput<TurnIndex>,
  turns: Plannable,
  whole: WholeTurns,
  budgetTokens: number,
): Layout {
  const allowanceBytes = packetAllowanceBytes(budgetTokens, input.profile);
  const allowance = tokensOf(allowanceBytes, input.profile);
  const { wholeShare } = input.options;
  const usual = arrange(turns, whole, { budgetTokens, wholeShare }, allowance);
  if (usual === null) return withoutPacket(turns, whole, budgetTokens);
  if (usual.covered === 0) return finish(turns, usual, turns.from, null, 0, null);

  const range = (covered: number): TurnRange => ({
    from: input.index.numberAt(turns.from),
    to: input.index.numberAt(turns.from + covered - 1),
  });
  const stored = storedByEnd(input.packets, range(1).from);
  const fromCards = (covered: number, isStored: boolean): Layout => {
    const packet = { ...range(covered), quality: 'deterministic', bytes: allowanceBytes } as const;
    const wants = isStored ? null : range(covered);
    return finish(turns, usual, turns.from + covered, packet, allowance, wants);
  };
  const total = turns.count - turns.from;
  for (let covered = usual.covered; ; covered = nextEnd(covered, total)) {
    const found = stored.get(range(covered).to);
    if (found === undefined) return fromCards(covered, false);
    const tokens = tokensOf(found.bytes, input.profile);
    const arranged =
      tokens <= allowance ? usual : arrange(turns, whole, { budgetTokens, wholeShare }, tokens);
    if (arranged !== null && arranged.covered > 0 && arranged.covered <= covered) {
      const packet = { ...range(covered), quality: 'model', bytes: found.bytes } as const;
      return finish(turns, arranged, turns.from + covered, packet, tokens, null);
    }
    if (covered === total) return fromCards(usual.covered, true);
  }
}

/** Summarisers' packets from the first turn on, by their last; the smallest of a range. */
function storedByEnd(packets: readonly StoredPacket[], first: number): ReadonlyMap<number, StoredPacket> {
  const byEnd = new Map<number, StoredPacket>();
  for (const packet of packets) {
    if (packet.quality !== 'model' || packet.from !== first) continue;
    const known = byEnd.get(packet.to);
    if (known === undefined || packet.bytes < known.bytes) byEnd.set(packet.to, packet);
  }
  return byEnd;
}

function nextEnd(covered: number, total: number): number {
  return Math.min(total, covered + PACKET_BATCH_TURNS);
}

interface Arrangement {
  readonly isWhole: Uint8Array;
  readonly wholeTokens: number;
  /** Turns that the packet covers, from the first; 0 where everything is shown. */
  readonly covered: number;
}

/**
 * Whole turns give way until the packet fits beside them, or until no packet is needed. Null where the
 * budget cannot hold it at all: then none gives way.
 */
function arrange(
  turns: Plannable,
  whole: WholeTurns,
  { budgetTokens, wholeShare }: { readonly budgetTokens: number; readonly wholeShare: number },
  packetTokens: number,
): Arrangement | null {
  const isWhole = whole.isWhole.slice();
  let wholeTokens = whole.tokens;
  let cardTokens = 0;
  for (let position = turns.from; position < turns.count; position++)
    if (isWhole[position] === 0) cardTokens += turns.card(position);
  const isAllShown = () => wholeTokens + cardTokens <= budgetTokens;
  if (!isAllShown() && packetTokens > budgetTokens) return null;
  const most = wholeShare * (budgetTokens - packetTokens);
  for (const [at, position] of whole.givingWay.entries()) {
    const isWithinShare = at >= whole.merelyNew || wholeTokens <= most;
    if (isAllShown() || (wholeTokens + packetTokens <= budgetTokens && isWithinShare)) break;
    isWhole[position] = 0;
    wholeTokens -= turns.full(position);
    cardTokens += turns.card(position);
  }
  if (isAllShown()) return { isWhole, wholeTokens, covered: 0 };
  const overflow = cardsStart(turns, isWhole, budgetTokens - wholeTokens - packetTokens) - turns.from;
  const batches = Math.ceil(overflow / PACKET_BATCH_TURNS);
  return {
    isWhole,
    wholeTokens,
    covered: Math.min(turns.count - turns.from, batches * PACKET_BATCH_TURNS),
  };
}

/** Cards newest first, up to the first that does not fit: the position after it. */
function cardsStart(turns: Plannable, isWhole: Uint8Array, tokens: number): number {
  let left = tokens;
  for (let position = turns.count - 1; position >= turns.from; position--) {
    if (isWhole[position] === 1) continue;
    left -= turns.card(position);
    if (left < 0) return position + 1;
  }
  return turns.from;
}

/** No room for any packet: what is neither whole nor a card is left out. */
function withoutPacket(turns: Plannable, whole: WholeTurns, budgetTokens: number): Layout {
  const { isWhole, tokens: wholeTokens } = whole;
  const cardsFrom = cardsStart(turns, isWhole, budgetTokens - wholeTokens);
  return finish(turns, { isWhole, wholeTokens }, cardsFrom, null, 0, null);
}

function finish(
  turns: Plannable,
  { isWhole, wholeTokens }: Pick<Arrangement, 'isWhole' | 'wholeTokens'>,
  cardsFrom: number,
  packet: PlannedPacket | null,
  packetTokens: number,
  wants: TurnRange | null,
): Layout {
  let spentTokens = wholeTokens + packetTokens;
  for (let position = cardsFrom; position < turns.count; position++)
    if (isWhole[position] === 0) spentTokens += turns.card(position);
  return { isWhole, cardsFrom, packet, wants, spentTokens };
}
