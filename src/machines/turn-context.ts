/** What a turn carries from event to event, what happens to it, and what follows for its batch of calls. Pure. */
import type { CallFailure, StepFacts } from '../checks/facts.ts';
import { decidedToolChild, HANDOFF_CHILD, summaryChild, toolChild } from '../ledger/ids.ts';
import type { Outcome, RecordDraft, ToolStatus, WaitingFor } from '../ledger/kinds.ts';

export interface TurnInput {
  readonly stepBudget: number;
  readonly deadlineMs: number;
  /** Ask a classifier when the words alone leave the directive unclear. */
  readonly escalate: boolean;
  /** The lexical reading was weak. */
  readonly weak: boolean;
}

export interface TurnContext extends TurnInput {
  /** Steps begun. */
  readonly step: number;
  readonly emptyInARow: number;
  readonly overLength: number;
  readonly packets: number;
  /** A packet could not be built: the turn goes on without. */
  readonly packetless: boolean;
  /** Resets asked for: 1 at most. */
  readonly resets: number;
  /** A summariser could not write the handoff: the step that follows makes it itself. */
  readonly handoffless: boolean;
  /** Steering messages that arrived, and how many of them a step has taken up. */
  readonly steering: number;
  readonly steered: number;
  /** Children of the running batch that have not finished. */
  readonly pending: readonly string[];
  /** Index of each call of the batch, in the order of its children when it began. */
  readonly batch: readonly number[];
  /** Calls of the batch whose outcome is unknown and whose tool asks a person about it, by index. */
  readonly undecided: readonly number[];
  /** Decisions of the turn about such calls. */
  readonly rounds: number;
  readonly waitingFor: WaitingFor | null;
  readonly facts: StepFacts | null;
  readonly reason: string;
}

export const FRESH_TURN: Omit<TurnContext, keyof TurnInput> = {
  step: 0,
  emptyInARow: 0,
  overLength: 0,
  packets: 0,
  packetless: false,
  resets: 0,
  handoffless: false,
  steering: 0,
  steered: 0,
  pending: [],
  batch: [],
  undecided: [],
  rounds: 0,
  waitingFor: null,
  facts: null,
  reason: '',
};

export type TurnEvent =
  | { readonly type: 'turn.start' }
  | { readonly type: 'turn.cancel'; readonly reason?: 'interrupted' }
  | { readonly type: 'turn.steer' }
  | { readonly type: 'turn.approve' }
  | { readonly type: 'turn.deny' }
  | { readonly type: 'turn.rerun' }
  | { readonly type: 'turn.report' }
  | { readonly type: 'turn.deadline' }
  | { readonly type: 'turn.waited' }
  | { readonly type: 'turn.summary-late' }
  | { readonly type: `xstate.done.actor.${string}`; readonly output: unknown }
  | { readonly type: `xstate.error.actor.${string}`; readonly error: unknown };

/** What a machine asks to be written, without the turn it belongs to: the runtime knows that. */
export type RecordParams = Omit<RecordDraft, 'turnId'>;
/** Calls of a step, by index in their order, that are answered without a job. */
export interface AnswerParams {
  readonly step: number;
  readonly calls: readonly number[];
}

export interface CloseParams {
  readonly outcome: Outcome;
  readonly reason: string;
  readonly steps: number;
}

/** `undecided`: its outcome is unknown and its tool asks a person; nothing is recorded yet. */
export interface ToolOutput {
  readonly index: number;
  readonly status: ToolStatus | 'undecided';
}

export type ToolInput = {
  readonly step: number;
  readonly index: number;
  /** A person refused the calls of this batch that need consent; the others run. */
  readonly denied: boolean;
  /** What a person decided about a call whose outcome was unknown. */
  readonly decided: 'rerun' | 'report' | null;
};

export const childOf = (event: TurnEvent): string =>
  event.type.replace(/^xstate\.(?:done|error)\.actor\./u, '');
