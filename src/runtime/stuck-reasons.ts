/** When a turn counts as stuck, why it is, and what to do about it, in words. Pure. */
import type { StuckLimits, StuckRow } from '../db/queries/list-stuck.ts';
import { MACHINES } from '../machines/registry.ts';
import { MAX_DEATHS } from './calls.ts';
import { findMachine } from './snapshot.ts';

/** The sweep takes a dead worker's call up within one lease; after two, nobody sweeps. */
const LEASES_UNTIL_GONE = 2;
/** With room, a row is taken up in milliseconds; so many leases allow for a queue that is full. */
const LEASES_UNTIL_UNCLAIMED = 10;
const LISTED = 200;

export interface StuckWords {
  readonly reason: string;
  readonly action: string;
}

export function stuckLimits(leaseMs: number): StuckLimits {
  return {
    goneMs: leaseMs * LEASES_UNTIL_GONE,
    unclaimedMs: leaseMs * LEASES_UNTIL_UNCLAIMED,
    // The claim that finds so many ends its call: one more, and it did not.
    repeats: MAX_DEATHS + 1,
    limit: LISTED,
  };
}

export function explainStuck(row: StuckRow): StuckWords {
  const retry = `POST /v1/turns/${row.turn}/retry`;
  const cancel = `POST /v1/turns/${row.turn}/cancel`;
  const of = `${row.machine} version ${row.version}`;
  const about = row.child ?? '';
  switch (row.cause) {
    case 'parked':
      return {
        reason: `It was parked: ${row.parkedReason ?? 'no reason was kept.'}`,
        action: `Run a version that can read ${of}, then ${retry}.`,
      };
    case 'worker_gone':
      return {
        reason: `The worker that ran ${about} is gone and no other took it over.`,
        action: `Start a worker: it takes over by itself. Or ${retry}.`,
      };
    case 'call_lost':
      return {
        reason: `${about} is queued, and no row hands it to the pool ${row.pool ?? ''}.`,
        action: `Hand it over again with ${retry}.`,
      };
    case 'call_repeats':
      return {
        reason: `More than ${MAX_DEATHS} workers died while they held ${about}, and none could end it.`,
        action: `Read in the workers' log what they meet. If it cannot pass, ${cancel}.`,
      };
    case 'unclaimed':
      return unclaimed(row, retry);
    case 'event_pending':
      return eventPending(row, of, retry);
    case 'head_held':
      return {
        reason: `Its head is held by the turn ${about}, which has ended.`,
        action: `Start it with ${retry}, or ${cancel}.`,
      };
    case 'not_started':
      return {
        reason: 'Its head is free and nothing started it.',
        action: `Start it with ${retry}, or ${cancel}.`,
      };
    case 'passed_over':
      return {
        reason: `Its head runs the turn ${about}, which came after it.`,
        action: `Send it anew: ${cancel}, then ${retry}. Or ${retry} when its head is free.`,
      };
    case 'timer_overdue':
      return overdue(row, retry);
    case 'timer_lost':
      return {
        reason: 'It waits for a decision, and the timer that would end the wait is gone.',
        action: `Decide with POST /v1/turns/${row.turn}/signals, or set the timer again with ${retry}.`,
      };
    case 'nothing_pending':
      return {
        reason: 'No call, job, timer or event of it is open; only its deadline would end it.',
        action: `Hand over what it waits for with ${retry}, or ${cancel}.`,
      };
  }
}

function unclaimed({ child, pool, slots }: StuckRow, retry: string): StuckWords {
  const waits = `${child ?? 'A job'} waits for the pool ${pool ?? ''}`;
  if (slots === 0)
    return {
      reason: `${waits}, which no live worker serves.`,
      action: `Start a worker with --pools ${pool ?? ''}.`,
    };
  return {
    reason: `${waits}; its ${slots} live ${slots === 1 ? 'slot has' : 'slots have'} not taken it.`,
    action: `Resume the queue on the board if it is paused, read the workers' log if they cannot reach it, or ${retry}.`,
  };
}

function eventPending({ child, machine, version, slots }: StuckRow, of: string, retry: string): StuckWords {
  const event = `The event ${child ?? ''}`;
  if (slots === 0)
    return {
      reason: `${event} of ${of} waits, and no live worker serves the pool turn.`,
      action: 'Start a worker with --pools turn.',
    };
  if (findMachine(MACHINES, machine, version) === null)
    return {
      reason: `${event} waits for a worker that knows ${of}.`,
      action: `Run a worker of a version that knows ${of} on the pool turn.`,
    };
  return {
    reason: `${event} was handed to the pool turn and is not applied to ${of}.`,
    action: `Run a worker of this version on the pool turn and read its log, then ${retry}.`,
  };
}

function overdue({ child, workers }: StuckRow, retry: string): StuckWords {
  const late = `Its timer ${child ?? ''} fell due and nothing acted on it`;
  return workers === 0
    ? { reason: `${late}: no worker process is alive.`, action: 'Start a worker: it sweeps what is due.' }
    : {
        reason: `${late}, though a worker process is alive.`,
        action: `Read in the workers' log why their sweep fails, or ${retry}.`,
      };
}
