/**
 * Random work on a database, step by step, so that two of them can be given the same and be compared. What a step is
 * about is chosen from what is stored, and now and then it stands on something old: the refusals are part of it.
 */
import type { Commit, SessionRef, SessionState, Store, UpkeepStore } from '../../../src/db/contract.ts';
import { blake3Hex, GENESIS_DIGEST } from '../../../src/ledger/chain.ts';
import { CommitBuilder } from '../../../src/runtime/commit-builder.ts';
import { actorRow, callRows, config, eventRow, TOKEN } from '../../contract/session-under-test.ts';
import { type AcceptStep, type HopStep, LEASE_MS, STEP_MS, type Step } from './steps.ts';

export interface Side {
  readonly store: Store;
  readonly upkeep: UpkeepStore;
  elapse(ms: number): Promise<void>;
}

/** A lease that no beat of a history is older than. */
const FOREVER_MS = 1_000_000_000;
/** The words of a card, longer than a line of base64. */
const TERMS = Buffer.alloc(64, 7).toString('base64');
/** More than there are of anything. */
const ALL = 1_000;

/** The first commit of a session. */
export function opening(ref: SessionRef, head: string): Commit {
  const numbers = {
    nextSeq: 1,
    nextTurn: 1,
    nextEvidence: 1,
    nextPresentation: 1,
    nextItem: 1,
    epoch: 0,
    profileAt: 0,
  };
  const unsent = { lastDigest: GENESIS_DIGEST, prefix: null };
  const fresh = { status: 'open', leg: 'sim', liveHead: head, watched: false } as const;
  const builder = new CommitBuilder({ ...ref, ...numbers, ...unsent, ...fresh });
  builder.create = { leg: 'sim', config: JSON.stringify(config()), head };
  builder.append(head, { kind: 'session-created', turnId: null, body: config() });
  builder.append(head, { kind: 'head-created', turnId: null, body: { head, from: null, atSeq: 0 } });
  return builder.build();
}

type Act = (side: Side) => Promise<unknown>;

/** What a step asks of each side, given what one of them holds. A refusal of the database itself is an answer too. */
export async function actOf(step: Step, refs: readonly SessionRef[], first: Side): Promise<Act> {
  const act = await asked(step, refs, first);
  return (side) => act(side).catch(() => 'threw');
}

async function asked(step: Step, refs: readonly SessionRef[], { store }: Side): Promise<Act> {
  const ref = nth(refs, 'session' in step ? step.session : 0);
  const state = ref === undefined ? null : await store.sessionState(ref);
  if (ref === undefined || state === null) throw new Error('the session was not opened');
  switch (step.op) {
    case 'accept':
    case 'hop': {
      const commit = step.op === 'accept' ? accepting(step, ref, state) : hopping(step, ref, state);
      return (side) => side.store.apply(commit);
    }
    case 'claim':
    case 'markStarted':
      return ofCall(step, ref, state);
    case 'submit':
    case 'drain':
      return ofActor(step, ref, nth(state.actors, step.actor));
    case 'redispatch': {
      const row = nth(state.outbox, step.row);
      return async (side) => row && side.upkeep.redispatch({ ...ref, ...row });
    }
    case 'reconcile': {
      const call = nth(state.calls, step.call);
      const old = call === undefined ? [] : [`${call.actor}~${call.child}`];
      const calls = { held: step.holds ? old : [], old };
      return (side) => side.upkeep.reconcile(step.worker, calls, LEASE_MS);
    }
    default:
      return ofAll(step);
  }
}

/** Everything that is stored, and what upkeep tells of it. */
export async function observe({ store, upkeep }: Side, refs: readonly SessionRef[]): Promise<unknown> {
  const states = await Promise.all(refs.map((ref) => store.sessionState(ref)));
  const unfolded = states.map((state) => state && { ...state, events: state.events.map(unfold) });
  const pools = await upkeep.poolState(FOREVER_MS);
  const dueInMs = await upkeep.nextDueMs();
  return { states: unfolded, dueInMs, pools: sorted(pools) };
}

