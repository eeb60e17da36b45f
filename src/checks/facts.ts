/** What checks say of a reply: small facts with reason codes. Text never enters a machine. */

export type StepFacts =
  /** `degraded`: it rests on a packet that a summariser should have written and did not. */
  | { readonly kind: 'answer'; readonly degraded: boolean }
  | { readonly kind: 'empty' }
  /** `inHop`: calls, by index, that are answered without a job. */
  | {
      readonly kind: 'calls';
      readonly admitted: number;
      readonly approvals: number;
      readonly inHop: readonly number[];
    }
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
  /** The provider refused the prompt as too long. */
  | { readonly kind: 'over-length' }
  /** The next call could cost more than is left of a budget; no model was called. */
  | { readonly kind: 'budget-spent'; readonly budget: BudgetName };

/** Whose limit, and of what: a turn's, its session's, its tenant's day. */
export type BudgetName = 'turn_cost' | 'turn_tokens' | 'session_cost' | 'session_tokens' | 'tenant_cost';

/** A side call that ended for good without a result. */
export interface CallFailure {
  readonly code: string;
}
