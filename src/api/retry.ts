/**
 * Brings a parked or stuck turn back; of one that has ended, enqueues its directive as a new turn. What moves by
 * itself is left alone.
 */
import type { Services } from '../app/services.ts';
import type { ActorRef } from '../db/contract.ts';
import { findTurnWithRecords, type TurnRow } from '../db/queries/find-turn.ts';
import { findStuck, type StuckRow } from '../db/queries/list-stuck.ts';
import {
  type AwaitedRows,
  type Mending,
  mendTurn,
  readHeadPlace,
  readOpenEvents,
} from '../db/queries/redispatch-turn.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import { type BodyOf, parseBody } from '../ledger/kinds.ts';
import { MACHINES } from '../machines/registry.ts';
import { acceptTurn } from '../runtime/accept.ts';
import { awaitedBy } from '../runtime/awaited.ts';
import { startTurn } from '../runtime/close.ts';
import { CommitBuilder } from '../runtime/commit-builder.ts';
import { findMachine, restore } from '../runtime/snapshot.ts';
import { stuckLimits } from '../runtime/stuck-reasons.ts';
import type { ApiContext, Call } from './contract.ts';
import { idempotencyKey } from './idempotency-key.ts';
import { snapshotOf } from './turn-state.ts';

/** Other writers of the session between a look at a head and the start on it. */
const MAX_RACES = 20;

/**
 * Returns the turn to show: the one that goes on, or the new one.
 *
 * @throws TurnwrightError `turn_not_stuck`, or `turn_parked` when it cannot be moved here; of a closed turn
 * `turn_closed` when its directive is gone, `session_archived`, `idempotency_conflict`.
 */
export async function retryTurn({ services }: ApiContext, call: Call, row: TurnRow): Promise<string> {
  if (row.status === 'closed') return enqueueAgain(services, call, row);
  const ref = { tenant: call.caller.tenant, session: row.session, actor: row.turn };
  if (row.actor.status === 'parked') await unpark(services, ref, row);
  else await bringBack(services, ref, row);
  // With room it goes to the queue now; without, and when the queue is away, the sweep hands it over.
  await services.engine.admission.refresh().catch((error: unknown) => {
    services.logger.warn({ err: error }, 'a retried turn waits for the sweep');
  });
  return row.turn;
}

async function enqueueAgain(services: Services, { caller, request }: Call, row: TurnRow): Promise<string> {
  const found = await findTurnWithRecords(services.pool, caller.tenant, row.turn);
  const accepted = found?.records.find((record) => record.kind === 'turn-accepted');
  if (accepted === undefined || (accepted.body as string | null) === null)
    throw new TurnwrightError(
      'turn_closed',
      `Turn ${row.turn} has ended, and its directive was erased: there is nothing to enqueue again.`,
    );
  const { input, metadata, budget }: BodyOf<'turn-accepted'> = parseBody(
    'turn-accepted',
    JSON.parse(accepted.body),
  );
  const ref = { tenant: caller.tenant, session: row.session };
  const created = await acceptTurn(services.engine, ref, {
    turn: services.newId(),
    input,
    mode: 'enqueue',
    priority: row.priority,
    idempotencyKey: idempotencyKey(request.headers['idempotency-key']),
    ...(metadata === undefined ? {} : { metadata }),
    ...(budget === undefined ? {} : { budget }),
    limits: limitsOf(services, row),
    retryOf: row.turn,
  });
  return created.turn;
}

/** The budgets it had, within what the deployment allows now. */
function limitsOf({ config: { limits, intent } }: Services, { actor }: TurnRow) {
  const { stepBudget, deadlineMs } = snapshotOf(actor.snapshot).context;
  const within = (wanted: unknown, most: number) =>
    typeof wanted === 'number' && wanted >= 1 ? Math.min(wanted, most) : most;
  return {
    stepBudget: within(stepBudget, limits.stepBudget),
    deadlineMs: within(deadlineMs, limits.turnDeadlineMs),
    escalate: intent.escalate,
  };
}

async function unpark(services: Services, ref: ActorRef, row: TurnRow): Promise<void> {
  refuseUnreadable(row);
  if ((await mend(services, ref, row)) === null) throw moving(row.turn);
  // An accepted turn may have been passed by while it was parked.
  const stuck = await findStuck(services.pool, ref.tenant, row.turn, stuckLimits(services.config.leaseMs));
  if (stuck !== null && isUnstarted(stuck)) await start(services, ref);
}

