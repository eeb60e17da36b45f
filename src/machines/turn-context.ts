/** What a turn carries from event to event, what happens to it, and what follows for its batch of calls. Pure. */
import type { CallFailure, StepFacts, Withheld } from '../checks/facts.ts';
import { decidedToolChild, HANDOFF_CHILD, summaryChild, toolChild } from '../ledger/ids.ts';
import type { Check, Outcome, RecordDraft, ToolStatus, WaitingFor } from '../ledger/kinds.ts';
import { type Judged, judgedBatch, judgedCalls, UNJUDGED } from './turn-verdict.ts';

export interface TurnInput {
  readonly stepBudget: number;
  readonly deadlineMs: number;
  /** Ask a classifier when the words alone leave the directive unclear. */
  readonly escalate: boolean;
  /** The lexical reading was weak. */
  readonly weak: boolean;
}

export interface TurnContext extends TurnInput, Judged {
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
  /** Calls of the batch that the client makes and has not answered, by index. */
  readonly awaited: readonly number[];
  /** Calls of the batch that worked, and those that failed in a way the model could mend. */
  readonly worked: number;
  readonly failed: number;
  /** Decisions of the turn about such calls. */
  readonly rounds: number;
  readonly waitingFor: WaitingFor | null;
  readonly facts: StepFacts | null;
  readonly reason: string;
}

export const FRESH_TURN: Omit<TurnContext, keyof TurnInput> = {
  ...UNJUDGED,
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
  awaited: [],
  worked: 0,
  failed: 0,
  rounds: 0,
  waitingFor: null,
  facts: null,
  reason: '',
};

export type TurnEvent =
  | { readonly type: 'turn.start' }
  | {
      readonly type: 'turn.cancel';
      readonly reason?: 'interrupted' | 'cleared' | 'checked-out' | 'parent_ended';
    }
  | { readonly type: 'turn.steer' }
  | { readonly type: 'turn.approve' }
  | { readonly type: 'turn.deny' }
  | { readonly type: 'turn.rerun' }
  | { readonly type: 'turn.report' }
  /** The client made a call; its result is in the ledger. */
  | {
      readonly type: 'turn.client-result';
      readonly step: number;
      readonly index: number;
      readonly failed?: boolean;
    }
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
  /** Those of them that a check keeps from being made. */
  readonly withheld: readonly Withheld[];
  /** Nothing worked in the batch before. */
  readonly again: boolean;
}

/** The system answers in the place of the step's reply. */
export interface StateParams {
  readonly step: number;
  readonly check: Check;
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
  /** It failed in a way the model could mend. */
  readonly failed?: boolean;
}

export type ToolInput = {
  readonly step: number;
  readonly index: number;
  /** A person refused the calls of this batch that need consent; the others run. */
  readonly denied: boolean;
  /** What a person decided about a call whose outcome was unknown. */
  readonly decided: 'rerun' | 'report' | null;
  /** Nothing worked in the batch before: a failure brings the tool's schema with it. */
  readonly again: boolean;
};

const childOf = (event: TurnEvent): string => event.type.replace(/^xstate\.(?:done|error)\.actor\./u, '');
export const failureOf = (event: TurnEvent): string =>
  'error' in event ? (event.error as CallFailure).code : 'unknown';

export const budgetReason = ({ facts }: TurnContext): string =>
  facts?.kind === 'budget-spent' ? `${facts.budget}_budget` : 'budget';

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

const RESUMING = ['turn.approve', 'turn.deny', 'turn.rerun', 'turn.report', 'turn.client-result'];

/** Somebody outside did what the turn waited for. */
export function resumes({ type }: TurnEvent): boolean {
  return RESUMING.includes(type);
}

/** A batch may be taken up again: after a decision about some of its calls, or the last result of the client. */
export function begins({ type }: TurnEvent): boolean {
  return type !== 'turn.rerun' && type !== 'turn.report' && type !== 'turn.client-result';
}

