/**
 * The life of a turn. Pure: what happened comes in on events as facts, what follows goes out as actions.
 * Context holds counters, flags and ids; text lives in the ledger.
 */
import { assign, enqueueActions, setup } from 'xstate';
import type { CallFailure, StepFacts } from '../checks/facts.ts';
import { decidedToolChild, INTENT_CHILD, stepChild, summaryChild, toolChild } from '../ledger/ids.ts';
import type { Decision, Outcome, RecordDraft, ToolStatus, WaitingFor } from '../ledger/kinds.ts';
import { sideCall } from './side-call.ts';

export const TURN_MACHINE = 'turn';
export const TURN_VERSION = 1;

/** Empty replies in a row before the turn fails: one redo. */
const MAX_EMPTY_IN_A_ROW = 2;
/** Replans after the provider refused the prompt as too long. */
const MAX_OVER_LENGTH = 1;
/** Packets built for one turn before it goes on without. */
const MAX_PACKETS = 2;
const WAITING_MS = 24 * 60 * 60 * 1_000;

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
  | { readonly type: `xstate.done.actor.${string}`; readonly output: unknown }
  | { readonly type: `xstate.error.actor.${string}`; readonly error: unknown };

/** What a machine asks to be written, without the turn it belongs to: the runtime knows that. */
export type RecordParams = Omit<RecordDraft, 'turnId'>;
export interface CloseParams {
  readonly outcome: Outcome;
  readonly reason: string;
  readonly steps: number;
}

const DONE = 'xstate.done.actor.*';
const FAILED = 'xstate.error.actor.*';

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

const childOf = (event: TurnEvent): string => event.type.replace(/^xstate\.(?:done|error)\.actor\./u, '');
const failureOf = (event: TurnEvent): string =>
  'error' in event ? (event.error as CallFailure).code : 'unknown';

