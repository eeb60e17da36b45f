/** The `step` pool: one model call. Stages: bind, plan and assemble, send, judge. */
import { judgeReply, MAX_CALLS_PER_STEP } from '../checks/judge.ts';
import { tokensOf } from '../context/capacity/tokens.ts';
import type { ChatReply } from '../context/request.ts';
import type { Claim, TurnPlace } from '../db/contract.ts';
import type { AssistantBlock } from '../ledger/blocks.ts';
import { evidenceId } from '../ledger/ids.ts';
import { type Json, storableText } from '../ledger/json.ts';
import type { RecordDraft } from '../ledger/kinds.ts';
import { toolCalls } from '../ledger/view.ts';
import type { CallOutcome } from '../providers/contract.ts';
import type { JobRef } from '../queues/contract.ts';
import type { Additions } from '../runtime/additions.ts';
import { type StepPrefix, sessionPrefix, stepPrefix } from '../runtime/prefix.ts';
import type { PlanBody, PreparedRequest, RequestInput } from '../runtime/request.ts';
import { sessionPlan } from '../runtime/session-plan.ts';
import { type CallResult, runSideCall, type Settled } from '../runtime/side-call.ts';
import { foldRecords } from '../runtime/turn-cache.ts';
import { DeltaStream, turnTopic } from './deltas.ts';
import type { BoundLeg, WorkerDeps } from './deps.ts';
import { dueProbe } from './due-probe.ts';
import { resetWith } from './handoff.ts';
import { receipt } from './receipt.ts';

interface StepInput {
  readonly step: number;
  readonly packetless: boolean;
  readonly handoffless: boolean;
}

/** Told of a reply that may end the turn, and of what its request was made of. */
type OnAnswer = (input: RequestInput, plan: PlanBody) => void;
type Prepared = Extract<PreparedRequest, { kind: 'request' }>;

export async function stepWorker(deps: WorkerDeps, ref: JobRef): Promise<Settled> {
  const watched: string[] = [];
  const answers: { readonly input: RequestInput; readonly plan: PlanBody }[] = [];
  const settled = await runSideCall(deps.host, ref, (claim, signal) => {
    if (claim.loaded.session.watched) watched.push(turnTopic(ref, ref.actor));
    return performStep(deps, ref, claim, signal, (input, plan) => answers.push({ input, plan }));
  });
  // What was streamed is durable now, or was taken back.
  for (const topic of watched) await deps.bus.drop(topic);
  const [answer] = answers;
  if (settled === 'applied' && answer !== undefined)
    await deps.ahead.afterStep(ref, answer.input, answer.plan).catch(deps.host.onError);
  return settled;
}

async function performStep(
  deps: WorkerDeps,
  ref: JobRef,
  claim: Claim,
  signal: AbortSignal,
  onAnswer: OnAnswer,
): Promise<CallResult> {
  const { step, packetless, handoffless } = JSON.parse(claim.call.input) as StepInput;
  const place = claim.loaded.turn;
  if (place === null) throw new Error(`step call ${ref.child} has no turn`);
  const config = await deps.configs.get(ref);
  const bound = deps.leg(config.leg);
  if (bound === null)
    return {
      kind: 'failed',
      code: 'unknown_leg',
      message: `leg "${config.leg}" is not configured`,
      drafts: [],
    };
  const open = foldRecords(claim.records);
  const { store } = deps.host.engine;
  const built = sessionPrefix(config, deps.surface);
  const [profile, pinned] = await Promise.all([
    deps.profiles.bind(bound.leg, open.rejections),
    stepPrefix(store, claim.loaded.session, open, built),
  ]);
  const input: RequestInput = {
    claim,
    open,
    place,
    prefix: pinned.prefix,
    profile,
    ...sessionPlan(config),
    packetless,
  };
  const prepared = await deps.requests.prepare(input);
  if (prepared.kind === 'reset-wanted' && handoffless) {
    const reset = resetWith(open, place, [], null);
    return { ...reset, output: { kind: 'reset-made' } };
  }
  if (prepared.kind !== 'request')
    return { kind: 'done', output: { ...prepared }, additions: () => ({ drafts: [] }) };
  return send(deps, ref, { claim, place, input, prepared, pinned, bound, step, onAnswer }, signal);
}

interface Sending {
  readonly claim: Claim;
  readonly place: TurnPlace;
  readonly input: RequestInput;
  readonly prepared: Prepared;
  readonly pinned: StepPrefix;
  readonly bound: BoundLeg;
  readonly step: number;
  readonly onAnswer: OnAnswer;
}

async function send(
  deps: WorkerDeps,
  ref: JobRef,
  sending: Sending,
  signal: AbortSignal,
): Promise<CallResult> {
  const { claim, input, prepared, bound, step } = sending;
  const { session, actor } = claim.loaded;
  const topic = turnTopic(ref, prepared.open.turnId);
  const stream = session.watched
    ? new DeltaStream({
        bus: deps.bus,
        clock: deps.host.engine.clock,
        topic,
        seq: session.nextSeq - 1,
        attempt: claim.call.fence,
        step,
      })
    : null;
  const { clock } = deps.host.engine;
  let totalMs = 0;
  const tokens =
    tokensOf(prepared.assembled.requestBytes, input.profile) + prepared.assembled.request.maxTokens;
  const ran = await deps.limiter.run({ leg: bound.leg, ref, tokens, signal }, async () => {
    stream?.started('step.started', { step, attempt: claim.call.attempt, leg: bound.leg.name });
    const startedMs = clock.monotonicMs();
    const answer = await bound.provider.call(prepared.assembled.request, {
      signal,
      timeoutMs: bound.leg.timeoutMs,
      ...(stream === null
        ? {}
        : { onDelta: (delta) => (delta.type === 'text' ? stream.text(delta.text) : undefined) }),
    });
    totalMs = Math.round(clock.monotonicMs() - startedMs);
    return answer;
  });
  if (ran.kind !== 'ran') return ran;
  const { outcome } = ran;
  if (outcome.ok) stream?.end();
  else stream?.discarded(outcome.failure.kind);
  const written = receipt(
    {
      turnId: actor.turn,
      child: ref.child,
      step,
      purpose: 'step',
      attempt: claim.call.attempt,
      leg: bound.leg,
      requestDigest: prepared.assembled.requestDigest,
      requestBytes: prepared.assembled.requestBytes,
      prefixDigest: input.prefix.digest,
      totalMs,
    },
    outcome,
  );
  if (outcome.ok) deps.profiles.observe(bound.leg, outcome.reply.usage, prepared.assembled.requestBytes);
  return outcome.ok
    ? answered(deps, sending, outcome.reply, written)
    : refused(sending, outcome.failure, written);
}

