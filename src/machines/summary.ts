/**
 * A packet built in the background, a bite at a time: each bite is one side call that stores a packet from the
 * same first turn to a later last one. Pure; context holds numbers and the head's id.
 */
import { assign, enqueueActions, setup } from 'xstate';
import { summaryChild } from '../ledger/ids.ts';
import { sideCall } from './side-call.ts';

export const SUMMARY_MACHINE = 'summary';
export const SUMMARY_VERSION = 1;

/** Four batches of eight: what one side call is asked to summarise at most. */
const BITE_TURNS = 32;
/** A run that would take more leaves the rest to the next close. */
const MAX_BITES = 64;

/** Turn numbers, both ends included, on this head. */
export interface SummaryInput {
  readonly from: number;
  readonly to: number;
  /** What the packet may weigh in a request. */
  readonly bytes: number;
  readonly head: string;
}

export interface SummaryContext extends SummaryInput {
  /** The last turn a stored packet covers; `from` - 1 before the first bite. */
  readonly reached: number;
  readonly bites: number;
  /** The last bite took the packet no further. */
  readonly stuck: boolean;
}

/** `to`: the last turn the packet covers now. Less than asked where the summariser's budget held fewer cards. */
export interface BiteOutput {
  readonly to: number;
}

export interface BiteInput extends SummaryInput {
  readonly purpose: 'packet';
}

export type SummaryEvent =
  | { readonly type: `xstate.done.actor.${string}`; readonly output: unknown }
  | { readonly type: `xstate.error.actor.${string}`; readonly error: unknown };

export const summaryMachine = setup({
  types: {
    context: {} as SummaryContext,
    events: {} as SummaryEvent,
    input: {} as SummaryInput,
  },
  actors: { summary: sideCall<BiteOutput, BiteInput>() },
  guards: {
    madeNoProgress: ({ context }) => context.stuck,
    coversAll: ({ context }) => context.reached >= context.to,
    tookEnough: ({ context }) => context.bites >= MAX_BITES,
  },
}).createMachine({
  id: SUMMARY_MACHINE,
  initial: 'judging',
  context: ({ input }) => ({ ...input, reached: input.from - 1, bites: 0, stuck: false }),
  on: { 'xstate.error.actor.*': '.failed' },
  states: {
    judging: {
      description: 'How far the packet reaches decides whether another bite follows.',
      always: [
        { guard: 'madeNoProgress', target: 'failed' },
        { guard: 'coversAll', target: 'done' },
        { guard: 'tookEnough', target: 'done' },
        { target: 'summarising' },
      ],
    },
    summarising: {
      description: 'The next turns are added to the packet by a summariser.',
      entry: [
        assign({ bites: ({ context }) => context.bites + 1 }),
        enqueueActions(({ enqueue, context }) => {
          const { from, bytes, head } = context;
          const to = Math.min(context.to, context.reached + BITE_TURNS);
          const input = { purpose: 'packet', from, to, bytes, head } as const;
          enqueue.spawnChild('summary', { id: summaryChild(context.bites), input });
        }),
      ],
      on: {
        'xstate.done.actor.*': {
          target: 'judging',
          actions: assign(({ context, event }) => {
            const { to } = 'output' in event ? (event.output as BiteOutput) : { to: context.reached };
            return { reached: Math.max(context.reached, to), stuck: to <= context.reached };
          }),
        },
      },
    },
    done: {
      type: 'final',
      description: 'The packet covers what was asked, or as much of it as one run takes.',
    },
    failed: {
      type: 'final',
      description:
        'A bite failed or took the packet no further; what is stored stands, the next close tries again.',
    },
  },
});