const machine = setup({
  types: { context: {} as TurnContext, events: {} as TurnEvent, input: {} as TurnInput },
  actors: {
    step: sideCall<StepFacts, { step: number; packetless: boolean }>(),
    tool: sideCall<ToolOutput, ToolInput>(),
    summary: sideCall<null, { from: number; to: number }>(),
    intent: sideCall<null, Record<string, never>>(),
  },
  actions: {
    record: (_, _params: RecordParams) => {},
    close: (_, _params: CloseParams) => {},
  },
  guards: {
    readingIsWeak: ({ context }) => context.weak && context.escalate,
    isAnswer: ({ context }) => context.facts?.kind === 'answer',
    // An answer given without what was said meanwhile is not the last word.
    isAnswerTooEarly: ({ context }) => context.facts?.kind === 'answer' && context.steering > context.steered,
    isEmpty: ({ context }) => context.facts?.kind === 'empty',
    isEmptyAgain: ({ context }) =>
      context.facts?.kind === 'empty' && context.emptyInARow >= MAX_EMPTY_IN_A_ROW - 1,
    callsTools: ({ context }) => context.facts?.kind === 'calls',
    needsApproval: ({ context }) => context.facts?.kind === 'calls' && context.facts.approvals > 0,
    wantsPacket: ({ context }) => context.facts?.kind === 'packet-wanted' && context.packets < MAX_PACKETS,
    isOverLength: ({ context }) =>
      context.facts?.kind === 'over-length' && context.overLength < MAX_OVER_LENGTH,
    // Rounds that only made room for the request called no model to an end.
    budgetSpent: ({ context }) => context.step - context.packets - context.overLength >= context.stepBudget,
    batchDone: ({ context }) => context.pending.length === 0,
    batchUndecided: ({ context }) => context.pending.length === 0 && context.undecided.length > 0,
    waitsForApproval: ({ context }) => context.waitingFor === 'approval',
    waitsForOutcome: ({ context }) => context.waitingFor === 'outcome',
  },
}).createMachine({
  id: TURN_MACHINE,
  initial: 'accepted',
  context: ({ input }) => ({
    ...input,
    step: 0,
    emptyInARow: 0,
    overLength: 0,
    packets: 0,
    packetless: false,
    steering: 0,
    steered: 0,
    pending: [],
    batch: [],
    undecided: [],
    rounds: 0,
    waitingFor: null,
    facts: null,
    reason: '',
  }),
  on: {
    'turn.cancel': {
      target: '.cancelled',
      actions: assign({ reason: ({ event }) => event.reason ?? 'cancelled' }),
    },
    'turn.steer': { actions: assign({ steering: ({ context }) => context.steering + 1 }) },
    'turn.deadline': { target: '.degraded', actions: assign({ reason: 'time_budget' }) },
    [FAILED]: { target: '.failed', actions: assign({ reason: ({ event }) => failureOf(event) }) },
  },
  states: {
    accepted: {
      description: 'The directive is in the ledger and waits for its head.',
      on: {
        'turn.start': [{ guard: 'readingIsWeak', target: 'reading' }, { target: 'stepping' }],
      },
      exit: enqueueActions(({ enqueue, event, context }) => {
        if (event.type === 'turn.start')
          enqueue.raise({ type: 'turn.deadline' }, { id: 'deadline', delay: context.deadlineMs });
      }),
    },
    reading: {
      description: 'A classifier reads a directive that its own words leave unclear; any failure falls open.',
      entry: enqueueActions(({ enqueue }) => {
        enqueue.spawnChild('intent', { id: INTENT_CHILD, input: {} });
      }),
      on: { [DONE]: 'stepping', [FAILED]: 'stepping' },
    },
    stepping: {
      description:
        'One model call: take up what was said meanwhile, plan on the first step, then assemble, send, judge.',
      entry: [
        assign({ step: ({ context }) => context.step + 1, facts: null }),
        enqueueActions(({ enqueue, context }) => {
          if (context.steering === context.steered) return;
          const body = { step: context.step, upTo: context.steering };
          enqueue({ type: 'record', params: { kind: 'turn-steered', body } });
        }),
        assign({ steered: ({ context }) => context.steering }),
        enqueueActions(({ enqueue, context }) => {
          const input = {
            step: context.step,
            packetless: context.packetless || context.packets >= MAX_PACKETS,
          };
          enqueue.spawnChild('step', { id: stepChild(context.step), input });
        }),
      ],
      on: {
        [DONE]: {
          target: 'judging',
          actions: assign({ facts: ({ event }) => ('output' in event ? (event.output as StepFacts) : null) }),
        },
      },
    },
    judging: {
      description: 'The facts of the reply decide what follows.',
      always: [
        { guard: 'isAnswerTooEarly', target: 'boundary', actions: assign({ emptyInARow: 0 }) },
        { guard: 'isAnswer', target: 'completed', actions: assign({ reason: 'answered' }) },
        { guard: 'isEmptyAgain', target: 'failed', actions: assign({ reason: 'empty_step' }) },
        {
          guard: 'isEmpty',
          target: 'boundary',
          actions: [
            assign({ emptyInARow: ({ context }) => context.emptyInARow + 1 }),
            {
              type: 'record',
              params: ({ context }) => ({
                kind: 'check-fired',
                body: { step: context.step, check: 'empty-step', verdict: 'redo' },
              }),
            },
            {
              type: 'record',
              params: ({ context }) => ({ kind: 'nudge', body: { step: context.step, check: 'empty-step' } }),
            },
          ],
        },
        {
          guard: 'needsApproval',
          target: 'waiting',
          actions: assign({ emptyInARow: 0, waitingFor: 'approval' }),
        },
        {
          guard: 'callsTools',
          target: 'tooling',
          actions: assign({ emptyInARow: 0 }),
        },
        { guard: 'wantsPacket', target: 'compacting' },
        { guard: 'isOverLength', target: 'recovering' },
        { target: 'failed', actions: assign({ reason: 'no_usable_horizon' }) },
      ],
    },
    waiting: {
      description:
        'A person must allow a call, or say what to do about one whose outcome is unknown; no worker is held.',
      entry: enqueueActions(({ enqueue, context }) => {
        const body = { for: context.waitingFor ?? 'approval', calls: [...questioned(context)] };
        enqueue({ type: 'record', params: { kind: 'turn-waiting', body } });
        enqueue.raise({ type: 'turn.waited' }, { id: 'waited', delay: WAITING_MS });
      }),
      exit: [
        enqueueActions(({ enqueue }) => {
          enqueue.cancel('waited');
        }),
        assign({ waitingFor: null }),
      ],
      on: {
        'turn.approve': {
          guard: 'waitsForApproval',
          target: 'tooling',
          actions: decided('approval', 'approve'),
        },
        'turn.deny': {
          guard: 'waitsForApproval',
          target: 'tooling',
          actions: decided('approval', 'deny'),
        },
        'turn.rerun': {
          guard: 'waitsForOutcome',
          target: 'tooling',
          actions: decided('outcome', 'rerun'),
        },
        'turn.report': {
          guard: 'waitsForOutcome',
          target: 'tooling',
          actions: decided('outcome', 'report'),
        },
        'turn.waited': [
          {
            guard: 'waitsForApproval',
            target: 'degraded',
            actions: assign({ reason: 'approval_expired' }),
          },
          { target: 'degraded', actions: assign({ reason: 'decision_expired' }) },
        ],
      },
    },
    tooling: {
      description: 'Every admitted call runs as its own job, in parallel.',
      entry: [
        assign(({ context, event }) => batchOf(context, event)),
        enqueueActions(({ enqueue, context, event }) => {
          for (const { id, input } of callsOf(context, event)) enqueue.spawnChild('tool', { id, input });
        }),
      ],
      on: {
        [DONE]: {
          actions: assign({
            pending: ({ context, event }) => context.pending.filter((id) => id !== childOf(event)),
            undecided: ({ context, event }) => withUndecided(context, event),
          }),
        },
      },
      always: [
        { guard: 'batchUndecided', target: 'waiting', actions: assign({ waitingFor: 'outcome' }) },
        { guard: 'batchDone', target: 'boundary' },
      ],
    },
    boundary: {
      description: 'Between steps: budgets are checked.',
      always: [
        { guard: 'budgetSpent', target: 'degraded', actions: assign({ reason: 'step_budget' }) },
        { target: 'stepping' },
      ],
    },
    compacting: {
      description: 'Turns that no longer fit get a packet; without one the turn goes on.',
      entry: [
        assign({ packets: ({ context }) => context.packets + 1 }),
        enqueueActions(({ enqueue, context }) => {
          if (context.facts?.kind !== 'packet-wanted') return;
          const { from, to } = context.facts;
          enqueue.spawnChild('summary', { id: summaryChild(context.packets), input: { from, to } });
        }),
      ],
      on: {
        [DONE]: 'stepping',
        [FAILED]: { target: 'stepping', actions: assign({ packetless: true }) },
      },
    },
    recovering: {
      description:
        'The provider refused the prompt as too long: the profile is lowered and the turn planned again.',
      entry: assign({ overLength: ({ context }) => context.overLength + 1 }),
      always: 'stepping',
    },
    completed: { type: 'final', description: 'An answer stands.', entry: closing('completed') },
    degraded: {
      type: 'final',
      description: 'A budget or a repair ran out; what was found stands.',
      entry: closing('degraded'),
    },
    failed: { type: 'final', description: 'No answer could be produced.', entry: closing('failed') },
    cancelled: {
      type: 'final',
      description: 'Stopped from outside; its records are kept.',
      entry: closing('cancelled'),
    },
  },
});

