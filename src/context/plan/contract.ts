/** What a plan is made of: the indexed turns, what is asked now, and the pieces it chooses. */
import type { TurnLink } from '../../ledger/turn-card.ts';
import type { CapacityProfile } from '../capacity/profile.ts';

/** Settings of a session that shape a plan; each has the default that `planOptions` gives it. */
export interface PlanOptions {
  /** Share of the history budget held for turns that something other than their age speaks for; 0 to 1. */
  readonly promotedShare: number;
  /** Where not all turns fit whole: what those that are whole may take of the budget; 0 to 1. */
  readonly wholeShare: number;
  /** `recency`: a turn may be whole because it is new. `signal`: age only orders turns that something else speaks for. */
  readonly eligibility: 'recency' | 'signal';
  /** `minimal` follows no words and no links: newest turns, and what the directive points back at. */
  readonly signals: 'all' | 'minimal';
  /** The boundary of the newest whole turns moves in steps, so that requests of several turns share their history. */
  readonly steady: boolean;
  /** `window` charges the reply to the window, `horizon` to the horizon. */
  readonly reserve: 'window' | 'horizon';
  /** Part of the ceiling that is not planned with: what a request weighs is an estimate. */
  readonly safetyMarginRatio: number;
  /** Tokens held for the reply instead of the profile's reserve; null leaves it to the profile. */
  readonly reserveTokens: number | null;
  /** A smaller window than the model's, in tokens; null for none. */
  readonly contextWindow: number | null;
}

/** A closed turn as the index keeps it. */
export interface IndexedTurn {
  readonly number: number;
  /** Of its items, both ends included; null where it never began. */
  readonly items?: TurnRange | null;
  readonly fullBytes: number;
  readonly cardBytes: number;
  /** `encodeTerms` of its card. */
  readonly terms: Uint8Array;
  /** Without those that were retracted. */
  readonly links: readonly TurnLink[];
}

/** What the open turn asks, as the planner reads it. */
export interface PlanQuery {
  readonly text: string;
  /** What of it is asked, without what was pasted in: only this may point back. The whole unless given. */
  readonly request?: string;
  readonly act: string;
  readonly domains: readonly string[];
  /** Links of the open turn so far, such as the files its directive names. */
  readonly links: readonly TurnLink[];
}

export interface StoredPacket {
  readonly from: number;
  readonly to: number;
  /** As it weighs in a request. */
  readonly bytes: number;
  readonly quality: PacketQuality;
}

/** `model`: written by a summariser. `deterministic`: made from cards alone. */
export type PacketQuality = 'model' | 'deterministic';

/** Turn numbers, both ends included. */
export interface TurnRange {
  readonly from: number;
  readonly to: number;
}

/** Neighbours of one fidelity; a number in between that the head does not have counts for nothing. */
export interface PlanRun extends TurnRange {
  readonly fidelity: 'full' | 'card' | 'packet';
}

/** Why a turn that is not among the newest is whole. `path` leads from what is asked to the turn, over linked nodes. */
export interface Promotion {
  readonly number: number;
  readonly by: 'relevance' | 'anaphora' | 'link';
  /** 0 to 1, three decimals. */
  readonly value: number;
  readonly path?: readonly string[];
}

/** The packet of a plan: a stored one, or one that is made from cards as the request is assembled. */
export interface PlannedPacket extends TurnRange {
  readonly quality: PacketQuality;
  /** What it may weigh at most (made from cards) or weighs (stored). */
  readonly bytes: number;
}

export interface Plan {
  /** Oldest first; together they cover every plannable turn exactly once, save those counted in `leftOut`. */
  readonly runs: readonly PlanRun[];
  readonly packet: PlannedPacket | null;
  readonly promoted: readonly Promotion[];
  /** The turn whose thread the open turn goes on with. */
  readonly continues: number | null;
  readonly budgetTokens: number;
  readonly spentTokens: number;
  /** Turns that not even a packet names: the budget has no room for one. */
  readonly leftOut: number;
  /** A packet by the summariser that should stand in the request and is not stored. */
  readonly wants: TurnRange | null;
}

export interface PlanInput<Index> {
  readonly profile: CapacityProfile;
  readonly options: PlanOptions;
  readonly prefixBytes: number;
  /** Tokens of what a provider counted of the prefix; `prefixBytes` is then the rest. */
  readonly countedTokens?: number;
  /** The open turn as it stands: directive, tail, steps, results. */
  readonly openTurnBytes: number;
  /** The handoff that stands for everything behind a reset; 0 without one. */
  readonly resetBytes: number;
  /** Turns up to this number are behind a reset and are not planned; 0 without one. */
  readonly behind: number;
  readonly index: Index;
  readonly query: PlanQuery;
  /** Stored packets of the head, any order; only a summariser's of exactly the range that is wanted plays a part. */
  readonly packets: readonly StoredPacket[];
  /** Of an embedding leg: the likeness of a turn to the directive, 0 to 1. */
  readonly likeness?: (number: number) => number;
}
