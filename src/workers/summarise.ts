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
import type { JobRef } from '../queues/contract.ts';
import type { CallResult } from '../runtime/side-call.ts';
import type { BoundLeg, WorkerDeps } from './deps.ts';
import { receipt } from './receipt.ts';

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
  const bound = deps.leg(config.leg);
  if (bound === null) return null;
  const profile = await deps.profiles.bind(bound.leg, []);
  const limits = {
    ceilingTokens: promptCeiling({ ...profile, outputReserve: 0 }),
    tokensPerByte: profile.tokensPerByte.value,
  };
  return {
    bound,
    limits,
    summarise: async (request, signal) => {
      const { leg, provider } = bound;
      const { clock } = deps.host.engine;
      const requestBytes = byteLength(request.system) + weighMessages(request.messages);
      const tokens = tokensOf(requestBytes, profile) + request.maxTokens;
      let totalMs = 0;
      const ran = await deps.limiter.run({ leg, ref, tokens, signal }, async () => {
        const startedMs = clock.monotonicMs();
        const outcome = await provider.call(request, { signal, timeoutMs: SUMMARISE_TIMEOUT_MS });
        totalMs = Math.round(clock.monotonicMs() - startedMs);
        return outcome;
      });
      if (ran.kind === 'delayed' && ran.delayMs > SUMMARISE_TIMEOUT_MS)
        return { kind: 'failed', code: 'rate_limited', problem: ran.reason, drafts: [] };
      if (ran.kind !== 'ran') return { kind: 'ended', result: ran };
      const { outcome } = ran;
      const facts = {
        turnId: claim.loaded.actor.turn,
        child: ref.child,
        step: 0,
        purpose: 'summary' as const,
        attempt: claim.call.attempt,
        leg,
        requestDigest: blake3Hex(canonicalJson(request)),
        requestBytes,
        prefixDigest: null,
        totalMs,
      };
      const written = receipt(facts, outcome);
      if (outcome.ok) {
        const { reply } = outcome;
        return { kind: 'summarised', read: (words) => readSummary(reply, words), receipt: written };
      }
      const { failure } = outcome;
      if (failure.kind === 'aborted')
        return { kind: 'ended', result: { kind: 'aborted', drafts: [written] } };
      return { kind: 'failed', code: failure.kind, problem: failure.message, drafts: [written] };
    },
  };
}