function answered(deps: WorkerDeps, sending: Sending, reply: ChatReply, written: RecordDraft): CallResult {
  const { place, prepared, step, bound, input } = sending;
  const content = withOwnIds(reply.content, place.number, step);
  const offered = new Set(input.prefix.tools.map(({ name }) => name));
  const traits = {
    needsApproval: (name: string) => deps.surface.get(name)?.approval ?? false,
    isInHop: (name: string) => offered.has(name) && (deps.surface.get(name)?.inHop ?? false),
  };
  const facts = judgeReply(content, traits, prepared.plan.degraded);
  if (facts.kind === 'answer') sending.onAnswer(input, prepared.plan);
  const turnId = prepared.open.turnId;
  const message: RecordDraft = {
    kind: 'assistant-message',
    turnId,
    body: { step, content: [...content], finish: reply.finish },
  };
  const before = [...madeOf(sending), written, message];
  return {
    kind: 'done',
    output: facts as unknown as Json,
    additions: (takeEvidence) => ({
      ...withRefusedCalls(before, content, turnId, step, takeEvidence),
      ...pinnedBy(sending),
    }),
    onClose: facts.kind === 'answer' ? dueProbe(deps, bound.leg, input.profile) : [],
  };
}

/** The records a request can be made of again: first in the hop, in this order. */
function madeOf({ pinned, prepared }: Sending): readonly RecordDraft[] {
  return [...pinned.drafts, ...(prepared.planDraft === null ? [] : [prepared.planDraft])];
}

function pinnedBy({ pinned: { pins, prefix, stored } }: Sending): Pick<Additions, 'prefix'> {
  return pins ? { prefix: { digest: prefix.digest, draft: stored } } : {};
}

/** A provider's ids may repeat across steps; ours are of the session, and the same on every replay. */
function withOwnIds(
  content: readonly AssistantBlock[],
  turn: number,
  step: number,
): readonly AssistantBlock[] {
  let index = 0;
  return content.map((block) =>
    block.type === 'tool_call'
      ? { ...block, id: `t${turn}s${step}c${index++}`, name: storableText(block.name) }
      : block,
  );
}

/** Calls beyond what one step may run are answered at once. */
function withRefusedCalls(
  before: readonly RecordDraft[],
  content: readonly AssistantBlock[],
  turnId: string,
  step: number,
  takeEvidence: () => number,
): Additions {
  const drafts = [...before];
  const evidence: NonNullable<Additions['evidence']>[number][] = [];
  for (const [index, call] of toolCalls(content).entries()) {
    if (index < MAX_CALLS_PER_STEP) continue;
    const ordinal = takeEvidence();
    const text = `Not run: one step runs at most ${MAX_CALLS_PER_STEP} calls. Call it again in the next step if it is still needed.`;
    evidence.push({ ordinal, tool: call.name, draft: drafts.length });
    const body = {
      step,
      index,
      callId: call.id,
      name: call.name,
      status: 'too_many_calls',
      evidence: evidenceId(ordinal),
      content: text,
      windowed: false,
    } as const;
    drafts.push({ kind: 'tool-result', turnId, body });
  }
  return { drafts, evidence };
}

function refused(
  sending: Sending,
  failure: Extract<CallOutcome, { ok: false }>['failure'],
  written: RecordDraft,
): CallResult {
  const drafts = [written];
  switch (failure.kind) {
    case 'aborted':
      return { kind: 'aborted', drafts };
    case 'retryable': {
      const { code, message, retryAfterMs } = failure;
      return {
        kind: 'retry',
        code,
        message,
        drafts,
        ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      };
    }
    case 'over_length':
      return overLength(sending, failure.limitTokens, drafts);
    case 'auth':
    case 'bad_request':
      return { kind: 'failed', code: failure.kind, message: failure.message, drafts };
    case 'content':
      return { kind: 'failed', code: 'content_refused', message: failure.message, drafts };
  }
}

function overLength(
  sending: Sending,
  limitTokens: number | undefined,
  drafts: readonly RecordDraft[],
): CallResult {
  const { prepared, input, bound, claim } = sending;
  const rejectedTokens = Math.ceil(prepared.assembled.requestBytes * input.profile.tokensPerByte.value);
  const feedback: RecordDraft = {
    kind: 'capacity-feedback',
    turnId: claim.loaded.actor.turn,
    body: {
      leg: bound.leg.name,
      reason: 'over-length',
      rejectedTokens,
      ...(limitTokens === undefined ? {} : { limitTokens }),
    },
  };
  return {
    kind: 'done',
    output: { kind: 'over-length' },
    additions: () => ({ drafts: [...madeOf(sending), ...drafts, feedback], ...pinnedBy(sending) }),
  };
}
