import { fromPromise } from 'xstate';

/** A child whose work is a job on a pool. Run in memory, a test provides its own with `machine.provide`. */
export function sideCall<Output, Input>() {
  return fromPromise<Output, Input>(() =>
    Promise.reject(new Error('a side call runs on its pool, never in the machine')),
  );
}
