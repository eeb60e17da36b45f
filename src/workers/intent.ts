/** The `intent` pool: a classifier reads a directive its own words leave unclear. Any failure falls open. */
import { INITIAL_TOKENS_PER_BYTE } from '../context/capacity/profile.ts';
import type { ChatRequest } from '../context/request.ts';
import type { Claim } from '../db/contract.ts';
import { classifierRequest, readClassification } from '../intent/classifier.ts';
import { blake3Hex } from '../ledger/chain.ts';
import { byteLength, canonicalJson } from '../ledger/json.ts';
import type { BodyOf } from '../ledger/kinds.ts';
import { visibleText } from '../ledger/view.ts';
import type { JobRef } from '../queues/contract.ts';
import { type CallResult, runSideCall, type Settled } from '../runtime/side-call.ts';
import { foldRecords } from '../runtime/turn-cache.ts';
import type { BoundLeg, WorkerDeps } from './deps.ts';
import { receipt } from './receipt.ts';

/** Also how long a reading may wait for the provider's limits: the turn goes on without it after that. */
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
  const open = foldRecords(claim.records);
  const config = await deps.configs.get(ref);
  const bound = deps.leg(config.leg);
  if (bound === null) {
    const message = `leg "${config.leg}" is not configured`;
    return { kind: 'failed', code: 'unknown_leg', message, drafts: [] };
  }
  const request: ChatRequest = classifierRequest(visibleText(open.input));
  const { ran, totalMs } = await classify(deps, ref, bound, request, signal);
  if (ran.kind === 'delayed' && ran.delayMs > CLASSIFY_TIMEOUT_MS)
    return { kind: 'failed', code: 'not_classified', message: ran.reason, drafts: [] };
  if (ran.kind !== 'ran') return ran;
  const { outcome } = ran;
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
      totalMs,
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

async function classify(
  deps: WorkerDeps,
  ref: JobRef,
  { leg, provider }: BoundLeg,
  request: ChatRequest,
  signal: AbortSignal,
) {
  const { clock } = deps.host.engine;
  let totalMs = 0;
  const ran = await deps.limiter.run({ leg, ref, tokens: tokensOf(request), signal }, async () => {
    const startedMs = clock.monotonicMs();
    const outcome = await provider.call(request, { signal, timeoutMs: CLASSIFY_TIMEOUT_MS });
    totalMs = Math.round(clock.monotonicMs() - startedMs);
    return outcome;
  });
  return { ran, totalMs };
}

/** A first estimate will do: the request is small, and what it really cost is known afterwards. */
function tokensOf(request: ChatRequest): number {
  return Math.ceil(byteLength(canonicalJson(request)) * INITIAL_TOKENS_PER_BYTE) + request.maxTokens;
}
