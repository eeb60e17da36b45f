/** A turn as the database tells of it, for tests of what is said about it. Time stands at `NOW_MS`. */

import type { CallFacts, ExplainedTurn } from '../../../src/db/queries/explain-turn.ts';
import { canonicalJson } from '../../../src/ledger/json.ts';

export const NOW_MS = Date.parse('2026-03-01T12:00:00.000Z');
export const TURN = '019c0000-0000-7000-8000-00000000000a';
export const GONE_MS = 12_000;

const HEAD = '019c0000-0000-7000-8000-00000000000b';
const SESSION = '019c0000-0000-7000-8000-00000000000c';
export const WORKER = '019c0000-0000-7000-8000-00000000000d';

export const ago = (seconds: number): number => NOW_MS - seconds * 1_000;

export function snapshot(value: string, context: Readonly<Record<string, unknown>> = {}): string {
  return canonicalJson({ value, status: 'active', context: { stepBudget: 40, step: 1, ...context } });
}

/** A turn in its first model call, unless it is told otherwise. */
export function explained(
  over: Partial<Omit<ExplainedTurn, 'actor'>> & { readonly actor?: Partial<ExplainedTurn['actor']> } = {},
): ExplainedTurn {
  const { actor, ...rest } = over;
  return {
    turn: TURN,
    session: SESSION,
    head: HEAD,
    number: 3,
    status: 'running',
    outcome: null,
    reason: null,
    steps: 0,
    priority: 0,
    nowMs: NOW_MS,
    acceptedMs: ago(60),
    startedMs: ago(30),
    closedMs: null,
    changedMs: ago(20),
    calls: [],
    timers: [],
    events: [],
    behind: null,
    waitingBefore: 0,
    failedReceipt: null,
    stuck: null,
    ...rest,
    actor: {
      machine: 'turn',
      version: 1,
      revision: 2,
      snapshot: snapshot('stepping'),
      status: 'active',
      parkedReason: null,
      ...actor,
    },
  };
}

/** Handed to the queue five seconds ago, unless it is told otherwise. */
export function openCall(over: Partial<CallFacts> = {}): CallFacts {
  return {
    child: 'step-1',
    src: 'step',
    pool: 'step',
    status: 'queued',
    attempt: 1,
    fence: 0,
    dispatch: 1,
    claimedMs: null,
    lastError: null,
    worker: null,
    slots: 16,
    handOver: { dueMs: ago(6), admittedMs: ago(5), before: 0 },
    ...over,
  };
}

export const alive = { id: WORKER, host: 'mill', pid: 4242, beatMs: ago(1) };