function ofAll(step: Exclude<Step, { readonly session: number }>): Act {
  switch (step.op) {
    case 'beat':
      return ({ upkeep }) =>
        upkeep.beat({ id: step.worker, host: 'here', pid: 1, pools: { step: step.slots } });
    case 'retire':
      return ({ upkeep }) => upkeep.retire(step.worker);
    case 'elapse':
      return (side) => side.elapse(step.steps * STEP_MS);
    case 'compact':
      return ({ upkeep }) => upkeep.compact(ALL);
    case 'admit':
      return async ({ upkeep }) => [
        sorted(await upkeep.admit('step', ALL)),
        sorted(await upkeep.admit('turn', ALL)),
      ];
    case 'sweep':
      return async ({ upkeep }) => {
        const swept = await upkeep.sweep({ leaseMs: LEASE_MS, readmitMs: LEASE_MS });
        return { ...swept, unclaimed: sorted(swept?.unclaimed ?? null) };
      };
  }
}

function ofCall(
  step: Extract<Step, { readonly op: 'claim' | 'markStarted' }>,
  ref: SessionRef,
  { calls, session: row }: SessionState,
): Act {
  const queued = step.op === 'claim' ? calls.filter(({ status }) => status === 'queued') : [];
  const call = nth(queued.length === 0 ? calls : queued, step.call);
  if (call === undefined) return async () => null;
  const { actor, child: name, dispatch, fence } = call;
  const of = { ...ref, actor, child: name };
  if (step.op === 'markStarted')
    return ({ store }) => store.markStarted(of, { fence: fence - step.behind, token: TOKEN });
  const handed = { ...of, dispatch: dispatch - step.behind };
  const { indexed } = step;
  if (step.known === undefined) return ({ store }) => store.claim(handed, step.worker, TOKEN, indexed);
  const { toPlan, behind: late } = step.known;
  const known = { nextSeq: row.nextSeq - late, head: row.liveHead, toPlan };
  return ({ store }) => store.claimKnown(handed, step.worker, TOKEN, known, indexed);
}

function ofActor(
  step: Extract<Step, { readonly op: 'submit' | 'drain' }>,
  ref: SessionRef,
  row: SessionState['actors'][number] | undefined,
): Act {
  if (row === undefined) return async () => null;
  const of = { ...ref, actor: row.actor };
  if (step.op === 'submit') return ({ store }) => store.submitEvent(of, step.id, `{"type":"${step.id}"}`);
  return ({ store }) => store.drain(of, step.dispatch);
}

function builderOn(ref: SessionRef, { session: row }: SessionState, late = 0): CommitBuilder {
  const { config: _, ...head } = row;
  return new CommitBuilder({ ...ref, ...head, nextSeq: head.nextSeq - late, watched: false });
}

function accepting(step: AcceptStep, ref: SessionRef, state: SessionState): Commit {
  const builder = builderOn(ref, state);
  const { liveHead } = state.session;
  const { turn, priority } = step;
  builder.lists.turns.push({
    turn,
    head: liveHead,
    number: builder.takeTurnNumber() - step.number,
    priority,
  });
  if (step.key !== undefined)
    builder.lists.keys.push({ key: step.key, turn, inputDigest: blake3Hex(step.key) });
  builder.append(liveHead, { kind: 'head-moved', turnId: turn, body: { head: liveHead } });
  builder.lists.actors.push(actorRow(turn, 0, 1));
  builder.lists.events.push(eventRow(turn, 'init', 1));
  if (step.child !== undefined) callRows(builder, turn, step.child, priority);
  return builder.build();
}

function hopping(step: HopStep, ref: SessionRef, state: SessionState): Commit {
  const builder = builderOn(ref, state, step.behind);
  const { liveHead } = state.session;
  const settled =
    step.settle &&
    nth(
      state.calls.filter(({ fence }) => fence > 0),
      step.settle.call,
    );
  if (step.settle !== undefined && settled !== undefined) {
    const { actor, child: name, fence } = settled;
    const again = step.settle.status === 'queued' ? 1 : 0;
    const by = { attemptBy: again, dispatchBy: again } as const;
    builder.settle = {
      actor,
      child: name,
      fence: fence - step.settle.behind,
      token: TOKEN,
      status: step.settle.status,
      ...by,
    };
  }
  changeActors(builder, step, state);
  changeRows(builder, step, state);
  const moved = { kind: 'head-moved', turnId: null, body: { head: liveHead } } as const;
  const seq = step.record ? builder.append(liveHead, moved) : null;
  if (seq !== null && step.writes !== undefined) project(builder, step.writes, state, seq);
  return builder.build();
}

