/** The handoff of a reset: a summariser's where one answers, else what the records say without one. */
import { deterministicHandoff, transcriptLines } from '../context/packet/handoff.ts';
import { handoffRequest } from '../context/packet/request.ts';
import { HANDOFF_WORDS } from '../context/packet/wording.ts';
import type { Claim, TurnPlace } from '../db/contract.ts';
import type { RecordDraft } from '../ledger/kinds.ts';
import { type TurnView, visibleText } from '../ledger/view.ts';
import type { JobRef } from '../queues/contract.ts';
import type { CallResult } from '../runtime/side-call.ts';
import { foldRecords } from '../runtime/turn-cache.ts';
import type { WorkerDeps } from './deps.ts';
import { openSummariser } from './summarise.ts';

/** Bytes of a handoff that is made without a model. */
const WITHOUT_MODEL_BYTES = 2_048;

export async function performHandoff(
  deps: WorkerDeps,
  ref: JobRef,
  claim: Claim,
  signal: AbortSignal,
): Promise<CallResult> {
  const turn = claim.loaded.actor.turn ?? '';
  const place = claim.loaded.turn;
  if (place === null) throw new Error(`the handoff of ${ref.actor} has no turn`);
  const open = foldRecords(await deps.host.engine.store.turnRecords(ref, turn));
  const summariser = await openSummariser(deps, ref, claim);
  const request =
    summariser === null
      ? null
      : handoffRequest(
          { directive: visibleText(open.input), lines: transcriptLines(open) },
          summariser.limits,
        );
  if (summariser === null || request === null)
    return resetWith(open, place, [failure(turn, 'no_room', 'the turn does not fit the summariser')], null);
  const summarised = await summariser.summarise(request, signal);
  if (summarised.kind === 'ended') return summarised.result;
  if (summarised.kind === 'failed') {
    const { code, problem, drafts } = summarised;
    return resetWith(open, place, [...drafts, failure(turn, code, problem)], null);
  }
  return resetWith(open, place, [summarised.receipt], summarised.read(HANDOFF_WORDS));
}

/** `text` null: made without a model. */
export function resetWith(
  open: TurnView,
  place: TurnPlace,
  before: readonly RecordDraft[],
  text: string | null,
): Extract<CallResult, { kind: 'done' }> {
  const throughStep = Math.max(0, ...open.steps.map(({ step }) => step));
  const body = {
    behind: place.number - 1,
    throughStep,
    text: text ?? deterministicHandoff(open, WITHOUT_MODEL_BYTES),
    quality: text === null ? ('deterministic' as const) : ('model' as const),
  };
  const drafts: readonly RecordDraft[] = [...before, { kind: 'reset', turnId: open.turnId, body }];
  return {
    kind: 'done',
    output: { to: throughStep },
    additions: () => ({ drafts, reset: { draft: drafts.length - 1 } }),
  };
}

function failure(turnId: string, code: string, problem: string): RecordDraft {
  return {
    kind: 'compaction-failed',
    turnId,
    body: { purpose: 'handoff', from: 0, to: 0, code, problem },
  };
}
