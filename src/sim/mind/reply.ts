/** What the simulated model says, before any wire gives it a form. */
import { canonicalJson } from '../../ledger/json.ts';
import type { PlannedCall } from './situation.ts';

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

export function callReply(calls: readonly PlannedCall[]): SimReply {
  return {
    thinking: null,
    text: '',
    calls: calls.map((call) => ({ name: call.name, argsText: canonicalJson(call.args) })),
  };
}