async function bringBack(services: Services, ref: ActorRef, row: TurnRow): Promise<void> {
  const { machine, version } = row.actor;
  const stuck = await findStuck(services.pool, ref.tenant, row.turn, stuckLimits(services.config.leaseMs));
  if (stuck === null) throw moving(row.turn);
  if (stuck.cause === 'passed_over') throw passedOver(row.turn, stuck);
  const needsMachine = isUnstarted(stuck) || stuck.cause === 'event_pending';
  if (needsMachine && findMachine(MACHINES, machine, version) === null)
    throw new TurnwrightError(
      'turn_parked',
      `Turn ${row.turn} waits for a worker that knows ${machine} version ${version}; this version cannot move it. Run one that does.`,
    );
  if (isUnstarted(stuck)) return start(services, ref);
  const mended = await mend(services, ref, row);
  if (mended === null) throw moving(row.turn);
  if (mended === 0) throw immovable(row.turn);
}

function isUnstarted({ cause }: StuckRow): boolean {
  return cause === 'not_started' || cause === 'head_held';
}

async function mend(services: Services, ref: ActorRef, row: TurnRow): Promise<number | null> {
  const { status, revision } = row.actor;
  const { goneMs } = stuckLimits(services.config.leaseMs);
  const awaited = await awaitedRows(services, ref, row);
  return mendTurn(services.pool, ref, {
    revision,
    status: status === 'parked' ? 'parked' : 'active',
    awaited,
    goneMs,
  });
}

/** null where its events do not lead to its snapshot: then they are no ground to mend anything from. */
async function awaitedRows(
  services: Services,
  ref: ActorRef,
  { actor, priority }: TurnRow,
): Promise<Mending['awaited']> {
  const events = await readOpenEvents(services.pool, ref);
  const awaited = replayed(() => awaitedBy(MACHINES, actor, events));
  if (awaited === null || awaited.snapshot !== actor.snapshot) return null;
  const rows: AwaitedRows = {
    calls: awaited.calls.map((call) => ({ ...call, priority })),
    timers: awaited.timers,
  };
  return rows;
}

/** Events that were altered may lead nowhere. */
function replayed<T>(work: () => T): T | null {
  try {
    return work();
  } catch {
    return null;
  }
}

function refuseUnreadable(row: TurnRow): void {
  const { machine, version, snapshot } = row.actor;
  const known = findMachine(MACHINES, machine, version);
  try {
    if (known !== null) {
      restore(known, { machine, version, snapshot });
      return;
    }
  } catch (error) {
    if (!(error instanceof TurnwrightError)) throw error;
  }
  throw new TurnwrightError(
    'turn_parked',
    `Turn ${row.turn} stays parked: this version cannot read its snapshot of ${machine} version ${version}. Retry it with one that can.`,
  );
}

/** Starts an accepted turn whose head is free, or held by a turn that has ended. Of many at once, one starts it. */
async function start({ engine, pool }: Services, ref: ActorRef): Promise<void> {
  for (let race = 0; race < MAX_RACES; race++) {
    const place = await readHeadPlace(pool, ref);
    const loaded = await engine.store.load(ref);
    if (place === null || loaded?.turn?.status !== 'accepted' || !place.isNext) throw moving(ref.actor);
    if (place.nextSeq !== loaded.session.nextSeq) continue;
    const builder = new CommitBuilder(loaded.session);
    const { head, priority } = loaded.turn;
    builder.lists.heads.push({ head, openTurn: ref.actor });
    const at = { actor: ref.actor, turn: ref.actor, head, priority };
    startTurn(builder, engine.hopContext(), loaded.actor, at);
    if ((await engine.commit(builder.build())) === 'applied') return;
  }
  throw moving(ref.actor);
}

function moving(turn: string): TurnwrightError {
  return new TurnwrightError(
    'turn_not_stuck',
    `Turn ${turn} is moving, or was brought back a moment ago. GET /v1/turns/${turn}/why says what it waits for.`,
  );
}

function passedOver(turn: string, { child }: StuckRow): TurnwrightError {
  return new TurnwrightError(
    'turn_not_stuck',
    `Turn ${turn} was passed over by turn ${child ?? ''}, which its head runs now. Cancel it and retry it then: it is enqueued anew.`,
  );
}

function immovable(turn: string): TurnwrightError {
  return new TurnwrightError(
    'turn_not_stuck',
    `Turn ${turn} has nothing that could be handed over again. Cancel it, then retry it: its directive is enqueued as a new turn.`,
  );
}
