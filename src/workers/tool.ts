/** The `tool` pool: one call of one tool. Stages: find the call, let it run once, window the result, record it. */
import { withRepairHint } from '../checks/tool-repair.ts';
import type { Claim } from '../db/contract.ts';
import type { ToolCallBlock } from '../ledger/blocks.ts';
import { toolChild } from '../ledger/ids.ts';
import type { Json } from '../ledger/json.ts';
import type { BodyOf, ToolStatus } from '../ledger/kinds.ts';
import { toolCalls } from '../ledger/view.ts';
import type { ToolOutput as CallOutput, ToolInput } from '../machines/turn-context.ts';
import type { JobRef } from '../queues/contract.ts';
import type { Additions } from '../runtime/additions.ts';
import { delegationOf } from '../runtime/delegation.ts';
import { isRepairable } from '../runtime/repairable.ts';
import { isAdmitted } from '../runtime/session-plan.ts';
import { type CallResult, runSideCall, type Settled, WAITING } from '../runtime/side-call.ts';
import { type AnsweredCall, recordToolResult, type ToolResult } from '../runtime/tool-record.ts';
import type { Tool } from '../tools/contract.ts';
import { runTool, type ToolOutcome } from '../tools/run.ts';
import { unknownTool } from '../tools/surface.ts';
import { DeltaStream, turnTopic } from './deltas.ts';
import type { WorkerDeps } from './deps.ts';

export function toolWorker(deps: WorkerDeps, ref: JobRef): Promise<Settled> {
  return runSideCall(deps.host, ref, (claim, signal) => performTool(deps, ref, claim, signal));
}

async function performTool(
  deps: WorkerDeps,
  ref: JobRef,
  claim: Claim,
  signal: AbortSignal,
): Promise<CallResult> {
  const input = JSON.parse(claim.call.input) as ToolInput;
  const call = callOf(claim, input);
  announce(deps, ref, claim, input, call);
  const result = await resultOf(deps, ref, { claim, input, call }, signal);
  if (result === 'aborted') return { kind: 'aborted', drafts: [] };
  if (result === 'undecided')
    return { kind: 'done', output: output(input, 'undecided'), additions: () => ({ drafts: [] }) };
  if (isPending(result))
    return { kind: 'delayed', delayMs: result.delayMs, reason: `${WAITING}${result.reason}` };
  const answered = { turnId: claim.loaded.actor.turn, step: input.step, index: input.index, call };
  const failed = isRepairable(call.name) && MENDABLE.has(result.status);
  const hinted = failed ? { ...result, content: hintedBy(deps, input, call, result) } : result;
  return {
    kind: 'done',
    output: output(input, result.status, failed),
    additions: (takeEvidence) =>
      withListing(answered, result, recordToolResult(answered, hinted, takeEvidence())),
  };
}

/** Failures that another call may not have. */
const MENDABLE: ReadonlySet<ToolStatus> = new Set(['error', 'invalid_args', 'unknown_tool', 'timeout']);

function output({ index }: ToolInput, status: CallOutput['status'], failed = false): Json {
  return { index, status, failed };
}

function hintedBy(
  deps: WorkerDeps,
  { again }: ToolInput,
  { name }: ToolCallBlock,
  { content, status }: ToolResult,
): string {
  // What the session may not call is neither described nor asked for again.
  const tool = status === 'unknown_tool' ? null : (deps.surface.get(name) ?? null);
  return withRepairHint({ content, status, tool, again });
}

/** A server's list was seen: the requests to come name its tools. */
function withListing(
  { turnId, step }: AnsweredCall,
  { listed }: ToolResult,
  additions: Additions,
): Additions {
  if (listed === undefined) return additions;
  const { server: name, digest, tools } = listed;
  const body = { step, by: 'listed' as const, tools: [], server: { name, digest, tools: [...tools] } };
  return { ...additions, drafts: [...additions.drafts, { kind: 'surface-grown', turnId, body }] };
}

function callOf(claim: Claim, { step, index }: ToolInput): ToolCallBlock {
  const messages = claim.records
    .filter(({ kind }) => kind === 'assistant-message')
    .map((record) => JSON.parse(record.body) as BodyOf<'assistant-message'>);
  const message = messages.find((candidate) => candidate.step === step);
  const call = message === undefined ? undefined : toolCalls(message.content)[index];
  if (call === undefined) throw new Error(`step ${step} has no call ${index}`);
  return call;
}

