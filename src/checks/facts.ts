/** What checks say of a reply: small facts with reason codes. Text never enters a machine. */

export type StepFacts =
  | { readonly kind: 'answer' }
  | { readonly kind: 'empty' }
  | { readonly kind: 'calls'; readonly admitted: number; readonly approvals: number }
  /** The plan wants a packet that is not stored; no model was called. */
  | { readonly kind: 'packet-wanted'; readonly from: number; readonly to: number }
  /** The provider refused the prompt as too long. */
  | { readonly kind: 'over-length' };

/** A side call that ended for good without a result. */
export interface CallFailure {
  readonly code: string;
}