type Batch = Pick<TurnContext, 'pending' | 'batch' | 'undecided' | 'rounds'>;

/** What runs now: every admitted call of the step, or those that a person decided about. */
function batchOf(context: TurnContext, { type }: TurnEvent): Batch {
  const decided = type === 'turn.rerun' || type === 'turn.report';
  const rounds = context.rounds + (decided ? 1 : 0);
  const batch = decided ? context.undecided : admittedCalls(context);
  const id = (index: number): string =>
    decided ? decidedToolChild(context.step, index, rounds) : toolChild(context.step, index);
  return { pending: batch.map(id), batch, undecided: [], rounds };
}

function callsOf(context: TurnContext, { type }: TurnEvent): readonly { id: string; input: ToolInput }[] {
  const denied = type === 'turn.deny';
  const decided = type === 'turn.rerun' ? 'rerun' : type === 'turn.report' ? 'report' : null;
  return context.pending.map((id, place) => ({
    id,
    input: { step: context.step, index: context.batch[place] ?? place, denied, decided },
  }));
}

function decided(question: WaitingFor, decision: Decision) {
  return {
    type: 'record',
    params: { kind: 'turn-decided', body: { for: question, decision } },
  } as const;
}

function admittedCalls(context: TurnContext): readonly number[] {
  const count = context.facts?.kind === 'calls' ? context.facts.admitted : 0;
  return Array.from({ length: count }, (_, index) => index);
}

/** The calls a waiting turn asks about. */
function questioned(context: TurnContext): readonly string[] {
  const indexes = context.waitingFor === 'outcome' ? context.undecided : admittedCalls(context);
  return indexes.map((index) => toolChild(context.step, index));
}

function withUndecided(context: TurnContext, event: TurnEvent): readonly number[] {
  const output = 'output' in event ? (event.output as ToolOutput) : null;
  return output?.status === 'undecided' ? [...context.undecided, output.index] : context.undecided;
}

function closing(outcome: Outcome) {
  return {
    type: 'close',
    params: ({ context }: { context: TurnContext }) => ({
      outcome,
      reason: context.reason,
      steps: context.step,
    }),
  } as const;
}

export { machine as turnMachine };