/** To be run again after so long: the tool waits for something. */
interface Pending {
  readonly delayMs: number;
  readonly reason: string;
}

type Unanswered = 'aborted' | 'undecided' | Pending;

function isPending(result: ToolResult | Pending): result is Pending {
  return 'delayMs' in result;
}

interface Asked {
  readonly claim: Claim;
  readonly input: ToolInput;
  readonly call: ToolCallBlock;
}

async function resultOf(
  deps: WorkerDeps,
  ref: JobRef,
  { claim, input, call }: Asked,
  signal: AbortSignal,
): Promise<ToolResult | Unanswered> {
  const config = await deps.configs.get(ref);
  const tool = deps.surface.get(call.name);
  if (tool === undefined || !isAdmitted(config, tool)) {
    const admitted = deps.surface.all().filter((one) => isAdmitted(config, one));
    const names = admitted.map(({ name }) => name);
    return { status: 'unknown_tool', content: unknownTool(call.name, names).content };
  }
  if (input.decided === 'report') return unknownOutcome(tool);
  if (input.denied && tool.approval)
    return {
      status: 'denied',
      content: 'Not run: the call was denied. Do not repeat it; go on without it or ask.',
    };
  if (call.raw !== undefined)
    return {
      status: 'invalid_args',
      content: `The arguments of ${tool.name} were no JSON object. Send one that fits its schema.`,
    };
  if (tool.traitsOf(call.args).effect === 'once' && !(await letLoose(deps, ref, claim)))
    return tool.onUnknown === 'ask' ? 'undecided' : unknownOutcome(tool);
  return outcomeOf(await run(deps, ref, tool, { claim, input, call }, signal));
}

function unknownOutcome(tool: Tool): ToolResult {
  return {
    status: 'outcome_unknown',
    content: `The outcome of ${tool.name} is unknown: it was started and its worker died. It is not run again. Check what it did before calling it anew.`,
  };
}

/** A `once` tool is let loose at most once: the mark is durable before it runs. */
async function letLoose(deps: WorkerDeps, ref: JobRef, claim: Claim): Promise<boolean> {
  if (claim.call.started) return false;
  return deps.host.engine.store.markStarted(ref, claim.call);
}

function run(
  deps: WorkerDeps,
  ref: JobRef,
  tool: Tool,
  { claim, input, call }: Asked,
  signal: AbortSignal,
): Promise<ToolOutcome> {
  // The call, not the job: what a person has run again, the tool can tell from what it did before.
  const idempotencyKey = `${ref.actor}~${toolChild(input.step, input.index)}`;
  const { root, outbound } = deps;
  const context = {
    signal,
    root,
    idempotencyKey,
    memory: deps.memory(claim.loaded),
    ...(outbound === undefined ? {} : { outbound }),
    delegation: delegationOf(deps.host.engine, {
      claim,
      step: input.step,
      index: input.index,
      tool: tool.name,
    }),
  };
  return runTool(tool, call.args, context, deps.host.engine.clock);
}

function outcomeOf(outcome: ToolOutcome): ToolResult | 'aborted' | Pending {
  switch (outcome.kind) {
    case 'done': {
      const { isError, ...output } = outcome.output;
      return { status: isError ? 'error' : 'ok', ...output };
    }
    case 'pending':
      return { delayMs: outcome.delayMs, reason: outcome.output.content };
    case 'invalid_args':
      return { status: 'invalid_args', content: outcome.output.content };
    case 'timeout':
      return { status: 'timeout', content: outcome.output.content };
    case 'aborted':
      return 'aborted';
  }
}

function announce(
  deps: WorkerDeps,
  ref: JobRef,
  claim: Claim,
  { step, index }: ToolInput,
  call: ToolCallBlock,
): void {
  const { session, actor } = claim.loaded;
  if (!session.watched || actor.turn === null || wasGivenBack(claim)) return;
  const stream = new DeltaStream({
    bus: deps.bus,
    clock: deps.host.engine.clock,
    topic: turnTopic(ref, actor.turn),
    seq: session.nextSeq - 1,
    attempt: claim.call.fence,
    step,
    after: index,
  });
  stream.started('tool.started', { step, index, name: call.name });
}

/** It was begun before, and not lost with its worker: whoever watches was told. */
function wasGivenBack({ call: { fence, deaths } }: Claim): boolean {
  return fence - 1 > deaths;
}
