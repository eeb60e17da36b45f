/**
 * A step's request on its way: to the session's leg, and where that gives no answer to the legs behind it, the same
 * request each time. What stands in for a leg teaches nothing of it.
 */
import { continuationOf } from '../context/assemble/continuation.ts';
import { tokensOf } from '../context/capacity/tokens.ts';
import type { ChatReply, ChatRequest } from '../context/request.ts';
import type { Claim } from '../db/contract.ts';
import type { RecordDraft } from '../ledger/kinds.ts';
import type { ProviderFailure } from '../providers/contract.ts';
import type { JobRef } from '../queues/contract.ts';
import type { Spending } from '../runtime/budgets.ts';
import type { BoundLeg, Called } from '../runtime/model-calls.ts';
import type { PreparedRequest, RequestInput } from '../runtime/request.ts';
import type { CallResult } from '../runtime/side-call.ts';
import { DeltaStream, turnTopic } from './deltas.ts';
import type { WorkerDeps } from './deps.ts';

/** A leg whose limits hold a call back for longer is passed over, where another stands behind it. */
const PASSED_OVER_MS = 2_000;

export interface Sending {
  readonly ref: JobRef;
  readonly claim: Claim;
  readonly step: number;
  readonly input: RequestInput;
  readonly prepared: Extract<PreparedRequest, { kind: 'request' }>;
  /** The session's leg, and those that stand in for it, in order. */
  readonly legs: readonly [BoundLeg, ...BoundLeg[]];
  readonly spending: Spending;
}

/** `drafts` are the receipts of all that was sent, and what they mean. `refused`: the session's own leg said the prompt is too long. */
export type Sent =
  | {
      readonly kind: 'answered';
      readonly bound: BoundLeg;
      readonly reply: ChatReply;
      readonly cached: boolean;
      readonly refused: OverLengthFailure | null;
      readonly drafts: readonly RecordDraft[];
    }
  | { readonly kind: 'refused'; readonly failure: ProviderFailure; readonly drafts: readonly RecordDraft[] }
  | {
      readonly kind: 'not-sent';
      readonly called: Exclude<Called, { kind: 'called' }>;
      readonly drafts: readonly RecordDraft[];
    };

export type OverLengthFailure = Extract<ProviderFailure, { kind: 'over_length' }>;

export async function sendStep(deps: WorkerDeps, sending: Sending, signal: AbortSignal): Promise<Sent> {
  const { legs, step, claim } = sending;
  const drafts: RecordDraft[] = [];
  const failures: ProviderFailure[] = [];
  const line: Line = { deps, sending, drafts, signal, stream: openStream(deps, sending) };
  let heldBack: Extract<Called, { kind: 'delayed' }> | null = null;
  let refused: OverLengthFailure | null = null;
  for (const [at, bound] of legs.entries()) {
    const called = await callLeg(line, bound);
    if (called.kind === 'delayed' && called.delayMs > PASSED_OVER_MS && at < legs.length - 1) {
      heldBack ??= called;
      continue;
    }
    if (called.kind !== 'called')
      return { kind: 'not-sent', called: called.kind === 'delayed' ? (heldBack ?? called) : called, drafts };
    const { outcome, cached } = called;
    if (outcome.ok) {
      return { kind: 'answered', bound, reply: outcome.reply, cached, refused, drafts };
    }
    failures.push(outcome.failure);
    if (at === 0 && outcome.failure.kind === 'over_length') refused = outcome.failure;
    const next = legs[at + 1];
    if (next === undefined || endsTheStep(outcome.failure)) break;
    const body = { step, from: bound.leg.name, to: next.leg.name, code: codeOf(outcome.failure) };
    drafts.push({ kind: 'route-fallback', turnId: claim.loaded.actor.turn, body });
  }
  const failure = decisive(failures);
  // Every leg was passed over or failed, and the session's own only has to be waited for.
  if (heldBack !== null && failure?.kind !== 'aborted') return { kind: 'not-sent', called: heldBack, drafts };
  if (failure === null) throw new Error(`step ${step} was sent to no leg`);
  return { kind: 'refused', failure, drafts };
}

