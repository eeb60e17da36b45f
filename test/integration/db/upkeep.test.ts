import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { HandOver } from '../../../src/db/contract.ts';
import { PostgresStore } from '../../../src/db/store.ts';
import { PostgresUpkeep } from '../../../src/db/upkeep.ts';
import { MACHINES } from '../../../src/machines/registry.ts';
import { type AppliedEvent, replay, unfold } from '../../../src/runtime/replay.ts';
import {
  actorRow,
  callRows,
  eventRow,
  SessionUnderTest,
  settling,
} from '../../contract/session-under-test.ts';
import { ANSWER, calls, TurnRun } from '../../unit/machines/turn-run.ts';
import { type MigratedDatabase, migratedDatabase } from './migrated.ts';

const LEASE = { leaseMs: 60_000, readmitMs: 60_000 };

let database: MigratedDatabase;
let store: PostgresStore;
let upkeep: PostgresUpkeep;
let session: SessionUnderTest;

beforeAll(async () => {
  database = await migratedDatabase();
  store = new PostgresStore(database.app);
  upkeep = new PostgresUpkeep(database.upkeep);
});
afterAll(() => database.close());
beforeEach(async () => {
  const tables = ['outbox', 'timers', 'side_calls', 'actor_events', 'actors', 'workers'];
  for (const table of tables) await database.root.query(`DELETE FROM turnwright.${table}`);
  session = await SessionUnderTest.open(store, await database.newTenant());
});

async function beat(id: string, pools: Record<string, number> = { step: 2 }): Promise<void> {
  await upkeep.beat({ id, host: 'here', pid: 1, pools });
}

/** Moves a worker's last beat, or any stored time, into the past. */
async function age(table: string, column: string, seconds: number): Promise<void> {
  await database.root.query(
    `UPDATE turnwright.${table} SET ${column} = ${column} - make_interval(secs => ${seconds})`,
  );
}

const drain = async (turn: string) => store.drain({ ...session.ref, actor: turn }, 1_000);

/** What one admitter gets that nobody disturbs. */
async function admit(pool: string, limit: number): Promise<readonly HandOver[]> {
  const rows = await upkeep.admit(pool, limit);
  if (rows === null) throw new Error('somebody else admits');
  return rows;
}

async function sweep() {
  const result = await upkeep.sweep(LEASE);
  if (result === null) throw new Error('somebody else sweeps');
  return result;
}

describe('a worker and the rows that name it', () => {
  it('RUN-04 hands out again a call whose claim never reached the worker, after a lease, and no other', async () => {
    const worker = randomUUID();
    await beat(worker);
    const { turn } = await session.accept({ child: 'step-1' });
    await session.claim(turn, 'step-1', 1, worker);
    const nothing = { held: [], old: [] };
    expect(await upkeep.reconcile(worker, nothing, LEASE.leaseMs)).toEqual([]);
    expect(await admit('step', 10)).toEqual([]);
    await age('side_calls', 'claimed_at', 61);
    await upkeep.reconcile(worker, { held: [`${turn}~step-1`], old: [] }, LEASE.leaseMs);
    await upkeep.reconcile(randomUUID(), nothing, LEASE.leaseMs);
    expect(await admit('step', 10)).toEqual([]);
    await upkeep.reconcile(worker, nothing, LEASE.leaseMs);
    expect(await admit('step', 10)).toMatchObject([{ actor: turn, child: 'step-1', dispatch: 2 }]);
  });

  it('RUN-06 names the calls that are no longer the worker’s own, so that it aborts them', async () => {
    const worker = randomUUID();
    await beat(worker);
    const { turn } = await session.accept({ child: 'step-1' });
    await session.claim(turn, 'step-1', 1, worker);
    const call = `${turn}~step-1`;
    const held = { held: [call], old: [call] };
    expect(await upkeep.reconcile(worker, held, LEASE.leaseMs)).toEqual([]);
    await session.commit((builder) => builder.lists.cancels.push({ actor: turn, child: 'step-1' }));
    expect(await upkeep.reconcile(worker, held, LEASE.leaseMs)).toEqual([call]);
    expect(await upkeep.reconcile(worker, { held: [call], old: [] }, LEASE.leaseMs)).toEqual([]);
  });
});

