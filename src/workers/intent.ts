/** The `intent` pool: a classifier reads a directive its own words leave unclear. Any failure falls open. */
import { INITIAL_TOKENS_PER_BYTE } from '../context/capacity/profile.ts';
import type { ChatRequest } from '../context/request.ts';
import type { Claim } from '../db/contract.ts';
import { classifierRequest, readClassification } from '../intent/classifier.ts';
import { blake3Hex } from '../ledger/chain.ts';
import { byteLength, canonicalJson } from '../ledger/json.ts';
import type { BodyOf, RecordDraft } from '../ledger/kinds.ts';
import { visibleText } from '../ledger/view.ts';
import type { JobRef } from '../queues/contract.ts';
import { spendingOf } from '../runtime/budgets.ts';
import { type CallResult, runSideCall, type Settled } from '../runtime/side-call.ts';
import { foldRecords } from '../runtime/turn-cache.ts';
import type { WorkerDeps } from './deps.ts';

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
  const bound = deps.sideLeg('intent', config.leg);
  if (bound === null) {
    const message = `leg "${config.leg}" is not configured`;
    return { kind: 'failed', code: 'unknown_leg', message, drafts: [] };
  }
  const request: ChatRequest = { ...classifierRequest(visibleText(open.input)), thinking: 'off' };
  const text = canonicalJson(request);
  const requestBytes = byteLength(text);
  const called = await deps.calls.make({
    ref,
    turnId: open.turnId,
    step: 0,
    purpose: 'intent',
    attempt: claim.call.attempt,
    bound,
    request,
    requestDigest: blake3Hex(text),
    requestBytes,
    prefixDigest: null,
    // A first estimate will do: the request is small, and what it really cost is known afterwards.
    promptTokens: Math.ceil(requestBytes * INITIAL_TOKENS_PER_BYTE),
    replyTokens: request.maxTokens,
    timeoutMs: CLASSIFY_TIMEOUT_MS,
    signal,
    spending: spendingOf(open, config),
  });
  if (called.kind === 'delayed' && called.delayMs > CLASSIFY_TIMEOUT_MS)
    return notClassified(called.reason, []);
  if (called.kind === 'budget-spent') return notClassified(`the ${called.budget} budget is spent`, []);
  if (called.kind === 'not-cached') return notClassified('no reply is kept', [called.receipt]);
  if (called.kind !== 'called') return called;
  const { outcome, receipt: written } = called;
  if (!outcome.ok) {
    if (outcome.failure.kind === 'aborted') return { kind: 'aborted', drafts: [written] };
    return notClassified(outcome.failure.message, [written]);
  }
  const reading = readClassification(outcome.reply.content);
  if (reading === null) return notClassified('the reply held no reading', [written]);
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

function notClassified(message: string, drafts: readonly RecordDraft[]): CallResult {
  return { kind: 'failed', code: 'not_classified', message, drafts };
}