/** The session's own refusal of the length outranks what others said later; else what may pass is tried again. */
function decisive(failures: readonly ProviderFailure[]): ProviderFailure | null {
  const [first] = failures;
  if (first === undefined || first.kind === 'over_length') return first ?? null;
  const last = failures.at(-1) ?? first;
  if (endsTheStep(last)) return last;
  return failures.find(({ kind }) => kind === 'retryable') ?? first;
}

/** Another leg would be asked for the same, or nobody waits for the answer any more. */
function endsTheStep({ kind }: ProviderFailure): boolean {
  return kind === 'aborted' || kind === 'content';
}

function codeOf(failure: ProviderFailure): string {
  return failure.kind === 'retryable' ? failure.code : failure.kind;
}

/** What every call of the step shares. */
interface Line {
  readonly deps: WorkerDeps;
  readonly sending: Sending;
  readonly drafts: RecordDraft[];
  readonly signal: AbortSignal;
  /** null while nobody watches. */
  readonly stream: DeltaStream | null;
}

/** One leg: with what the provider holds of the request where it holds some, and whole where it lost that. */
async function callLeg(line: Line, bound: BoundLeg): Promise<Called> {
  const { open, assembled, evicted } = line.sending.prepared;
  const { request } = assembled;
  const continues = evicted !== null ? null : continuationOf(open, bound.leg.name, request);
  if (continues === null) return callOnce(line, bound, request);
  const called = await callOnce(line, bound, { ...request, continues });
  const lost =
    called.kind === 'called' && !called.outcome.ok && called.outcome.failure.kind === 'lost_continuation';
  return lost ? callOnce(line, bound, request) : called;
}

async function callOnce(
  { deps, sending, drafts, signal, stream }: Line,
  bound: BoundLeg,
  request: ChatRequest,
): Promise<Called> {
  const { ref, claim, step, input, prepared, spending } = sending;
  const { requestDigest, requestBytes } = prepared.assembled;
  const { attempt } = claim.call;
  const called = await deps.calls.make({
    ref,
    turnId: claim.loaded.actor.turn,
    step,
    purpose: 'step',
    attempt,
    bound,
    request,
    requestDigest,
    requestBytes,
    prefixDigest: input.prefix.digest,
    promptTokens: tokensOf(requestBytes, input.profile),
    replyTokens: Math.min(request.maxTokens, input.profile.outputReserve),
    timeoutMs: bound.leg.timeoutMs,
    signal,
    spending,
    onSend: () => stream?.started('step.started', { step, attempt, leg: bound.leg.name }),
    ...(stream === null
      ? {}
      : { onDelta: (delta) => (delta.type === 'text' ? stream.text(delta.text) : undefined) }),
  });
  if (called.kind !== 'called') return called;
  drafts.push(called.receipt);
  if (called.outcome.ok) stream?.end();
  else stream?.discarded(called.outcome.failure.kind);
  return called;
}

function openStream(deps: WorkerDeps, { ref, claim, step, prepared }: Sending): DeltaStream | null {
  const { session } = claim.loaded;
  if (!session.watched) return null;
  return new DeltaStream({
    bus: deps.bus,
    clock: deps.host.engine.clock,
    topic: turnTopic(ref, prepared.open.turnId),
    seq: session.nextSeq - 1,
    attempt: claim.call.fence,
    step,
  });
}

/** What a step that was not sent comes to. */
export function notSent(sent: Extract<Sent, { kind: 'not-sent' }>): CallResult {
  const { called, drafts } = sent;
  switch (called.kind) {
    case 'aborted':
      return { kind: 'aborted', drafts };
    case 'delayed': {
      if (drafts.length === 0) return called;
      const { reason, delayMs } = called;
      return { kind: 'retry', code: 'rate_limited', message: reason, retryAfterMs: delayMs, drafts };
    }
    case 'budget-spent':
      return {
        kind: 'done',
        output: { kind: 'budget-spent', budget: called.budget },
        additions: () => ({ drafts }),
      };
    case 'not-cached':
      return {
        kind: 'failed',
        code: 'response_not_cached',
        message: 'The response cache is strict and keeps no reply to this request.',
        drafts: [...drafts, called.receipt],
      };
  }
}
