/** What checks say of a reply: small facts with reason codes. Text never enters a machine. */
import type { Check } from '../ledger/kinds.ts';

/** What a check found in a final text, and what it was about, where it was about something. */
export interface Finding {
  readonly check: Check;
  /** Tools it names. */
  readonly tools?: readonly string[];
  /** The turn it names. */
  readonly turn?: number;
  /** Reason codes, or faults in short words. */
  readonly reasons?: readonly string[];
}

/** A card that a check keeps from being made, by the index of its call. */
export interface Withheld extends Finding {
  readonly index: number;
}

/** All by index. What is in none of these runs as a job. */
export interface CalledTools {
  readonly kind: 'calls';
  readonly admitted: number;
  /** Those that a person must allow. */
  readonly approvals: readonly number[];
  /** Answered without a job. */
  readonly inHop: readonly number[];
  /** Made by the client. */
  readonly byClient: readonly number[];
  readonly withheld: readonly Withheld[];
  /** In-hop calls that will be refused for what they hold. */
  readonly unfit: readonly number[];
  /** Nothing but cards that were shown before, or that a check withholds. */
  readonly idle: boolean;
  /** The turn has shown a card. */
  readonly shown: boolean;
}

export type StepFacts =
  /** `degraded`: it rests on a packet that a summariser should have written and did not. `findings` in the order in which they count. */
  | { readonly kind: 'answer'; readonly degraded: boolean; readonly findings: readonly Finding[] }
  | { readonly kind: 'empty'; readonly shown: boolean }
  | CalledTools
  /** The plan wants a packet that is not stored; no model was called. */
  | {
      readonly kind: 'packet-wanted';
      readonly from: number;
      readonly to: number;
      /** What it may weigh in a request. */
      readonly bytes: number;
    }
  /** Prefix, tail and the turn itself exceed what the model takes; no model was called. */
  | { readonly kind: 'reset-wanted' }
  /** The handoff of a reset was made without a model. */
  | { readonly kind: 'reset-made' }
  /** Not even the directive fits; no model was called. */
  | { readonly kind: 'no-horizon' }
  /** The provider refused the prompt as too long. `leaves`: under `evict`, whether more of the history can leave. */
  | { readonly kind: 'over-length'; readonly leaves?: boolean }
  /** The next call could cost more than is left of a budget; no model was called. */
  | { readonly kind: 'budget-spent'; readonly budget: BudgetName };

/** Whose limit, and of what: a turn's, its session's, its tenant's day. */
export type BudgetName = 'turn_cost' | 'turn_tokens' | 'session_cost' | 'session_tokens' | 'tenant_cost';

/** A side call that ended for good without a result. */
export interface CallFailure {
  readonly code: string;
}
