/** What an operator demands of every turn before it may end: judged by data, never by a model. */

/** A turn that is about to end: its answer, and what was called for it, in order. */
export interface Ending {
  readonly asked: string;
  readonly text: string;
  readonly calls: readonly { readonly tool: string; readonly ok: boolean }[];
}

export interface StopCondition {
  /** As the model is told that it is not met. */
  readonly name: string;
  /** Must neither throw nor wait; one that throws counts as met. */
  isMet(ending: Ending): boolean;
}
