/** What the simulated model says, before any wire gives it a form. */

export interface SimReplyCall {
  readonly name: string;
  /** JSON of the arguments; broken JSON only under a fault or when the reply was cut. */
  readonly argsText: string;
}

export interface SimReply {
  /** null when nothing was thought aloud. */
  readonly thinking: string | null;
  readonly text: string;
  readonly calls: readonly SimReplyCall[];
}

export function textReply(text: string): SimReply {
  return { thinking: null, text, calls: [] };
}