function changeActors(builder: CommitBuilder, step: HopStep, { actors }: SessionState): void {
  const { lists } = builder;
  const changed = step.actor && nth(actors, step.actor.actor);
  if (step.actor !== undefined && changed !== undefined) {
    const { status, behind: late, event } = step.actor;
    const base = changed.revision - late;
    const parked = status === 'parked' ? { parkedReason: 'unreadable' } : {};
    lists.actors.push({ ...actorRow(changed.actor, base, base + 1), status, ...parked });
    if (event !== undefined) lists.events.push(eventRow(changed.actor, event, base + 1));
  }
  const told = step.event && nth(actors, step.event.actor);
  if (step.event === undefined || told === undefined) return;
  const revision = step.event.late ? told.revision : null;
  lists.events.push({ ...eventRow(told.actor, step.event.id, null), revision });
}

function changeRows(
  builder: CommitBuilder,
  step: HopStep,
  { actors, calls, turns, session: row }: SessionState,
): void {
  const { lists } = builder;
  const active = actors.filter(({ status }) => status === 'active');
  const spawning = step.call && nth(active, step.call.actor);
  if (step.call !== undefined && spawning !== undefined) callRows(builder, spawning.actor, step.call.child);
  const cancelled = step.cancel === undefined ? undefined : nth(calls, step.cancel);
  if (cancelled !== undefined) lists.cancels.push({ actor: cancelled.actor, child: cancelled.child });
  const timed = step.timer && nth(actors, step.timer.actor);
  if (step.timer !== undefined && timed !== undefined) {
    const { timer: name, delayMs } = step.timer;
    lists.timers.push({ actor: timed.actor, timer: name, event: '{}', revision: timed.revision, delayMs });
  }
  const cleared = step.clear && nth(actors, step.clear.actor);
  if (step.clear !== undefined && cleared !== undefined)
    lists.clearedTimers.push({ actor: cleared.actor, timer: step.clear.timer });
  const closed = step.closed === undefined ? undefined : nth(turns, step.closed);
  if (closed === undefined) return;
  const card = { closedSeq: builder.session.nextSeq, fullBytes: 9, cardBytes: 4, terms: TERMS };
  lists.turnChanges.push({ turn: closed.turn, status: 'closed', outcome: 'completed', steps: 2, ...card });
  lists.heads.push({ head: row.liveHead, openTurn: closed.turn });
}

/** What stands in the record `seq`. */
function project(
  builder: CommitBuilder,
  { edge, retracted, presentation, packet, prefix, reset }: NonNullable<HopStep['writes']>,
  { session: { liveHead: head }, turns, edges, prefixes }: SessionState,
  seq: number,
): void {
  const { lists } = builder;
  const linked = edge && nth(turns, edge.turn);
  if (edge !== undefined && linked !== undefined) {
    const { turn } = linked;
    const ordinal = edges.filter((row) => row.turn === turn).length;
    lists.edges.push({ turn, ordinal, kind: edge.kind, to: edge.to, provenance: 'observed' });
  }
  const retractable = retracted === undefined ? undefined : nth(edges, retracted);
  if (retractable !== undefined) {
    const { turn, kind, to } = retractable;
    lists.retractedEdges.push({ turn, kind, to });
    builder.epoch += 1;
  }
  const shown = presentation === undefined ? undefined : nth(turns, presentation);
  if (shown !== undefined)
    lists.presentations.push({ ordinal: builder.takePresentation(), seq, turn: shown.turn, type: 'note' });
  if (packet !== undefined) lists.packets.push({ ...packet, head, seq });
  if (reset === true) lists.resets.push({ head, seq });
  if (prefix === undefined) return;
  builder.prefix = blake3Hex(prefix);
  const stands = prefixes.some(({ digest }) => digest === builder.prefix);
  if (!stands) lists.prefixes.push({ digest: builder.prefix, seq });
}

/** Folded events as data: databases space their JSON as they like, and events of one revision have no order. */
function unfold(event: SessionState['events'][number]) {
  if (event.id !== 'all') return event;
  return { ...event, event: sorted(JSON.parse(event.event) as readonly unknown[]) };
}

/** Rows whose order nobody is promised. */
function sorted<Row>(rows: readonly Row[] | null): readonly Row[] | null {
  return rows && [...rows].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

function nth<T>(list: readonly T[], place: number): T | undefined {
  return list[place % list.length];
}