export const failureOf = (event: TurnEvent): string =>
  'error' in event ? (event.error as CallFailure).code : 'unknown';

export const budgetReason = ({ facts }: TurnContext): string =>
  facts?.kind === 'budget-spent' ? `${facts.budget}_budget` : 'budget';

type Batch = Pick<TurnContext, 'pending' | 'batch' | 'undecided' | 'rounds'>;

/** What a summary is asked for: turns that left the requests, or the steps of this turn that must. */
export type SummaryInput =
  | {
      readonly purpose: 'packet';
      readonly from: number;
      readonly to: number;
      readonly bytes: number;
      /** Only where no turn says it. */
      readonly head?: string;
    }
  | { readonly purpose: 'handoff'; readonly step: number };

/** A packet where turns no longer fit, else the handoff of the turn itself. */
export function summaryOf({ facts, packets, step }: TurnContext): { id: string; input: SummaryInput } {
  if (facts?.kind !== 'packet-wanted') return { id: HANDOFF_CHILD, input: { purpose: 'handoff', step } };
  const { from, to, bytes } = facts;
  return { id: summaryChild(packets), input: { purpose: 'packet', from, to, bytes } };
}

export function begunSummary({
  facts,
  packets,
  resets,
}: TurnContext): Pick<TurnContext, 'packets' | 'resets'> {
  return facts?.kind === 'packet-wanted' ? { packets: packets + 1, resets } : { packets, resets: resets + 1 };
}

/** No summariser wrote it in time: what it was to write is made without one. */
export function withoutSummary({
  facts,
  packetless,
  handoffless,
}: TurnContext): Pick<TurnContext, 'packetless' | 'handoffless'> {
  return facts?.kind === 'packet-wanted'
    ? { packetless: true, handoffless }
    : { packetless, handoffless: true };
}

/** How far the packet reaches now: before its first turn when none was written. A handoff says the step it covers. */
export interface SummaryOutput {
  readonly to: number;
}

/** What runs now: every admitted call of the step that needs a job, or those that a person decided about. */
export function batchOf(context: TurnContext, { type }: TurnEvent): Batch {
  const decided = type === 'turn.rerun' || type === 'turn.report';
  const rounds = context.rounds + (decided ? 1 : 0);
  const batch = decided ? context.undecided : admittedCalls(context);
  const id = (index: number): string =>
    decided ? decidedToolChild(context.step, index, rounds) : toolChild(context.step, index);
  return { pending: batch.map(id), batch, undecided: [], rounds };
}

export function callsOf(
  context: TurnContext,
  { type }: TurnEvent,
): readonly { id: string; input: ToolInput }[] {
  const denied = type === 'turn.deny';
  const decided = type === 'turn.rerun' ? 'rerun' : type === 'turn.report' ? 'report' : null;
  return context.pending.map((id, place) => ({
    id,
    input: { step: context.step, index: context.batch[place] ?? place, denied, decided },
  }));
}

function admittedCalls(context: TurnContext): readonly number[] {
  const count = context.facts?.kind === 'calls' ? context.facts.admitted : 0;
  const inHop = inHopCalls(context);
  return Array.from({ length: count }, (_, index) => index).filter((index) => !inHop.includes(index));
}

export function inHopCalls({ facts }: TurnContext): readonly number[] {
  return facts?.kind === 'calls' ? facts.inHop : [];
}

/** The calls a waiting turn asks about. */
export function questioned(context: TurnContext): readonly string[] {
  const indexes = context.waitingFor === 'outcome' ? context.undecided : admittedCalls(context);
  return indexes.map((index) => toolChild(context.step, index));
}

export function withUndecided(context: TurnContext, event: TurnEvent): readonly number[] {
  const output = 'output' in event ? (event.output as ToolOutput) : null;
  return output?.status === 'undecided' ? [...context.undecided, output.index] : context.undecided;
}
