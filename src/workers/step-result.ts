/** What a step's reply, or its refusal, becomes: the records of its hop, in their order, and the facts for the machine. */
import { MAX_CALLS_PER_STEP } from '../checks/called-tools.ts';
import type { StepFacts } from '../checks/facts.ts';
import { judgeReply } from '../checks/judge.ts';
import { weighMessages } from '../context/assemble/weigh.ts';
import { tokensOf } from '../context/capacity/tokens.ts';
import { type ChatReply, promptTokens } from '../context/request.ts';
import type { TurnPlace } from '../db/contract.ts';
import type { AssistantBlock } from '../ledger/blocks.ts';
import { evidenceId } from '../ledger/ids.ts';
import { type Json, storableText } from '../ledger/json.ts';
import type { RecordDraft } from '../ledger/kinds.ts';
import { type TurnView, toolCalls, visibleText } from '../ledger/view.ts';
import type { Additions } from '../runtime/additions.ts';
import { lastFigure } from '../runtime/earlier-answers.ts';
import { leaving, pressureAt } from '../runtime/evict-request.ts';
import type { StepPrefix } from '../runtime/prefix.ts';
import type { PlanBody, RequestInput } from '../runtime/request.ts';
import type { SessionConfig } from '../runtime/sessions.ts';
import type { CallResult } from '../runtime/side-call.ts';
import { grownByCalls, grownByName, misreads } from '../runtime/surface-calls.ts';
import type { WorkerDeps } from './deps.ts';
import { earlierDeps, judgingOf, placeOf } from './judging.ts';
import { boundBy, learn, missed, refuse } from './learnt.ts';
import type { Sending, Sent } from './send.ts';

/** Told of a reply that may end the turn, and of what its request was made of. */
export type OnAnswer = (input: RequestInput, plan: PlanBody) => void;

export interface Stage extends Sending {
  readonly place: TurnPlace;
  readonly pinned: StepPrefix;
  readonly onAnswer: OnAnswer;
}

export async function answered(
  deps: WorkerDeps,
  stage: Stage,
  sent: Extract<Sent, { kind: 'answered' }>,
): Promise<CallResult> {
  const { place, prepared, step, input, legs, claim, ref } = stage;
  const { reply, bound } = sent;
  const content = withOwnIds(reply.content, place.number, step);
  const config = await deps.configs.get(ref);
  const facts = judgeReply(await judgingOf(deps, stage, config, { finish: reply.finish, content }));
  const { turnId } = prepared.open;
  const [own] = legs;
  const isOwn = bound === own && !sent.cached;
  const learnt = isOwn ? [...learn(deps, stage, reply), ...missed(deps, stage, facts)] : [];
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
  const after = [
    ...(await findings(deps, stage, facts)),
    ...grownBy(deps, stage, config, content, facts),
    ...pressed(stage, isOwn ? reply : null, facts),
  ];
  return {
    kind: 'done',
    output: facts as unknown as Json,
    additions: (takeEvidence) => ({
      ...withRefusedCalls([...before, ...after], content, turnId, step, takeEvidence),
      ...pinnedBy(stage),
    }),
  };
}

/** What a check that may close the turn has to say of what it found. */
async function findings(deps: WorkerDeps, stage: Stage, facts: StepFacts): Promise<readonly RecordDraft[]> {
  const found = facts.kind === 'answer' ? facts.findings : facts.kind === 'calls' ? facts.withheld : [];
  if (!found.some(({ check }) => check === 'freshness')) return [];
  const { open } = stage.prepared;
  const figure = await lastFigure(earlierDeps(deps), placeOf(stage), visibleText(open.input));
  const body = { step: stage.step, check: 'freshness', ...(figure === null ? {} : { figure }) } as const;
  return [{ kind: 'finding', turnId: open.turnId, body }];
}

/** Tools that the reading did not load: those the model used all the same, and those a nudge will name. */
function grownBy(
  deps: WorkerDeps,
  { prepared, step }: Stage,
  config: SessionConfig,
  content: readonly AssistantBlock[],
  facts: StepFacts,
): readonly RecordDraft[] {
  const { open, plan } = prepared;
  const made = {
    step,
    calls: toolCalls(content).slice(0, MAX_CALLS_PER_STEP),
    open,
    loadedAtPlan: plan.loaded ?? [],
    surface: deps.surface,
    config,
  };
  const growths = [grownByCalls(made), grownByName(namedIn(facts, open), made)];
  return [
    ...misreads(made).map((body) => ({ kind: 'misread' as const, turnId: open.turnId, body })),
    ...growths.flatMap((body) =>
      body === null ? [] : [{ kind: 'surface-grown' as const, turnId: open.turnId, body }],
    ),
  ];
}

/** A model that goes on working is told once that an eviction is near. */
function pressed(
  { prepared, step, legs: [own] }: Stage,
  reply: ChatReply | null,
  facts: StepFacts,
): readonly RecordDraft[] {
  if (facts.kind !== 'calls') return [];
  const usage = reply?.usage ?? null;
  const usedTokens = usage === null ? null : Math.round(promptTokens(usage));
  const told = pressureAt(step, prepared, { leg: own.leg.name, usedTokens });
  return told === null ? [] : [{ kind: 'pressure-told', turnId: prepared.open.turnId, body: told }];
}

/** Tools that a check names for the first time: it will ask for their call. */
function namedIn(facts: StepFacts, open: TurnView): readonly string[] {
  if (facts.kind !== 'answer') return [];
  const sent = new Set(open.steps.flatMap(({ nudge }) => nudge?.check ?? []));
  return facts.findings
    .filter(({ check }) => (check === 'presentation' || check === 'call-in-prose') && !sent.has(check))
    .flatMap(({ tools = [] }) => tools);
}

/** The records a request can be made of again: first in the hop, in this order. */
function madeOf({ pinned, prepared }: Stage): readonly RecordDraft[] {
  const { planDraft, evicted, open } = prepared;
  return [
    ...pinned.drafts,
    ...(planDraft === null ? [] : [planDraft]),
    ...(evicted === null ? [] : [{ kind: 'evicted' as const, turnId: open.turnId, body: evicted }]),
  ];
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
  const { prepared } = stage;
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
        output: { kind: 'over-length', ...leaving(prepared) },
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
