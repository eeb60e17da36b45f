/**
 * The capacity probe of one model, beside the turns: what the provider says of it, then what it is seen to use. Every
 * request is a job of its own, so a turn that needs the model stops the probe between any two. Pure.
 */
import { assign, enqueueActions, setup } from 'xstate';
import { ladderResult, nextSample } from '../context/capacity/ladder.ts';
import {
  callOf,
  freshProbe,
  type ProbeCall,
  type ProbeCallInput,
  type ProbeContext,
  type ProbeEvent,
  type ProbeInput,
  type ProbeOutput,
  taken,
} from './probe-context.ts';
import { sideCall } from './side-call.ts';

export const PROBE_MACHINE = 'probe';
export const PROBE_VERSION = 1;

const DONE = 'xstate.done.actor.*';
const FAILED = 'xstate.error.actor.*';
/** The same request twice: the second shows whether the first was kept. */
const CACHE_CALLS = 2;

interface Asked {
  readonly context: ProbeContext;
}

type Phase = 'climbing' | 'bisecting';

function isIn(phase: Phase) {
  return ({ context: { ladder } }: Asked): boolean => ladder !== null && nextSample(ladder)?.phase === phase;
}

export const probeMachine = setup({
  types: { context: {} as ProbeContext, events: {} as ProbeEvent, input: {} as ProbeInput },
  actors: { probe: sideCall<ProbeOutput, ProbeCallInput>() },
  actions: {
    countCall: assign({ calls: ({ context }) => context.calls + 1 }),
    ask: enqueueActions(({ enqueue, context }, { kind }: { readonly kind: ProbeCall['kind'] }) => {
      enqueue.spawnChild('probe', callOf(context, kind));
    }),
    takeIn: assign(({ context, event }) => taken(context, event)),
  },
  guards: {
    needNotWait: ({ context }) => context.delayMs === 0,
    isDisplaced: ({ context }) => context.displaced,
    asksMetadataAlone: ({ context }) => context.ladderLeg === null,
    knowsMetadataAlone: ({ context }) => context.calls === 1,
    hasSpentEnough: ({ context }) =>
      context.spentMs >= context.maxMs || context.spentMicroUsd >= context.maxMicroUsd,
    climbs: isIn('climbing'),
    bisects: isIn('bisecting'),
    gotNoAnswer: ({ context: { ladder } }) => ladder !== null && ladderResult(ladder).needsReprobe,
    knowsTheCache: ({ context }) => context.cache.length >= CACHE_CALLS,
  },
}).createMachine({
  id: PROBE_MACHINE,
  initial: 'idle',
  context: ({ input }) => freshProbe(input),
  on: { 'probe.interrupt': '.stopped' },
  states: {
    idle: {
      description: 'The model was probed a moment ago and is left alone for the rest of a minute.',
      always: { guard: 'needNotWait', target: 'metadata' },
      entry: enqueueActions(({ enqueue, context }) => {
        if (context.delayMs > 0)
          enqueue.raise({ type: 'probe.begin' }, { id: 'begin', delay: context.delayMs });
      }),
      on: { 'probe.begin': 'metadata' },
    },
    metadata: {
      description: 'The provider is asked for the window, the reply limit and the quantisation.',
      entry: ['countCall', { type: 'ask', params: { kind: 'metadata' } }],
      on: {
        [DONE]: { target: 'judging', actions: 'takeIn' },
        [FAILED]: 'failed',
      },
    },
    judging: {
      description: 'What is known so far decides what is asked next.',
      always: [
        { guard: 'isDisplaced', target: 'stopped' },
        { guard: 'asksMetadataAlone', target: 'storing' },
        { guard: 'knowsMetadataAlone', target: 'prefix' },
        { guard: 'hasSpentEnough', target: 'storing' },
        { guard: 'climbs', target: 'climbing' },
        { guard: 'bisects', target: 'bisecting' },
        { guard: 'gotNoAnswer', target: 'storing' },
        { guard: 'knowsTheCache', target: 'storing' },
        { target: 'cache' },
      ],
    },
    prefix: {
      description: "The session's own system text and tools are counted, by a reply of one token.",
      entry: ['countCall', { type: 'ask', params: { kind: 'prefix' } }],
      on: {
        [DONE]: { target: 'judging', actions: 'takeIn' },
        [FAILED]: { target: 'judging' },
      },
    },
    climbing: {
      description: 'Prompts double in size until the model no longer follows its instruction.',
      entry: ['countCall', { type: 'ask', params: { kind: 'sample' } }],
      on: {
        [DONE]: { target: 'judging', actions: 'takeIn' },
        [FAILED]: { target: 'judging', actions: 'takeIn' },
      },
    },
    bisecting: {
      description:
        'The gap between the largest prompt that was followed and the smallest that was not is halved.',
      entry: ['countCall', { type: 'ask', params: { kind: 'sample' } }],
      on: {
        [DONE]: { target: 'judging', actions: 'takeIn' },
        [FAILED]: { target: 'judging', actions: 'takeIn' },
      },
    },
    cache: {
      description: 'One request is sent twice, to see whether the provider keeps prompts.',
      entry: ['countCall', { type: 'ask', params: { kind: 'cache' } }],
      on: {
        [DONE]: { target: 'judging', actions: 'takeIn' },
        [FAILED]: 'storing',
      },
    },
    storing: {
      description: 'The profile is put where every session binds it from.',
      entry: ['countCall', { type: 'ask', params: { kind: 'store' } }],
      on: { [DONE]: 'done', [FAILED]: 'failed' },
    },
    done: { type: 'final', description: 'The profile is stored.' },
    stopped: {
      type: 'final',
      description:
        'A turn needs the model, or another probe has it: nothing is stored, and a later close begins anew.',
    },
    failed: { type: 'final', description: 'The provider did not answer; a later close may try again.' },
  },
});
