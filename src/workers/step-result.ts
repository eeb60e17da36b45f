/** What a step's reply, or its refusal, becomes: the records of its hop, in their order, and the facts for the machine. */
import { judgeReply, MAX_CALLS_PER_STEP } from '../checks/judge.ts';
import { weighMessages } from '../context/assemble/weigh.ts';
import { moved } from '../context/capacity/feedback.ts';
import { tokensOf } from '../context/capacity/tokens.ts';
import type { ChatReply } from '../context/request.ts';
import type { Claim, TurnPlace } from '../db/contract.ts';
import type { AssistantBlock } from '../ledger/blocks.ts';
import { evidenceId } from '../ledger/ids.ts';
import { type Json, storableText } from '../ledger/json.ts';
import type { RecordDraft } from '../ledger/kinds.ts';
import { toolCalls } from '../ledger/view.ts';
import type { Additions } from '../runtime/additions.ts';
import type { StepPrefix } from '../runtime/prefix.ts';
import type { PlanBody, RequestInput } from '../runtime/request.ts';
import type { CallResult } from '../runtime/side-call.ts';
import type { WorkerDeps } from './deps.ts';
import type { OverLengthFailure, Sending, Sent } from './send.ts';

/** Told of a reply that may end the turn, and of what its request was made of. */
export type OnAnswer = (input: RequestInput, plan: PlanBody) => void;

export interface Stage extends Sending {
  readonly place: TurnPlace;
  readonly pinned: StepPrefix;
  readonly onAnswer: OnAnswer;
}

export function answered(
  deps: WorkerDeps,
  stage: Stage,
  sent: Extract<Sent, { kind: 'answered' }>,
): CallResult {
  const { place, prepared, step, input, legs, claim } = stage;
  const { reply, bound } = sent;
  const content = withOwnIds(reply.content, place.number, step);
  const offered = new Set(input.prefix.tools.map(({ name }) => name));
  const traits = {
    needsApproval: (name: string) => deps.surface.get(name)?.approval ?? false,
    isInHop: (name: string) => offered.has(name) && (deps.surface.get(name)?.inHop ?? false),
  };
  const facts = judgeReply(content, traits, prepared.plan.degraded);
  const turnId = prepared.open.turnId;
  const [own] = legs;
  const learnt = bound === own && !sent.cached ? learn(deps, stage, reply) : [];
  const refusal = sent.refused === null ? [] : [refuse(deps, stage, sent.refused)];
  if (facts.kind === 'answer') {
    const openBytes = prepared.openBytes + weighMessages([{ role: 'assistant', content }]);
    deps.profiles.observeClosedTurn(own.leg, tokensOf(openBytes, input.profile));
    stage.onAnswer(input, prepared.plan);
  }
  const { responseId } = reply;
  const callIds = toolCalls(reply.content).map(({ id }) => id);
  const message: RecordDraft = {
    kind: 'assistant-message',
    turnId,
    body: {
      step,
      content: [...content],
      finish: reply.finish,
      ...(responseId === undefined ? {} : { kept: { leg: bound.leg.name, responseId, callIds } }),
    },
  };
  const before = [...madeOf(stage), ...sent.drafts, ...boundBy(stage, claim), ...learnt, ...refusal, message];
  return {
    kind: 'done',
    output: facts as unknown as Json,
    additions: (takeEvidence) => ({
      ...withRefusedCalls(before, content, turnId, step, takeEvidence),
      ...pinnedBy(stage),
    }),
  };
}

/** What the leg's own answer taught, where that is worth a record. */
function learn(deps: WorkerDeps, { prepared, legs }: Stage, reply: ChatReply): readonly RecordDraft[] {
  const { usage, firstTokenMs, finish } = reply;
  if (usage === null) return [];
  const { leg } = legs[0];
  const sample = {
    usage,
    requestBytes: prepared.assembled.requestBytes,
    firstTokenMs,
    finishedByLength: finish === 'length',
  };
  const seen = deps.profiles.observe(leg, sample);
  if (seen === null) return [];
  const { before, after } = seen;
  // How fast a prompt is read changes from call to call, and sizes no request.
  if (!moved(before, { ...after, prefillTokensPerSecond: before.prefillTokensPerSecond })) return [];
  const { horizon, tokensPerByte } = after;
  const body = {
    leg: leg.name,
    reason: 'observed',
    tokensPerByte: tokensPerByte.value,
    horizonTokens: horizon.tokens,
  } as const;
  return [{ kind: 'capacity-feedback', turnId: prepared.open.turnId, body }];
}

/** The profile the turn is planned by, where the session's ledger does not hold it yet: a probe brought it meanwhile. */
function boundBy({ prepared, input, legs }: Stage, { loaded: { session } }: Claim): readonly RecordDraft[] {
  const { probedAtMs: probedAt } = input.profile.provenance;
  if (prepared.planDraft === null || probedAt <= session.profileAt) return [];
  const profile = input.profile as unknown as Record<string, Json>;
  return [
    {
      kind: 'capacity-probe',
      turnId: prepared.open.turnId,
      body: { leg: legs[0].leg.name, probedAt, profile },
    },
  ];
}

/** The records a request can be made of again: first in the hop, in this order. */
function madeOf({ pinned, prepared }: Stage): readonly RecordDraft[] {
  return [...pinned.drafts, ...(prepared.planDraft === null ? [] : [prepared.planDraft])];
}

function pinnedBy({ pinned: { pins, prefix, stored } }: Stage): Pick<Additions, 'prefix'> {
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

export function refused(
  deps: WorkerDeps,
  stage: Stage,
  { failure, drafts }: Extract<Sent, { kind: 'refused' }>,
): CallResult {
  const { message } = failure;
  switch (failure.kind) {
    case 'aborted':
      return { kind: 'aborted', drafts };
    case 'retryable': {
      const { code, retryAfterMs } = failure;
      return {
        kind: 'retry',
        code,
        message,
        drafts,
        ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
      };
    }
    case 'over_length': {
      const feedback = refuse(deps, stage, failure);
      return {
        kind: 'done',
        output: { kind: 'over-length' },
        additions: () => ({ drafts: [...madeOf(stage), ...drafts, feedback], ...pinnedBy(stage) }),
      };
    }
    case 'auth':
    case 'bad_request':
    case 'lost_continuation':
      return { kind: 'failed', code: failure.kind, message, drafts };
    case 'content':
      return { kind: 'failed', code: 'content_refused', message, drafts };
  }
}

/** The session's own leg refused the length: its profile shrinks, for this turn and for all. */
function refuse(
  deps: WorkerDeps,
  { prepared, input, legs }: Stage,
  { limitTokens }: OverLengthFailure,
): RecordDraft {
  const { leg } = legs[0];
  const rejectedTokens = tokensOf(prepared.assembled.requestBytes, input.profile);
  const rejection = { rejectedTokens, ...(limitTokens === undefined ? {} : { limitTokens }) };
  deps.profiles.refuse(leg, rejection);
  const body = { leg: leg.name, reason: 'over-length', ...rejection } as const;
  return { kind: 'capacity-feedback', turnId: prepared.open.turnId, body };
}