/** What a batch is made of: the calls that need a job, or those that a person decided about. */
export function batchOf(context: TurnContext, event: TurnEvent): Partial<TurnContext> {
  const { step, facts } = context;
  // The last call the client made is in: nothing is left to run.
  if (event.type === 'turn.client-result') return { pending: [], batch: [] };
  if (!begins(event)) {
    const rounds = context.rounds + 1;
    const batch = context.undecided;
    const pending = batch.map((index) => decidedToolChild(step, index, rounds));
    return { pending, batch, undecided: [], rounds };
  }
  if (facts?.kind !== 'calls') return {};
  const denied = event.type === 'turn.deny';
  // What was denied is answered as such, whoever would have made the call.
  const awaited = facts.byClient.filter((index) => !(denied && facts.approvals.includes(index)));
  const batch = indexesOf(facts.admitted).filter(
    (index) => !facts.inHop.includes(index) && !awaited.includes(index),
  );
  const pending = batch.map((index) => toolChild(step, index));
  return { ...judgedCalls(context, facts), pending, batch, undecided: [], awaited, worked: 0, failed: 0 };
}

export function callsOf(
  context: TurnContext,
  { type }: TurnEvent,
): readonly { id: string; input: ToolInput }[] {
  const denied = type === 'turn.deny';
  const decided = type === 'turn.rerun' ? 'rerun' : type === 'turn.report' ? 'report' : null;
  return context.pending.map((id, place) => ({
    id,
    input: {
      step: context.step,
      index: context.batch[place] ?? place,
      denied,
      decided,
      again: context.failingInARow > 0,
    },
  }));
}

const indexesOf = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => index);

/** What is answered without a job as the batch settles. */
export function answersOf({ facts, step, failingInARow }: TurnContext): AnswerParams {
  const again = failingInARow > 0;
  if (facts?.kind !== 'calls') return { step, calls: [], withheld: [], again };
  return { step, calls: facts.inHop, withheld: facts.withheld, again };
}

/** How many calls of a settled batch worked, and how many failed in a way the model could mend. */
function settledCalls({ facts, worked, failed }: TurnContext): { worked: number; failed: number } {
  if (facts?.kind !== 'calls') return { worked, failed };
  const { inHop, withheld, unfit } = facts;
  return {
    worked: worked + inHop.length - withheld.length - unfit.length,
    failed: failed + unfit.length,
  };
}

export function afterBatch(context: TurnContext): Judged {
  const { worked, failed } = settledCalls(context);
  return judgedBatch(context, worked, failed);
}

/** The calls a waiting turn asks about. */
export function questioned(context: TurnContext): readonly string[] {
  return questionedIndexes(context).map((index) => toolChild(context.step, index));
}

function questionedIndexes({ waitingFor, undecided, awaited, facts }: TurnContext): readonly number[] {
  if (waitingFor === 'outcome') return undecided;
  if (waitingFor === 'client') return awaited;
  return facts?.kind === 'calls' ? facts.approvals : [];
}

/** A call of the batch has settled. */
export function withSettled(context: TurnContext, event: TurnEvent): Partial<TurnContext> {
  const { pending, undecided, worked, failed } = context;
  const output = 'output' in event ? (event.output as ToolOutput) : null;
  const left = { pending: pending.filter((id) => id !== childOf(event)) };
  if (output?.status === 'undecided') return { ...left, undecided: [...undecided, output.index] };
  if (output?.failed === true) return { ...left, failed: failed + 1 };
  return output?.status === 'ok' ? { ...left, worked: worked + 1 } : left;
}

/** The client made a call, which worked or failed like any other. */
export function withClientResult(context: TurnContext, event: TurnEvent): Partial<TurnContext> {
  if (event.type !== 'turn.client-result') return {};
  const awaited = context.awaited.filter((index) => index !== event.index);
  if (event.failed === true) return { awaited, failed: context.failed + 1 };
  return { awaited, worked: context.worked + 1 };
}