describe('the sweep', () => {
  it('RUN-04 takes the calls of a worker whose lease ran out, once, and lets its fence lapse', async () => {
    const worker = randomUUID();
    await beat(worker);
    const { turn } = await session.accept({ child: 'step-1' });
    const dead = await session.claim(turn, 'step-1', 1, worker);
    expect((await sweep()).taken).toBe(0);
    await age('workers', 'beat_at', 61);
    expect((await sweep()).taken).toBe(1);
    expect((await sweep()).taken).toBe(0);
    expect(await admit('step', 10)).toMatchObject([{ actor: turn, child: 'step-1', dispatch: 2 }]);
    const taken = await session.claim(turn, 'step-1', 2);
    expect(taken.call).toMatchObject({ fence: 2, dispatch: 2, attempt: 1 });
    const late = await session.build((builder) => {
      builder.settle = settling(turn, 'step-1', dead.call.fence, 'done');
    });
    expect(await store.apply(late)).toBe('superseded');
  });

  it('RUN-04 takes the calls of a worker that retired or never beat', async () => {
    const worker = randomUUID();
    await beat(worker);
    const { turn } = await session.accept({ child: 'step-1' });
    await session.claim(turn, 'step-1', 1, worker);
    await upkeep.retire(worker);
    expect((await sweep()).taken).toBe(1);
    await session.claim(turn, 'step-1', 2, randomUUID());
    expect((await sweep()).taken).toBe(1);
  });

  it('RUN-07 fires a timer past its time once, as an event that wakes its actor', async () => {
    const { turn } = await session.accept();
    const timer = { actor: turn, timer: 'deadline', event: '{"type":"turn.deadline"}', revision: 1 };
    await session.commit((builder) => builder.lists.timers.push({ ...timer, delayMs: 60_000 }));
    expect(await sweep()).toMatchObject({ fired: 0, drains: 0 });
    await age('timers', 'due_at', 61);
    expect(await sweep()).toMatchObject({ fired: 1, drains: 1 });
    expect(await sweep()).toMatchObject({ fired: 0, drains: 0 });
    expect(await admit('turn', 10)).toMatchObject([{ actor: turn, child: 'drain' }]);
    expect(await drain(turn)).toEqual([{ id: 'timer.deadline.1', event: timer.event }]);
  });

  it('RUN-05 asks again for events that nobody drains, and not while a drain stands', async () => {
    const { turn } = await session.accept();
    await store.submitEvent({ ...session.ref, actor: turn }, 'a', '{"type":"a"}');
    expect((await sweep()).drains).toBe(0);
    await database.root.query('DELETE FROM turnwright.outbox');
    expect((await sweep()).drains).toBe(1);
    expect(await drain(turn)).toHaveLength(1);
    expect((await sweep()).drains).toBe(1);
    await drain(turn);
    await session.commit((builder) => {
      builder.lists.actors.push(actorRow(turn, 1, 2));
      builder.lists.events.push(eventRow(turn, 'a', 2));
    });
    expect((await sweep()).drains).toBe(0);
  });

  it('RUN-05 lists rows that were handed over long ago and never claimed', async () => {
    const { turn } = await session.accept({ child: 'step-1', priority: 3 });
    await admit('step', 10);
    expect((await sweep()).unclaimed).toEqual([]);
    await age('outbox', 'admitted_at', 61);
    expect((await sweep()).unclaimed).toEqual([
      {
        ...session.ref,
        pool: 'step',
        priority: 3,
        actor: turn,
        child: 'step-1',
        dispatch: 1,
        heldMs: expect.any(Number),
      },
    ]);
    await session.claim(turn);
    expect((await sweep()).unclaimed).toEqual([]);
  });

  it('runs in one process at a time', async () => {
    const holder = await database.upkeep.connect();
    try {
      await holder.query('BEGIN');
      await holder.query("SELECT pg_advisory_xact_lock(hashtext('turnwright.sweep'))");
      expect(await upkeep.sweep(LEASE)).toBeNull();
      await holder.query('ROLLBACK');
      expect(await upkeep.sweep(LEASE)).not.toBeNull();
    } finally {
      holder.release();
    }
  });

  it('forgets workers long dead, and none whose call still runs', async () => {
    const { turn } = await session.accept({ child: 'step-1' });
    const [gone, busy] = [randomUUID(), randomUUID()];
    await beat(gone);
    await beat(busy);
    await session.claim(turn, 'step-1', 1, busy);
    await age('workers', 'beat_at', 59);
    expect((await upkeep.poolState(60_000)).find(({ pool }) => pool === 'step')?.concurrency).toBe(4);
    await age('workers', 'beat_at', 700);
    await sweep();
    expect((await database.root.query('SELECT FROM turnwright.workers')).rowCount).toBeLessThanOrEqual(1);
    await sweep();
    expect((await database.root.query('SELECT FROM turnwright.workers')).rowCount).toBe(0);
  });
});

