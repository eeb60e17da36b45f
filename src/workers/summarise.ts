/** One call to a summariser, with its receipt: a packet of its own, never the turn's request. */

import { weighMessages } from '../context/assemble/weigh.ts';
import { tokensOf } from '../context/capacity/tokens.ts';
import { readSummary } from '../context/packet/read-summary.ts';
import type { SummariserLimits } from '../context/packet/request.ts';
import { promptCeiling } from '../context/plan/budget.ts';
import type { ChatRequest } from '../context/request.ts';
import type { Claim } from '../db/contract.ts';
import { blake3Hex } from '../ledger/chain.ts';
import { byteLength, canonicalJson } from '../ledger/json.ts';
import type { RecordDraft } from '../ledger/kinds.ts';
import { unasked } from '../ledger/view.ts';
import type { JobRef } from '../queues/contract.ts';
import { spendingOf } from '../runtime/budgets.ts';
import type { BoundLeg, Called } from '../runtime/model-calls.ts';
import type { CallResult } from '../runtime/side-call.ts';
import type { WorkerDeps } from './deps.ts';

/** A summary that took longer would come after the turn went on without it. */
const SUMMARISE_TIMEOUT_MS = 20_000;

/** What a reply within `words` words says; null where it says nothing of use. */
export type Summarised =
  | {
      readonly kind: 'summarised';
      readonly read: (words: number) => string | null;
      readonly receipt: RecordDraft;
    }
  | {
      readonly kind: 'failed';
      readonly code: string;
      readonly problem: string;
      readonly drafts: readonly RecordDraft[];
    }
  /** The call goes back to its pool, or was aborted. */
  | { readonly kind: 'ended'; readonly result: CallResult };

export interface Summariser {
  readonly bound: BoundLeg;
  readonly limits: SummariserLimits;
  summarise(request: ChatRequest, signal: AbortSignal): Promise<Summarised>;
}

/** null when the session's leg is not configured any more. */
export async function openSummariser(
  deps: WorkerDeps,
  ref: JobRef,
  claim: Claim,
): Promise<Summariser | null> {
  const config = await deps.configs.get(ref);
  const bound = deps.sideLeg('summary', config.leg);
  if (bound === null) return null;
  const profile = await deps.profiles.bind(bound.leg);
  const limits = {
    ceilingTokens: promptCeiling({ ...profile, outputReserve: 0 }),
    tokensPerByte: profile.tokensPerByte.value,
  };
  return {
    bound,
    limits,
    summarise: async (asked, signal) => {
      const request: ChatRequest = { ...asked, thinking: 'off' };
      const requestBytes = byteLength(request.system) + weighMessages(request.messages);
      const called = await deps.calls.make({
        ref,
        turnId: claim.loaded.actor.turn,
        step: 0,
        purpose: 'summary',
        attempt: claim.call.attempt,
        bound,
        request,
        requestDigest: blake3Hex(canonicalJson(request)),
        requestBytes,
        prefixDigest: null,
        promptTokens: tokensOf(requestBytes, profile),
        replyTokens: request.maxTokens,
        timeoutMs: SUMMARISE_TIMEOUT_MS,
        signal,
        spending: spendingOf(unasked(0), config),
      });
      return summarised(called);
    },
  };
}

function summarised(called: Called): Summarised {
  switch (called.kind) {
    case 'delayed':
      if (called.delayMs <= SUMMARISE_TIMEOUT_MS) return { kind: 'ended', result: called };
      return { kind: 'failed', code: 'rate_limited', problem: called.reason, drafts: [] };
    case 'aborted':
      return { kind: 'ended', result: called };
    case 'budget-spent':
      return { kind: 'failed', code: 'budget', problem: `the ${called.budget} budget is spent`, drafts: [] };
    case 'not-cached':
      return {
        kind: 'failed',
        code: 'response_not_cached',
        problem: 'no reply is kept',
        drafts: [called.receipt],
      };
    case 'called':
      break;
  }
  const { outcome, receipt } = called;
  if (outcome.ok) {
    const { reply } = outcome;
    return { kind: 'summarised', read: (words) => readSummary(reply, words), receipt };
  }
  const { failure } = outcome;
  if (failure.kind === 'aborted') return { kind: 'ended', result: { kind: 'aborted', drafts: [receipt] } };
  return { kind: 'failed', code: failure.kind, problem: failure.message, drafts: [receipt] };
}
