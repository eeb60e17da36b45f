/** Compaction on request: the packet that the next plan wants is begun now, by the code that begins it after a turn. */
import type { SessionRef } from '../db/contract.ts';
import { type NextTurn, type NextTurnDeps, nextTurnFor } from './next-turn.ts';
import type { Begun, SummariesAhead } from './summaries-ahead.ts';

/** @throws TurnwrightError `session_not_found`, or `busy`. */
export async function compactSession(
  deps: NextTurnDeps & { readonly ahead: SummariesAhead },
  ref: SessionRef,
  leg: NextTurn['leg'],
): Promise<Begun> {
  return deps.ahead.begin(await nextTurnFor(deps, ref, { text: null, leg }));
}
