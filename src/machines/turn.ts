/**
 * The life of a turn. Pure: what happened comes in on events as facts, what follows goes out as actions.
 * Context holds counters, flags and ids; text lives in the ledger.
 */
import { assign, enqueueActions, setup } from 'xstate';
import type { StepFacts } from '../checks/facts.ts';
import { INTENT_CHILD, stepChild } from '../ledger/ids.ts';
import { sideCall } from './side-call.ts';
import { because, closing, decided, decisive, firedByCalls, firedOf } from './turn-actions.ts';
import {
  type AnswerParams,
  afterBatch,
  batchOf,
  begins,
  begunSummary,
  type CloseParams,
  callsOf,
  FRESH_TURN,
  failureOf,
  questioned,
  type RecordParams,
  resumes,
  type StateParams,
  type SummaryInput,
  type SummaryOutput,
  summaryOf,
  type ToolInput,
  type ToolOutput,
  type TurnContext,
  type TurnEvent,
  type TurnInput,
  withClientResult,
  withoutSummary,
  withSettled,
} from './turn-context.ts';
import { MAX_PACKETS, TURN_GUARDS } from './turn-guards.ts';
import { answered, JUDGING } from './turn-judging.ts';
import { judgedText, MAX_FAILING_BATCHES, refusalOf } from './turn-verdict.ts';

export const TURN_MACHINE = 'turn';
export const TURN_VERSION = 1;

const WAITING_MS = 24 * 60 * 60 * 1_000;
/** A turn waits so long for a summary, then goes on with what can be made without one. */
const SUMMARY_LATE_MS = 20_000;

const TOOL_REPAIR = { check: 'tool-repair' } as const;

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
    state: (_, _params: StateParams) => {},
    close: (_, _params: CloseParams) => {},
    because: assign((_, { reason }: { readonly reason: string }) => ({ reason })),
    filled: assign({ emptyInARow: 0 }),
    emptied: assign({ emptyInARow: ({ context }) => context.emptyInARow + 1 }),
    sentBack: assign(({ context }) => ({ ...judgedText(context, decisive(context)), emptyInARow: 0 })),
    askForApproval: assign({ waitingFor: 'approval' }),
    takeClientResult: assign(({ context, event }) => withClientResult(context, event)),
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
    'turn.deadline': { target: '.degraded', actions: because('time_budget') },
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
      always: JUDGING,
    },
    waiting: {
      description:
        'A person must allow a call or decide about one whose outcome is unknown, or the client makes one; no worker is held.',
      entry: enqueueActions(({ enqueue, context }) => {
        const body = { for: context.waitingFor ?? 'approval', calls: [...questioned(context)] };
        enqueue({ type: 'record', params: { kind: 'turn-waiting', body } });
        // The time that others take is not the turn's: its deadline begins anew when it goes on.
        enqueue.cancel('deadline');
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
        'turn.client-result': [
          { guard: 'isLastAwaited', target: 'tooling', actions: 'takeClientResult' },
          { guard: 'isAwaited', actions: 'takeClientResult' },
        ],
        'turn.waited': [
          { guard: 'waitsForApproval', target: 'degraded', actions: because('approval_expired') },
          { guard: 'waitsForClient', target: 'degraded', actions: because('client_expired') },
          { target: 'degraded', actions: because('decision_expired') },
        ],
      },
    },
    tooling: {
      description:
        'Every admitted call runs as its own job, in parallel, or is made by the client; those that need neither are answered as the last one settles.',
      entry: [
        enqueueActions(({ enqueue, context, event }) => {
          if (!begins(event)) return;
          for (const params of firedByCalls(context)) enqueue({ type: 'record', params });
        }),
        assign(({ context, event }) => batchOf(context, event)),
        enqueueActions(({ enqueue, context, event }) => {
          for (const { id, input } of callsOf(context, event)) enqueue.spawnChild('tool', { id, input });
          if (resumes(event))
            enqueue.raise({ type: 'turn.deadline' }, { id: 'deadline', delay: context.deadlineMs });
        }),
      ],
      on: {
        [DONE]: { actions: assign(({ context, event }) => withSettled(context, event)) },
        'turn.client-result': { guard: 'isAwaited', actions: 'takeClientResult' },
      },
      always: [
        { guard: 'batchUndecided', target: 'waiting', actions: assign({ waitingFor: 'outcome' }) },
        { guard: 'batchAwaitsClient', target: 'waiting', actions: assign({ waitingFor: 'client' }) },
        { guard: 'batchDone', target: 'settled' },
      ],
    },
    settled: {
      description: 'Every call of the step has its result.',
      entry: [
        answered,
        enqueueActions(({ enqueue, context }) => {
          const { failingInARow } = afterBatch(context);
          const again = failingInARow > context.failingInARow && failingInARow > 1;
          if (!again) return;
          const verdict = failingInARow < MAX_FAILING_BATCHES ? 'redo' : 'refused';
          enqueue({ type: 'record', params: firedOf(context.step, TOOL_REPAIR, verdict) });
        }),
        assign(({ context }) => afterBatch(context)),
      ],
      always: [
        {
          guard: 'failsForGood',
          target: 'degraded',
          actions: [
            { type: 'state', params: ({ context }) => ({ step: context.step, check: 'tool-repair' }) },
            because(refusalOf('tool-repair')),
          ],
        },
        { target: 'boundary' },
      ],
    },
    boundary: {
      description: 'Between steps: budgets are checked.',
      always: [
        { guard: 'budgetSpent', target: 'degraded', actions: because('step_budget') },
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
