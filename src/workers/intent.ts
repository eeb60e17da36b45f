/** The `intent` pool: a classifier reads a directive its own words leave unclear. Any failure falls open. */
import type { ChatRequest } from '../context/request.ts';
import type { Claim } from '../db/contract.ts';
import { classifierRequest, readClassification } from '../intent/classifier.ts';
import { blake3Hex } from '../ledger/chain.ts';
import { canonicalJson } from '../ledger/json.ts';
import type { BodyOf } from '../ledger/kinds.ts';
import { visibleText } from '../ledger/view.ts';
import type { JobRef } from '../queues/contract.ts';
import { openTurn } from '../runtime/request.ts';
import { type CallResult, runSideCall, type Settled } from '../runtime/side-call.ts';
import type { WorkerDeps } from './deps.ts';
import { receipt } from './receipt.ts';

const CLASSIFY_TIMEOUT_MS = 10_000;

export function intentWorker(deps: WorkerDeps, ref: JobRef): Promise<Settled> {
  return runSideCall(deps.host, ref, (claim, signal) => performIntent(deps, ref, claim, signal));
}

async function performIntent(
  deps: WorkerDeps,
  ref: JobRef,
  claim: Claim,
  signal: AbortSignal,
): Promise<CallResult> {
  const open = openTurn(claim.records);
  const config = await deps.configs.get(ref);
  const bound = deps.leg(config.leg);
  if (bound === null)
    return {
      kind: 'failed',
      code: 'unknown_leg',
      message: `leg "${config.leg}" is not configured`,
      drafts: [],
    };
  const request: ChatRequest = classifierRequest(visibleText(open.input));
  const startedMs = deps.host.engine.clock.monotonicMs();
  const outcome = await bound.provider.call(request, { signal, timeoutMs: CLASSIFY_TIMEOUT_MS });
  const written = receipt(
    {
      turnId: open.turnId,
      child: ref.child,
      step: 0,
      purpose: 'intent',
      attempt: claim.call.attempt,
      leg: bound.leg,
      requestDigest: blake3Hex(canonicalJson(request)),
      requestBytes: 0,
      prefixDigest: null,
      totalMs: Math.round(deps.host.engine.clock.monotonicMs() - startedMs),
    },
    outcome,
  );
  if (!outcome.ok) {
    if (outcome.failure.kind === 'aborted') return { kind: 'aborted', drafts: [written] };
    return { kind: 'failed', code: 'not_classified', message: outcome.failure.message, drafts: [written] };
  }
  const reading = readClassification(outcome.reply.content);
  if (reading === null)
    return {
      kind: 'failed',
      code: 'not_classified',
      message: 'the reply held no reading',
      drafts: [written],
    };
  const body: BodyOf<'reading'> = {
    source: 'classifier',
    act: reading.act,
    domains: [...reading.domains],
    confidence: reading.confidence,
  };
  return {
    kind: 'done',
    output: null,
    additions: () => ({ drafts: [written, { kind: 'reading', turnId: open.turnId, body }] }),
  };
}