describe('admission', () => {
  async function flood(turns: number, priority = 0): Promise<SessionUnderTest> {
    const made = await SessionUnderTest.open(store, await database.newTenant());
    for (let i = 0; i < turns; i++) await made.accept({ child: 'step-1', priority });
    return made;
  }

  const tenants = (rows: readonly HandOver[]) => rows.map(({ tenant }) => tenant);

  it('of one tenant’s flood of 50 another tenant’s first comes within the first two handed over', async () => {
    const flooding = await flood(50);
    const quiet = await flood(1);
    const first = await admit('step', 10);
    expect(first).toHaveLength(10);
    expect(tenants(first).filter((tenant) => tenant === flooding.ref.tenant)).toHaveLength(9);
    expect(tenants(first).indexOf(quiet.ref.tenant)).toBeLessThan(2);
  });

  it('goes by priority before rank, and by age within a tenant', async () => {
    const patient = await flood(3, 5);
    const urgent = await flood(3, 0);
    const rows = await admit('step', 4);
    expect(tenants(rows)).toEqual([
      ...Array.from({ length: 3 }, () => urgent.ref.tenant),
      patient.ref.tenant,
    ]);
    const order = await database.root.query<{ actor: string }>(
      'SELECT actor_id AS actor FROM turnwright.outbox WHERE tenant_id = $1 ORDER BY position',
      [urgent.ref.tenant],
    );
    expect(rows.slice(0, 3).map(({ actor }) => actor)).toEqual(order.rows.map(({ actor }) => actor));
  });

  it('hands a row over once, and none before its time or of another pool', async () => {
    await flood(3);
    const { turn } = await session.accept({ child: 'step-1' });
    await session.claim(turn);
    await session.commit((builder) => {
      const row = { actor: turn, child: 'step-1', dispatch: 2, pool: 'step', priority: 0, admitted: false };
      builder.lists.outbox.push({ ...row, delayMs: 60_000 });
    });
    expect(await admit('tool', 10)).toEqual([]);
    expect(await admit('step', 2)).toHaveLength(2);
    expect(await admit('step', 10)).toHaveLength(1);
    expect(await admit('step', 10)).toEqual([]);
    const dueMs = await upkeep.nextDueMs();
    expect(dueMs).toBeGreaterThan(0);
    expect(dueMs).toBeLessThanOrEqual(60_000);
    await age('outbox', 'due_at', 61);
    expect(await admit('step', 10)).toMatchObject([{ actor: turn, dispatch: 2 }]);
    expect(await upkeep.nextDueMs()).toBeNull();
  });

  it('RUN-03 never hands one row to two admitters', async () => {
    await flood(20);
    const taken = await Promise.all([1, 2, 3, 4].map(() => upkeep.admit('step', 6)));
    const rows = taken.flatMap((batch) => batch ?? []);
    expect(new Set(rows.map(({ actor }) => actor)).size).toBe(rows.length);
    expect(rows.length).toBeGreaterThanOrEqual(6);
  });

  it('reports live concurrency, what was handed over and what is held back', async () => {
    await beat(randomUUID(), { step: 2, tool: 3 });
    await beat(randomUUID(), { step: 4 });
    await flood(5);
    await admit('step', 2);
    const states = await upkeep.poolState(60_000);
    expect(states.find(({ pool }) => pool === 'step')).toMatchObject({
      concurrency: 6,
      admitted: 2,
      backlog: 3,
    });
    expect(states.find(({ pool }) => pool === 'tool')).toMatchObject({
      concurrency: 3,
      admitted: 0,
      backlog: 0,
    });
    await age('workers', 'beat_at', 61);
    expect((await upkeep.poolState(60_000)).find(({ pool }) => pool === 'step')?.concurrency).toBe(0);
  });
});

