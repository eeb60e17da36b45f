/** The capacity probe. Its first rung asks the provider what the model is. */
import { enqueueActions, setup } from 'xstate';
import { METADATA_CHILD } from '../ledger/ids.ts';
import { sideCall } from './side-call.ts';

export const PROBE_MACHINE = 'probe';
export const PROBE_VERSION = 1;

export type ProbeEvent =
  | { readonly type: `xstate.done.actor.${string}`; readonly output: unknown }
  | { readonly type: `xstate.error.actor.${string}`; readonly error: unknown };

export const probeMachine = setup({
  types: {
    context: {} as { readonly leg: string },
    events: {} as ProbeEvent,
    input: {} as { readonly leg: string },
  },
  actors: { metadata: sideCall<null, { leg: string }>() },
}).createMachine({
  id: PROBE_MACHINE,
  initial: 'metadata',
  context: ({ input }) => ({ leg: input.leg }),
  states: {
    metadata: {
      description: 'The provider is asked for the window, the reply limit and the quantisation.',
      entry: enqueueActions(({ enqueue, context }) => {
        enqueue.spawnChild('metadata', { id: METADATA_CHILD, input: { leg: context.leg } });
      }),
      on: { 'xstate.done.actor.*': 'done', 'xstate.error.actor.*': 'failed' },
    },
    done: { type: 'final', description: 'The profile is stored.' },
    failed: { type: 'final', description: 'The provider did not answer; the next close may try again.' },
  },
});
