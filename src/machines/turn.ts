/**
 * The life of a turn. Pure: what happened comes in on events as facts, what follows goes out as actions.
 * Context holds counters, flags and ids; text lives in the ledger.
 */
import { assign, enqueueActions, setup } from 'xstate';
import type { StepFacts } from '../checks/facts.ts';
import { INTENT_CHILD, stepChild } from '../ledger/ids.ts';
import { sideCall } from './side-call.ts';
import { closing, decided } from './turn-actions.ts';
import {
  type AnswerParams,
  batchOf,
  begunSummary,
  budgetReason,
  type CloseParams,
  callsOf,
  childOf,
  FRESH_TURN,
  failureOf,
  inHopCalls,
  questioned,
  type RecordParams,
  type SummaryInput,
  type SummaryOutput,
  summaryOf,
  type ToolInput,
  type ToolOutput,
  type TurnContext,
  type TurnEvent,
  type TurnInput,
  withoutSummary,
  withUndecided,
} from './turn-context.ts';
import { MAX_PACKETS, TURN_GUARDS } from './turn-guards.ts';

export const TURN_MACHINE = 'turn';
export const TURN_VERSION = 1;

const WAITING_MS = 24 * 60 * 60 * 1_000;
/** A turn waits so long for a summary, then goes on with what can be made without one. */
const SUMMARY_LATE_MS = 20_000;

const DONE = 'xstate.done.actor.*';
const FAILED = 'xstate.error.actor.*';

const machine = setup({
  types: { context: {} as TurnContext, events: {} as TurnEvent, input: {} as TurnInput },
  actors: {
    step: sideCall<StepFacts, { step: number; packetless: boolean; handoffless: boolean }>(),
    tool: sideCall<ToolOutput, ToolInput>(),
    summary: sideCall<SummaryOutput, SummaryInput>(),
    intent: sideCall<null, Record<string, never>>(),
  },
  actions: {
    record: (_, _params: RecordParams) => {},
    answer: (_, _params: AnswerParams) => {},
    close: (_, _params: CloseParams) => {},
  },
  guards: TURN_GUARDS,
}).createMachine({
  id: TURN_MACHINE,
  initial: 'accepted',
  context: ({ input }) => ({ ...input, ...FRESH_TURN }),
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
          const { step, handoffless } = context;
          const packetless = context.packetless || context.packets >= MAX_PACKETS;
          const input = { step, packetless, handoffless };
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
        {
          guard: 'isDegradedAnswer',
          target: 'degraded',
          actions: assign({ reason: 'degraded_summary' }),
        },
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
        { guard: 'wantsReset', target: 'compacting' },
        { guard: 'isResetMade', target: 'stepping' },
        {
          guard: 'isOverBudget',
          target: 'degraded',
          actions: assign({ reason: ({ context }) => budgetReason(context) }),
        },
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
        'turn.approve': decided('waitsForApproval', 'approval', 'approve'),
        'turn.deny': decided('waitsForApproval', 'approval', 'deny'),
        'turn.rerun': decided('waitsForOutcome', 'outcome', 'rerun'),
        'turn.report': decided('waitsForOutcome', 'outcome', 'report'),
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
      description:
        'Every admitted call runs as its own job, in parallel; those that need none are answered as the last one settles.',
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
        {
          guard: 'batchDone',
          target: 'boundary',
          actions: enqueueActions(({ enqueue, context }) => {
            const calls = inHopCalls(context);
            if (calls.length > 0) enqueue({ type: 'answer', params: { step: context.step, calls } });
          }),
        },
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
      description:
        'A summariser writes the packet for turns that no longer fit, or the handoff of a turn that outgrew its model; without one the turn goes on.',
      entry: [
        assign(({ context }) => begunSummary(context)),
        enqueueActions(({ enqueue, context }) => {
          const { id, input } = summaryOf(context);
          enqueue.spawnChild('summary', { id, input });
          enqueue.raise({ type: 'turn.summary-late' }, { id: 'summary-late', delay: SUMMARY_LATE_MS });
        }),
      ],
      exit: enqueueActions(({ enqueue }) => {
        enqueue.cancel('summary-late');
      }),
      on: {
        [DONE]: [
          {
            guard: 'madeNoPacket',
            target: 'stepping',
            actions: assign(({ context }) => withoutSummary(context)),
          },
          { target: 'stepping' },
        ],
        [FAILED]: { target: 'stepping', actions: assign(({ context }) => withoutSummary(context)) },
        'turn.summary-late': {
          target: 'stepping',
          actions: [
            enqueueActions(({ enqueue, context }) => {
              enqueue.stopChild(summaryOf(context).id);
            }),
            assign(({ context }) => withoutSummary(context)),
          ],
        },
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

export { machine as turnMachine };
