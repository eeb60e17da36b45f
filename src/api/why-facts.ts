/** A turn's rows as the facts that `why` shows. Pure: time comes with the rows. */
import type { CallFacts, ExplainedTurn, WorkerFacts } from '../db/queries/explain-turn.ts';
import { type BodyOf, parseBody } from '../ledger/kinds.ts';
import { MACHINES } from '../machines/registry.ts';
import { safeMessage } from '../providers/redaction.ts';
import { CALL_POLICY, isCallSource } from '../runtime/calls.ts';
import { WAITING } from '../runtime/side-call.ts';
import { findMachine } from '../runtime/snapshot.ts';
import { snapshotOf, stateOf } from './turn-state.ts';
import type { CallFact, WhyFacts } from './why-schema.ts';

/** How a call says that its provider's rate limit holds it. */
const RATE_LIMITED = 'rate_limited:';
/** The user and password of an address. */
const ADDRESS_CREDENTIALS = /\/\/[^\s/@]+@/gu;

/** A worker silent for `goneMs` counts as gone, as for stuck turns. */
export function whyFacts(row: ExplainedTurn, goneMs: number): WhyFacts {
  const { actor, nowMs } = row;
  const { phase, context } = snapshotOf(actor.snapshot);
  const calls = row.calls.map((call) => callFact(call, nowMs, goneMs));
  return {
    session: row.session,
    head: row.head,
    number: row.number,
    state: stateOf(row),
    phase,
    phase_means: meaningOf(actor.machine, actor.version, phase),
    waiting_for: phase === 'waiting' ? textOf(context.waitingFor) : null,
    machine: actor.machine,
    machine_version: actor.version,
    outcome: row.outcome,
    reason: row.reason,
    parked_reason: actor.parkedReason,
    accepted_at: isoOf(row.acceptedMs),
    started_at: isoOrNull(row.startedMs),
    closed_at: isoOrNull(row.closedMs),
    changed_at: isoOf(row.changedMs),
    changed_seconds: secondsSince(row.changedMs, nowMs),
    steps: stepsOf(row.steps, context),
    calls,
    timers: row.timers.map(({ timer, dueMs }) => ({
      name: timer,
      due_at: isoOf(dueMs),
      due_in_seconds: secondsOf(dueMs - nowMs),
    })),
    events: row.events.map(({ id, event, receivedMs }) => ({
      id,
      type: typeOf(event),
      received_at: isoOf(receivedMs),
      waiting_seconds: secondsSince(receivedMs, nowMs),
    })),
    behind: behindOf(row),
    waiting_before: row.waitingBefore,
    last_error: lastErrorOf(calls, row.failedReceipt),
  };
}

function callFact(call: CallFacts, nowMs: number, goneMs: number): CallFact {
  const { child, src, pool, status, attempt, fence, dispatch, handOver } = call;
  const place = placeOf(call, nowMs);
  const sinceMs = { running: call.claimedMs, handed_over: handOver?.admittedMs, held_back: handOver?.dueMs };
  const since = place === 'delayed' || place === 'lost' ? null : (sinceMs[place] ?? null);
  return {
    child,
    kind: src,
    pool,
    pool_slots: call.slots,
    status,
    place,
    attempt,
    max_attempts: isCallSource(src) ? CALL_POLICY[src].maxAttempts : null,
    fence,
    dispatch,
    since: isoOrNull(since),
    since_seconds: since === null ? null : secondsSince(since, nowMs),
    due_in_seconds: place === 'delayed' ? secondsOf((handOver?.dueMs ?? nowMs) - nowMs) : null,
    rows_before: place === 'held_back' ? (handOver?.before ?? 0) : null,
    rate_limited: place === 'delayed' && (call.lastError?.startsWith(RATE_LIMITED) ?? false),
    waits_for: place === 'delayed' && isWaiting(call) ? awaitedBy(call) : null,
    worker: call.worker === null ? null : workerFact(call.worker, nowMs, goneMs),
    last_error: call.lastError === null || isWaiting(call) ? null : withoutCredentials(call.lastError),
  };
}

function isWaiting({ lastError }: CallFacts): boolean {
  return lastError?.startsWith(WAITING) ?? false;
}

function awaitedBy({ lastError }: CallFacts): string {
  return withoutCredentials(lastError?.slice(WAITING.length) ?? '');
}

function placeOf({ status, handOver }: CallFacts, nowMs: number): CallFact['place'] {
  if (status === 'running') return 'running';
  if (handOver === null) return 'lost';
  if (handOver.admittedMs !== null) return 'handed_over';
  return handOver.dueMs > nowMs ? 'delayed' : 'held_back';
}

function workerFact({ id, host, pid, beatMs }: WorkerFacts, nowMs: number, goneMs: number) {
  const silentMs = beatMs === null ? null : Math.max(0, nowMs - beatMs);
  return {
    id,
    host,
    pid,
    silent_seconds: silentMs === null ? null : secondsOf(silentMs),
    alive: silentMs !== null && silentMs < goneMs,
  };
}

/** Rounds that only made room for the request, or took back a refused one, count against no budget. */
function stepsOf(closedSteps: number, context: Readonly<Record<string, unknown>>): WhyFacts['steps'] {
  const begun = Math.max(closedSteps, countOf(context.step));
  const counted = Math.max(0, begun - countOf(context.packets) - countOf(context.overLength));
  return { begun, counted, budget: typeof context.stepBudget === 'number' ? context.stepBudget : null };
}

function behindOf({ behind }: ExplainedTurn): WhyFacts['behind'] {
  if (behind === null) return null;
  const { turn, number, status, actor } = behind;
  return { turn, number, state: stateOf({ status, actor }), phase: snapshotOf(actor.snapshot).phase };
}

/** Of an open call, else the newest a receipt tells of. */
function lastErrorOf(calls: readonly CallFact[], failedReceipt: string | null): WhyFacts['last_error'] {
  const failing = calls.find((call) => call.last_error !== null);
  if (failing !== undefined) {
    const { child, attempt, last_error: message } = failing;
    return { child, attempt, from: 'call', message: message ?? '' };
  }
  if (failedReceipt === null) return null;
  const { child, attempt, settlement, problem }: BodyOf<'work-receipt'> = parseBody(
    'work-receipt',
    JSON.parse(failedReceipt),
  );
  const message = withoutCredentials(`${settlement}: ${problem ?? ''}`);
  return { child, attempt, from: 'receipt', message };
}

function meaningOf(name: string, version: number, phase: string): string | null {
  const states = findMachine(MACHINES, name, version)?.root.states ?? {};
  return Object.hasOwn(states, phase) ? (states[phase]?.description ?? null) : null;
}

/** What a provider or a driver said was cleaned where it was met; here it leaves, so it is cleaned again. */
function withoutCredentials(text: string): string {
  return safeMessage(text.replace(ADDRESS_CREDENTIALS, '//[redacted]@'), undefined);
}

function typeOf(event: string): string {
  try {
    const parsed = JSON.parse(event) as { readonly type?: unknown } | null;
    return textOf(parsed?.type) ?? 'unknown';
  } catch {
    return 'unknown';
  }
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function countOf(value: unknown): number {
  return typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : 0;
}

function isoOf(ms: number): string {
  return new Date(ms).toISOString();
}

function isoOrNull(ms: number | null): string | null {
  return ms === null ? null : isoOf(ms);
}

function secondsSince(ms: number, nowMs: number): number {
  return secondsOf(Math.max(0, nowMs - ms));
}

function secondsOf(ms: number): number {
  return Math.round(ms) / 1_000;
}
