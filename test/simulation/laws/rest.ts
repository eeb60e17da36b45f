/** Laws of rest: when nothing happens any more, nothing is left to be done. */
import type { Law } from './evidence.ts';

export const REST_LAWS: Readonly<Record<string, Law>> = {
  'RUN-05 every world comes to rest': ({ settled, dump, turns }) => {
    if (settled) return [];
    const open = dump.turns.filter(({ status }) => status !== 'closed');
    const calls = dump.calls.filter(({ status }) => status === 'queued' || status === 'running');
    return [
      'it did not',
      ...open.map(
        ({ turn, status }) =>
          `T${turns.get(turn)?.view.number} (${turns.get(turn)?.script?.name}) is ${status}`,
      ),
      ...calls.map(({ actor, child, status, dispatch }) => `${actor}~${child}~${dispatch} is ${status}`),
      ...dump.outbox.map(({ actor, child, dispatch }) => `${actor}~${child}~${dispatch} is not claimed`),
      ...dump.events
        .filter(({ revision }) => revision === null)
        .map(({ actor, id }) => `${id} of ${actor} waits`),
      ...dump.actors.filter(({ status }) => status === 'parked').map(({ actor }) => `${actor} is parked`),
    ];
  },

  'RUN-07 no timer is left of what has ended': ({ dump }) =>
    dump.timers
      .filter(({ actor }) => dump.actors.find((row) => row.actor === actor)?.status === 'done')
      .map(({ actor, timer }) => `${timer} of ${actor}`),

  'no head names a turn that has ended': ({ dump }) =>
    dump.heads
      .filter(({ openTurn }) => dump.turns.find(({ turn }) => turn === openTurn)?.status === 'closed')
      .map(({ openTurn }) => `${openTurn}`),

  'where nothing goes wrong, no process catches an error': ({ quiet, witness }) =>
    quiet ? witness.errors.map(({ process, error }) => `${process}: ${String(error)}`) : [],
};