describe('handing a row over again under a new number', () => {
  it('gives a queued call the next dispatch, once', async () => {
    const { turn } = await session.accept({ child: 'step-1', priority: 2 });
    const [row] = await admit('step', 1);
    if (row === undefined) throw new Error('nothing was admitted');
    expect(await upkeep.redispatch(row)).toBe(2);
    expect(await upkeep.redispatch(row)).toBeNull();
    expect(await store.claim(session.callOf(turn), randomUUID())).toBeNull();
    expect((await session.claim(turn, 'step-1', 2)).call.dispatch).toBe(2);
    expect(await upkeep.redispatch({ ...row, dispatch: 2 })).toBeNull();
  });

  it('gives a drain the next number', async () => {
    const { turn } = await session.accept();
    const ref = { ...session.ref, actor: turn };
    const dispatch = (await store.submitEvent(ref, 'a', '{}')) ?? 0;
    const next = await upkeep.redispatch({ ...ref, child: 'drain', dispatch, priority: 0 });
    expect(next).toBe(dispatch + 1);
    expect(await store.submitEvent(ref, 'b', '{}')).toBe(dispatch + 2);
  });
});

describe('folding a finished actor’s events', () => {
  async function stored(actor: string): Promise<readonly AppliedEvent[]> {
    const { rows } = await database.root.query<AppliedEvent>(
      `SELECT event_id AS id, event, encode(snapshot_digest, 'hex') AS digest FROM turnwright.actor_events
        WHERE actor_id = $1 AND revision IS NOT NULL ORDER BY revision, snapshot_digest NULLS LAST`,
      [actor],
    );
    return rows;
  }

  /** A whole life of a turn's actor, event by event. */
  async function lived(): Promise<{ readonly actor: string; readonly run: TurnRun }> {
    const run = TurnRun.started().step(calls(2)).done('tool-1-1').done('tool-1-0').step(ANSWER);
    const actor = randomUUID();
    await session.commit((builder) => {
      callRows(builder, actor, 'step-1');
      builder.lists.cancels.push({ actor, child: 'step-1' });
      builder.lists.actors.push({
        ...actorRow(actor, 0, run.history.length, 'done'),
        snapshot: run.snapshot,
      });
      for (const [index, event] of run.history.entries())
        builder.lists.events.push({ actor, ...event, revision: index + 1 });
    });
    return { actor, run };
  }

  it('RUN-09 leaves one row, which replays to the same snapshots', async () => {
    const { actor, run } = await lived();
    const before = replay(MACHINES, 'turn', 1, unfold(await stored(actor)));
    expect((await sweep()).unfolded).toBe(true);
    expect(await upkeep.compact(10)).toBe(1);
    const rows = await stored(actor);
    expect(rows).toHaveLength(1);
    expect(replay(MACHINES, 'turn', 1, unfold(rows))).toEqual(before);
    expect(before.map((step) => step.matches)).toEqual(run.history.map(() => true));
    expect(before.at(-1)?.snapshot).toBe(run.snapshot);
    expect(await sweep()).toMatchObject({ unfolded: false });
    expect(await upkeep.compact(10)).toBe(0);
    expect((await database.root.query('SELECT FROM turnwright.side_calls')).rowCount).toBe(0);
  });

  it('leaves running actors, and those with an event still to be applied, as they are', async () => {
    const { actor } = await lived();
    const { turn } = await session.accept();
    await session.commit((builder) => builder.lists.events.push(eventRow(actor, 'late', null)));
    expect(await upkeep.compact(10)).toBe(0);
    expect((await stored(actor)).length).toBeGreaterThan(1);
    expect(await stored(turn)).toHaveLength(1);
  });

  it('keeps no row of a late event behind, and still replays', async () => {
    const { actor, run } = await lived();
    await session.commit((builder) => {
      const revision = run.history.length;
      builder.lists.events.push({ ...eventRow(actor, 'late', revision), digest: null });
    });
    expect(await upkeep.compact(10)).toBe(1);
    const rows = await stored(actor);
    expect(rows).toHaveLength(1);
    expect(rows[0]?.digest).toBe(run.history.at(-1)?.digest);
    expect(replay(MACHINES, 'turn', 1, unfold(rows)).every((step) => step.matches)).toBe(true);
  });
});
