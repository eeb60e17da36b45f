/** What every upkeep store must do across tenants, whatever it keeps its rows in. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type {
  ActorRef,
  HandOver,
  Restoration,
  SessionRef,
  SessionState,
  Store,
  UpkeepStore,
} from '../../src/db/contract.ts';
import { blake3Hex } from '../../src/ledger/chain.ts';
import { MACHINES } from '../../src/machines/registry.ts';
import { type AppliedEvent, replay, unfold } from '../../src/runtime/replay.ts';
import { ANSWER, calls, TurnRun } from '../unit/machines/turn-run.ts';
import {
  actorRow,
  callRows,
  eventRow,
  NOTHING,
  SessionUnderTest,
  settling,
  TERMS,
  TOKEN,
  type Turn,
} from './session-under-test.ts';
import type { OutboxPeek } from './store.suite.ts';

export interface UpkeepUnderTest {
  /** Both over one database that holds no work and no worker, so that a test counts its own. */
  empty(): Promise<{ readonly store: Store; readonly upkeep: UpkeepStore }>;
  newTenant(): Promise<string>;
  /** Lets so much time pass for all that is stored. */
  elapse(ms: number): Promise<void>;
  /** Does `work` while another process sweeps, or admits to the pool. */
  during<T>(other: 'sweep' | `admit ${string}`, work: () => Promise<T>): Promise<T>;
  outbox(ref: SessionRef): Promise<readonly OutboxPeek[]>;
  /** In the order they were applied. */
  appliedEvents(ref: ActorRef): Promise<readonly AppliedEvent[]>;
  /** The calls that are stored, whatever became of them. */
  children(ref: ActorRef): Promise<readonly string[]>;
  workers(): Promise<readonly string[]>;
  close(): Promise<void>;
}

const LEASE_MS = 60_000;
const LIMITS = { leaseMs: LEASE_MS, readmitMs: 40_000 };
/** Of a stored time in ms, and of what a statement takes. */
const ROUNDING_MS = 1;
const SLOW_MS = 30_000;
/** Of a drain: later than any here. */
const ANY_DISPATCH = 1_000;

/** `makeUpkeep` gives one database to the suite, which is emptied for every test. */
export function upkeepSuite(name: string, makeUpkeep: () => Promise<UpkeepUnderTest>): void {
  describe(`upkeep: ${name}`, () => {
    let under: UpkeepUnderTest;
    let store: Store;
    let upkeep: UpkeepStore;
    let session: SessionUnderTest;

    beforeAll(async () => {
      under = await makeUpkeep();
    });
    afterAll(() => under.close());
    beforeEach(async () => {
      ({ store, upkeep } = await under.empty());
      session = await SessionUnderTest.open(store, await under.newTenant());
    });

    async function beat(
      id: string = randomUUID(),
      pools: Record<string, number> = { step: 2 },
    ): Promise<string> {
      await upkeep.beat({ id, host: 'here', pid: 1, pools });
      return id;
    }

    /** What one admitter gets that nobody disturbs. */
    async function admit(pool: string, limit = 10): Promise<readonly HandOver[]> {
      const rows = await upkeep.admit(pool, limit);
      if (rows === null) throw new Error('somebody else admits');
      return rows;
    }

    async function sweep() {
      const result = await upkeep.sweep(LIMITS);
      if (result === null) throw new Error('somebody else sweeps');
      return result;
    }

    const refOf = (actor: string): ActorRef => ({ ...session.ref, actor });
    const drained = (turn: string) => store.drain(refOf(turn), ANY_DISPATCH);
    const poolState = async (pool: string) =>
      (await upkeep.poolState(LEASE_MS)).find((state) => state.pool === pool);

    /** A turn whose call runs on a worker that has beaten. */
    async function running(child = 'step-1') {
      const worker = await beat();
      const { turn } = await session.accept({ child });
      const { call } = await session.claim(turn, child, 1, worker);
      return { worker, turn, fence: call.fence };
    }

    describe('a worker and its lease', () => {
      it('RUN-04 holds its calls as long as it beats, and not once the lease ran out', async () => {
        const { worker, turn } = await running();
        await under.elapse(LEASE_MS - 5_000);
        await beat(worker);
        await under.elapse(LEASE_MS - 5_000);
        expect((await sweep()).taken).toBe(0);
        await under.elapse(6_000);
        expect((await sweep()).taken).toBe(1);
        expect(await admit('step')).toMatchObject([{ actor: turn, child: 'step-1', dispatch: 2 }]);
      });

      it('RUN-04 has its calls taken over once, under a new dispatch, a new fence and the same attempt', async () => {
        const { turn, fence } = await running();
        await under.elapse(LEASE_MS + 1_000);
        expect((await sweep()).taken).toBe(1);
        expect((await sweep()).taken).toBe(0);
        expect(await store.claim(session.callOf(turn), randomUUID(), TOKEN, NOTHING)).toBeNull();
        const taken = await session.claim(turn, 'step-1', 2);
        expect(taken.call).toMatchObject({ fence: fence + 1, dispatch: 2, attempt: 1, deaths: 1 });
      });

      it('RUN-03 of a call taken over writes nothing any more, before the next claim and after it', async () => {
        const { turn, fence } = await running();
        await under.elapse(LEASE_MS + 1_000);
        await sweep();
        const late = () =>
          session.build((builder) => {
            builder.settle = settling(turn, 'step-1', fence, 'done');
          });
        expect(await store.apply(await late())).toBe('superseded');
        expect(await store.markStarted(session.callOf(turn), { fence: fence, token: TOKEN })).toBe(false);
        await session.claim(turn, 'step-1', 2, await beat());
        expect(await store.apply(await late())).toBe('superseded');
        expect(await store.markStarted(session.callOf(turn), { fence: fence, token: TOKEN })).toBe(false);
      });

      it('RUN-04 loses its calls when it retires, or never beat', async () => {
        const { worker, turn } = await running();
        await upkeep.retire(worker);
        expect((await sweep()).taken).toBe(1);
        await session.claim(turn, 'step-1', 2, randomUUID());
        expect((await sweep()).taken).toBe(1);
        expect((await session.claim(turn, 'step-1', 3)).call.fence).toBe(3);
      });

      it('RUN-04 loses none of the calls that were not running', async () => {
        const { worker, turn, fence } = await running();
        await session.commit((builder) => {
          builder.settle = settling(turn, 'step-1', fence, 'done');
          callRows(builder, turn, 'tool-1-0');
          callRows(builder, turn, 'tool-1-1');
        });
        await session.claim(turn, 'tool-1-0', 1, worker);
        await session.commit((builder) => builder.lists.cancels.push({ actor: turn, child: 'tool-1-0' }));
        await upkeep.retire(worker);
        expect((await sweep()).taken).toBe(0);
        expect((await under.outbox(session.ref)).map(({ child }) => child)).toEqual(['tool-1-1']);
      });

      it('is forgotten long after it died, and not while a call names it', async () => {
        const idle = await beat();
        const { worker, turn, fence } = await running();
        await under.elapse(11 * LEASE_MS);
        const fresh = await beat();
        expect([...(await under.workers())].sort()).toEqual([idle, worker, fresh].sort());
        await sweep();
        expect(await under.workers()).toEqual([fresh]);
        expect(await store.markStarted(session.callOf(turn), { fence: fence, token: TOKEN })).toBe(false);
        await upkeep.retire(fresh);
        expect(await under.workers()).toEqual([]);
      });
    });

    describe('a worker and the rows that name it', () => {
      const NOTHING = { held: [], old: [] };

      it('RUN-04 hands out again a call whose claim never reached the worker, after a lease, and no other', async () => {
        const { worker, turn } = await running();
        expect(await upkeep.reconcile(worker, NOTHING, LEASE_MS)).toEqual([]);
        expect(await admit('step')).toEqual([]);
        await under.elapse(LEASE_MS + 1_000);
        await upkeep.reconcile(worker, { held: [`${turn}~step-1`], old: [] }, LEASE_MS);
        await upkeep.reconcile(randomUUID(), NOTHING, LEASE_MS);
        expect(await admit('step')).toEqual([]);
        const given = { held: [], old: [`${turn}~step-1`] };
        expect(await upkeep.reconcile(worker, given, LEASE_MS)).toEqual(given.old);
        expect(await admit('step')).toMatchObject([{ actor: turn, child: 'step-1', dispatch: 2 }]);
        await upkeep.reconcile(worker, NOTHING, LEASE_MS);
        expect(await admit('step')).toEqual([]);
        expect((await session.claim(turn, 'step-1', 2)).call).toMatchObject({
          fence: 2,
          attempt: 1,
          deaths: 1,
        });
      });

      it('RUN-06 names the old calls that are no longer the worker’s own, so that it aborts them', async () => {
        const { worker, turn } = await running();
        const call = `${turn}~step-1`;
        const mine = { held: [call], old: [call] };
        expect(await upkeep.reconcile(worker, mine, LEASE_MS)).toEqual([]);
        expect(await upkeep.reconcile(randomUUID(), mine, LEASE_MS)).toEqual([call]);
        await session.commit((builder) => builder.lists.cancels.push({ actor: turn, child: 'step-1' }));
        expect(await upkeep.reconcile(worker, mine, LEASE_MS)).toEqual([call]);
        expect(await upkeep.reconcile(worker, { held: [call], old: [] }, LEASE_MS)).toEqual([]);
      });
    });

    describe('timers', () => {
      const DEADLINE = '{"type":"turn.deadline"}';

      async function set(turn: string, revision: number, delayMs: number, timer = 'deadline'): Promise<void> {
        await session.commit((builder) =>
          builder.lists.timers.push({ actor: turn, timer, event: DEADLINE, revision, delayMs }),
        );
      }

      it('RUN-07 fire once past their time, as an event that wakes its actor', async () => {
        const { turn } = await session.accept();
        await set(turn, 1, 60_000);
        await under.elapse(50_000);
        expect(await sweep()).toMatchObject({ fired: 0, drains: 0 });
        await under.elapse(11_000);
        expect(await sweep()).toMatchObject({ fired: 1, drains: 1 });
        expect(await sweep()).toMatchObject({ fired: 0, drains: 0 });
        expect(await upkeep.nextDueMs()).toBeNull();
        expect(await admit('turn')).toMatchObject([{ actor: turn, child: 'drain' }]);
        expect(await drained(turn)).toEqual([{ id: 'timer.deadline.1', event: DEADLINE }]);
      });

      it('RUN-07 fire for the revision that set them last, and not when they were cleared', async () => {
        const { turn } = await session.accept();
        await set(turn, 1, 10_000);
        await set(turn, 2, 30_000);
        await set(turn, 1, 10_000, 'waited');
        await session.commit((builder) => builder.lists.clearedTimers.push({ actor: turn, timer: 'waited' }));
        await under.elapse(20_000);
        expect((await sweep()).fired).toBe(0);
        await under.elapse(11_000);
        expect((await sweep()).fired).toBe(1);
        expect((await drained(turn)).map(({ id }) => id)).toEqual(['timer.deadline.2']);
      });

      it('RUN-03 set again by the same revision leave the event that was applied as it is', async () => {
        const { turn } = await session.accept();
        await set(turn, 1, 0);
        await under.elapse(1);
        expect((await sweep()).fired).toBe(1);
        await session.commit((builder) => {
          builder.lists.actors.push(actorRow(turn, 1, 2));
          builder.lists.events.push(eventRow(turn, 'timer.deadline.1', 2));
        });
        await drained(turn);
        await set(turn, 1, 0);
        await under.elapse(1);
        expect(await sweep()).toMatchObject({ fired: 0, drains: 0 });
        expect(await drained(turn)).toEqual([]);
      });
    });

    describe('events that wait', () => {
      it('RUN-05 have a drain asked for again, one an actor, and none while one stands', async () => {
        const { turn } = await session.accept();
        await store.submitEvent(refOf(turn), 'a', '{"type":"a"}');
        await store.submitEvent(refOf(turn), 'b', '{"type":"b"}');
        expect((await sweep()).drains).toBe(0);
        expect((await drained(turn)).map(({ id }) => id)).toEqual(['a', 'b']);
        expect((await sweep()).drains).toBe(1);
        expect((await sweep()).drains).toBe(0);
        expect(await under.outbox(session.ref)).toMatchObject([
          { child: 'drain', dispatch: 3, pool: 'turn', admitted: false, due: true },
        ]);
        expect(await drained(turn)).toHaveLength(2);
        await session.commit((builder) => {
          builder.lists.actors.push(actorRow(turn, 1, 2));
          builder.lists.events.push(eventRow(turn, 'a', 2), { ...eventRow(turn, 'b', 2), digest: null });
        });
        expect((await sweep()).drains).toBe(0);
      });

      it('RUN-03 wake no actor that has ended: they count as seen, and its events can be folded', async () => {
        const { turn } = await session.accept();
        await store.submitEvent(refOf(turn), 'a', '{"type":"a"}');
        await drained(turn);
        await session.commit((builder) => builder.lists.actors.push(actorRow(turn, 1, 2, 'done')));
        expect(await upkeep.compact(10)).toBe(0);
        expect(await sweep()).toMatchObject({ drains: 0, unfolded: true });
        expect(await drained(turn)).toEqual([]);
        expect(await upkeep.compact(10)).toBe(1);
      });
    });

    describe('sessions that a turn made', () => {
      const CANCEL = [{ id: 'cancel', event: '{"type":"turn.cancel","reason":"parent_ended"}' }];
      const childOf = ({ ref }: SessionUnderTest, { turn }: Turn) =>
        SessionUnderTest.open(store, ref.tenant, { session: ref.session, turn });
      const pending = ({ ref }: SessionUnderTest, { turn }: Turn) =>
        store.drain({ ...ref, actor: turn }, ANY_DISPATCH);

      it('LIN-04 have their first turn cancelled once the turn that made them has closed, and no other', async () => {
        const [parent, other] = [await session.accept(), await session.accept()];
        const [child, kept] = [await childOf(session, parent), await childOf(session, other)];
        const [first, own, apart] = [await child.accept(), await child.accept(), await kept.accept()];
        const below = await childOf(child, first);
        const deep = await below.accept();
        expect((await sweep()).drains).toBe(0);
        await session.close(parent.turn);
        expect((await sweep()).drains).toBe(1);
        expect(await pending(child, first)).toEqual(CANCEL);
        for (const [of, turn] of [
          [child, own],
          [kept, apart],
          [below, deep],
          [session, other],
        ] as const)
          expect(await pending(of, turn)).toEqual([]);
        await child.close(first.turn);
        await sweep();
        expect(await pending(below, deep)).toEqual(CANCEL);
        expect(await pending(child, own)).toEqual([]);
      });

      it('LIN-04 are told once, and not at all where they ended before', async () => {
        const parent = await session.accept();
        const [child, early] = [await childOf(session, parent), await childOf(session, parent)];
        const [turn, ended] = [await child.accept(), await early.accept()];
        await early.close(ended.turn);
        await session.close(parent.turn);
        await sweep();
        expect(await pending(child, turn)).toEqual(CANCEL);
        expect(await pending(early, ended)).toEqual([]);
        await child.commit((builder) => {
          builder.lists.actors.push(actorRow(turn.turn, 1, 2));
          builder.lists.events.push(eventRow(turn.turn, 'cancel', 2));
        });
        expect((await sweep()).drains).toBe(0);
        expect(await pending(child, turn)).toEqual([]);
      });

      it('LIN-04 a child that came after its parent closed is cancelled as well', async () => {
        const parent = await session.accept();
        await session.close(parent.turn);
        const child = await childOf(session, parent);
        expect((await sweep()).drains).toBe(0);
        const turn = await child.accept();
        expect((await sweep()).drains).toBe(1);
        expect(await pending(child, turn)).toEqual(CANCEL);
      });

      it('LIN-04 keep the turn that made them beside their records', async () => {
        const parent = { session: session.ref.session, turn: (await session.accept()).turn };
        const child = await SessionUnderTest.open(store, session.ref.tenant, parent);
        expect((await store.sessionState(child.ref))?.session.parent).toEqual(parent);
        expect((await store.sessionState(session.ref))?.session.parent).toBeNull();
      });
    });

    describe('rows the queue was given', () => {
      it('RUN-05 are listed when no worker claimed them for long, the oldest first, until one does', async () => {
        const first = await session.accept({ child: 'step-1', priority: 3 });
        await admit('step');
        await under.elapse(LIMITS.readmitMs - 5_000);
        const second = await session.accept({ child: 'step-1' });
        await admit('step');
        expect((await sweep()).unclaimed).toEqual([]);
        await under.elapse(6_000);
        const [row, ...others] = (await sweep()).unclaimed;
        const { heldMs, ...told } = row ?? { heldMs: 0 };
        const wanted = { ...session.callOf(first.turn), pool: 'step', priority: 3 };
        expect(told).toEqual(wanted);
        expect(others).toEqual([]);
        expect(heldMs).toBeGreaterThanOrEqual(LIMITS.readmitMs + 1_000 - ROUNDING_MS);
        expect(heldMs).toBeLessThan(LIMITS.readmitMs + SLOW_MS);
        await under.elapse(LIMITS.readmitMs);
        expect((await sweep()).unclaimed.map(({ actor }) => actor)).toEqual([first.turn, second.turn]);
        await session.claim(first.turn);
        expect((await sweep()).unclaimed.map(({ actor }) => actor)).toEqual([second.turn]);
      });

      it('RUN-05 are not listed while they are held back, however long', async () => {
        await session.accept({ child: 'step-1' });
        await under.elapse(10 * LIMITS.readmitMs);
        expect((await sweep()).unclaimed).toEqual([]);
      });
    });

    it('sweeps in one process at a time', async () => {
      expect(await under.during('sweep', () => upkeep.sweep(LIMITS))).toBeNull();
      expect(await upkeep.sweep(LIMITS)).not.toBeNull();
    });

    describe('admission', () => {
      const FLOOD = 20;

      async function flood(turns: number, priority = 0): Promise<SessionUnderTest> {
        const made = await SessionUnderTest.open(store, await under.newTenant());
        for (let i = 0; i < turns; i++) await made.accept({ child: 'step-1', priority });
        return made;
      }

      const tenants = (rows: readonly HandOver[]) => rows.map(({ tenant }) => tenant);

      it('RUN-10 goes by priority and then by age inside a tenant', async () => {
        const accepted: Turn[] = [];
        for (const priority of [5, 0, 5, 1, 0])
          accepted.push(await session.accept({ child: 'step-1', priority }));
        const order = [1, 4, 3, 0, 2].map((place) => accepted[place]?.turn);
        const [first, then] = [await admit('step', 3), await admit('step', 3)];
        expect([...first, ...then].map(({ actor }) => actor)).toEqual(order);
        expect(first[2]).toEqual({ ...session.callOf(accepted[3]?.turn ?? ''), priority: 1 });
      });

      it('RUN-10 lets tenants take turns: of a flood another tenant’s first comes within the first two', async () => {
        const flooding = await flood(FLOOD);
        const quiet = await flood(1);
        const third = await flood(2);
        const rows = await admit('step', 7);
        const counts = [flooding, quiet, third].map(
          (one) => tenants(rows).filter((tenant) => tenant === one.ref.tenant).length,
        );
        expect(counts).toEqual([4, 1, 2]);
        expect(new Set(tenants(rows).slice(0, 3)).size).toBe(3);
      });

      it('hands a row over once, and none before its time or of another pool', async () => {
        await flood(3);
        const { turn } = await session.accept({ child: 'step-1' });
        await session.claim(turn);
        await session.commit((builder) => {
          const row = {
            actor: turn,
            child: 'step-1',
            dispatch: 2,
            pool: 'step',
            priority: 0,
            admitted: false,
          };
          builder.lists.outbox.push({ ...row, delayMs: 60_000 });
        });
        expect(await admit('tool')).toEqual([]);
        expect(await admit('step', 2)).toHaveLength(2);
        expect(await admit('step')).toHaveLength(1);
        expect(await admit('step')).toEqual([]);
        await under.elapse(61_000);
        expect(await admit('step')).toMatchObject([{ actor: turn, dispatch: 2 }]);
      });

      it('leaves to the committing process what it hands over itself', async () => {
        const { turn } = await session.accept();
        await session.commit((builder) => {
          callRows(builder, turn, 'step-1');
          const [row] = builder.lists.outbox.splice(0);
          if (row !== undefined) builder.lists.outbox.push({ ...row, admitted: true });
        });
        expect(await admit('step')).toEqual([]);
        await under.elapse(LIMITS.readmitMs + 1_000);
        expect((await sweep()).unclaimed).toMatchObject([{ actor: turn, child: 'step-1', dispatch: 1 }]);
      });

      it('RUN-10 hands out no more than the rules leave room for in the queue, and none to a pool without workers', async () => {
        const rules = { leaseMs: LEASE_MS, perSlot: 2, tenantShare: 1, tenantRunning: null };
        await flood(6);
        expect(await upkeep.admit('step', 10, rules)).toBeNull();
        await beat(randomUUID(), { step: 2 });
        const first = await upkeep.admit('step', 10, rules);
        expect(first).toHaveLength(4);
        expect(await upkeep.admit('step', 10, rules)).toBeNull();
        const [claimed] = first ?? [];
        if (claimed === undefined) throw new Error('nothing was admitted');
        await store.claim(claimed, randomUUID(), TOKEN, NOTHING);
        expect(await upkeep.admit('step', 10, rules)).toHaveLength(1);
      });

      it('RUN-10 lets no tenant have more calls in the queue and running than its limit', async () => {
        const rules = { leaseMs: LEASE_MS, perSlot: 10, tenantShare: 1, tenantRunning: 3 };
        await beat(randomUUID(), { step: 2 });
        const [many, few] = [await flood(6), await flood(2)];
        const counted = (rows: readonly HandOver[] | null) =>
          [many, few].map((one) => tenants(rows ?? []).filter((tenant) => tenant === one.ref.tenant).length);
        const first = await upkeep.admit('step', 10, rules);
        expect(counted(first)).toEqual([3, 2]);
        for (const row of first ?? []) await store.claim(row, randomUUID(), TOKEN, NOTHING);
        expect(await upkeep.admit('step', 10, rules)).toEqual([]);
        const done = first?.find(({ tenant }) => tenant === many.ref.tenant)?.actor ?? '';
        await many.commit((builder) => {
          builder.settle = settling(done, 'step-1', 1, 'done');
        });
        expect(counted(await upkeep.admit('step', 10, rules))).toEqual([1, 0]);
      });

      it('RUN-03 never hands one row to two admitters', async () => {
        await flood(FLOOD);
        const taken = await Promise.all([1, 2, 3, 4].map(() => upkeep.admit('step', 6)));
        const rows = taken.flatMap((batch) => batch ?? []);
        expect(new Set(rows.map(({ actor }) => actor)).size).toBe(rows.length);
        expect(rows.length).toBeGreaterThanOrEqual(6);
      });

      it('has one admitter a pool at a time, and pools do not wait for each other', async () => {
        await flood(1);
        const { turn } = await session.accept({ child: 'tool-1-0' });
        const [step, tool] = await under.during('admit step', async () => [
          await upkeep.admit('step', 10),
          await upkeep.admit('tool', 10),
        ]);
        expect(step).toBeNull();
        expect(tool).toMatchObject([{ actor: turn, child: 'tool-1-0' }]);
        expect(await admit('step')).toHaveLength(1);
      });
    });

    describe('the state of a pool', () => {
      it('counts the slots of live workers, what was handed over and what is held back', async () => {
        await beat(randomUUID(), { step: 2, tool: 3 });
        const second = await beat(randomUUID(), { step: 4 });
        for (let i = 0; i < 5; i++) await session.accept({ child: 'step-1' });
        const [claimed] = await admit('step', 2);
        const held = { concurrency: 6, admitted: 2, backlog: 3 };
        expect(await poolState('step')).toMatchObject(held);
        expect(await poolState('tool')).toMatchObject({
          concurrency: 3,
          admitted: 0,
          backlog: 0,
          oldestSeconds: 0,
        });
        expect(await poolState('probe')).toBeUndefined();
        await session.claim(claimed?.actor ?? '');
        expect(await poolState('step')).toMatchObject({ ...held, admitted: 1 });
        await beat(second, { step: 1 });
        expect((await poolState('step'))?.concurrency).toBe(3);
        await upkeep.retire(second);
        expect((await poolState('step'))?.concurrency).toBe(2);
        await under.elapse(LEASE_MS + 1_000);
        expect(await poolState('step')).toMatchObject({ concurrency: 0, admitted: 1, backlog: 3 });
        expect(await poolState('tool')).toBeUndefined();
      });

      it('says uncounted only whether anything is held back whose time has come', async () => {
        const uncounted = async () =>
          (await upkeep.poolState(LEASE_MS, false)).find(({ pool }) => pool === 'step');
        await beat();
        expect(await uncounted()).toMatchObject({ concurrency: 2, admitted: 0, backlog: 0 });
        for (let i = 0; i < 3; i++) await session.accept({ child: 'step-1' });
        await under.elapse(1_000);
        const room = { pool: 'step', concurrency: 2, delayed: 0, oldestSeconds: 0 };
        expect(await uncounted()).toEqual({ ...room, admitted: 0, backlog: 1 });
        await admit('step', 2);
        expect(await uncounted()).toEqual({ ...room, admitted: 2, backlog: 1 });
        await admit('step', 2);
        expect(await uncounted()).toEqual({ ...room, admitted: 3, backlog: 0 });
      });

      it('tells the age of the oldest row, and counts none whose time has not come', async () => {
        const { turn } = await session.accept({ child: 'step-1' });
        await session.claim(turn);
        await session.commit((builder) => {
          const row = {
            actor: turn,
            child: 'step-1',
            dispatch: 2,
            pool: 'step',
            priority: 0,
            admitted: false,
          };
          builder.lists.outbox.push({ ...row, delayMs: 20_000 });
        });
        expect(await poolState('step')).toMatchObject({
          admitted: 0,
          backlog: 0,
          delayed: 1,
          oldestSeconds: 0,
        });
        await under.elapse(50_000);
        const state = await poolState('step');
        expect(state).toMatchObject({ admitted: 0, backlog: 1, delayed: 0 });
        expect(state?.oldestSeconds).toBeGreaterThanOrEqual(30 - ROUNDING_MS / 1_000);
        expect(state?.oldestSeconds).toBeLessThan(30 + SLOW_MS / 1_000);
      });
    });

    it('RUN-07 tells how long until the next held-back row or timer falls due', async () => {
      const dueMs = () => upkeep.nextDueMs();
      const within = async (most: number) => {
        const ms = await dueMs();
        expect(ms).toBeLessThanOrEqual(most + ROUNDING_MS);
        expect(ms).toBeGreaterThan(most - SLOW_MS);
      };
      const { turn } = await session.accept({ child: 'step-1' });
      expect(await dueMs()).toBeNull();
      await session.claim(turn);
      const row = { actor: turn, child: 'step-1', dispatch: 2, pool: 'step', priority: 0, admitted: false };
      await session.commit((builder) => builder.lists.outbox.push({ ...row, delayMs: 200_000 }));
      await within(200_000);
      const timer = { actor: turn, timer: 'deadline', event: '{}', revision: 1 };
      await session.commit((builder) => builder.lists.timers.push({ ...timer, delayMs: 100_000 }));
      await within(100_000);
      await session.commit((builder) => builder.lists.clearedTimers.push({ actor: turn, timer: null }));
      await within(200_000);
      await under.elapse(201_000);
      expect(await dueMs()).toBeNull();
      expect(await admit('step')).toHaveLength(1);
    });

    describe('handing a row over again under a new number', () => {
      it('RUN-05 gives a queued call the next dispatch, once, as one the queue was given just now', async () => {
        const { turn } = await session.accept({ child: 'step-1', priority: 2 });
        const [row] = await admit('step', 1);
        if (row === undefined) throw new Error('nothing was admitted');
        await under.elapse(LIMITS.readmitMs + 1_000);
        expect((await sweep()).unclaimed).toMatchObject([{ dispatch: 1 }]);
        expect(await upkeep.redispatch(row)).toBe(2);
        expect(await upkeep.redispatch(row)).toBeNull();
        expect((await sweep()).unclaimed).toEqual([]);
        expect(await admit('step')).toEqual([]);
        expect(await store.claim(session.callOf(turn), randomUUID(), TOKEN, NOTHING)).toBeNull();
        expect((await session.claim(turn, 'step-1', 2)).call).toMatchObject({
          dispatch: 2,
          attempt: 1,
          fence: 1,
        });
        expect(await upkeep.redispatch({ ...row, dispatch: 2 })).toBeNull();
      });

      it('RUN-05 gives a drain the next number', async () => {
        const { turn } = await session.accept();
        const ref = refOf(turn);
        const dispatch = (await store.submitEvent(ref, 'a', '{}')) ?? 0;
        const drain = { ...ref, child: 'drain', dispatch, priority: 0 };
        expect(await upkeep.redispatch(drain)).toBe(dispatch + 1);
        expect(await upkeep.redispatch(drain)).toBeNull();
        expect((await under.outbox(session.ref)).map((row) => row.dispatch)).toEqual([dispatch + 1]);
        expect(await store.submitEvent(ref, 'b', '{}')).toBe(dispatch + 2);
      });
    });

    describe('folding a finished actor’s events', () => {
      /** A whole life of a turn's actor, event by event, with a call that was cancelled. */
      async function lived(): Promise<{ readonly ref: ActorRef; readonly run: TurnRun }> {
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
        return { ref: refOf(actor), run };
      }

      it('RUN-09 leaves one row, which unfolds to the same events and replays to the same snapshots', async () => {
        const { ref, run } = await lived();
        const before = await under.appliedEvents(ref);
        expect(before).toEqual(run.history);
        expect((await sweep()).unfolded).toBe(true);
        expect(await upkeep.compact(10)).toBe(1);
        const rows = await under.appliedEvents(ref);
        expect(rows).toHaveLength(1);
        expect(unfold(rows)).toEqual(before);
        const steps = replay(MACHINES, 'turn', 1, unfold(rows));
        expect(steps.map((step) => step.matches)).toEqual(run.history.map(() => true));
        expect(steps.at(-1)?.snapshot).toBe(run.snapshot);
        expect(rows[0]?.digest).toBe(run.history.at(-1)?.digest);
        expect((await sweep()).unfolded).toBe(false);
        expect(await upkeep.compact(10)).toBe(0);
      });

      it('takes the actor’s settled calls along, and leaves one that still runs', async () => {
        const { ref } = await lived();
        const { turn } = await session.accept({ child: 'step-1' });
        await session.commit((builder) => callRows(builder, turn, 'tool-1-0'));
        await session.claim(turn);
        await session.commit((builder) => builder.lists.actors.push(actorRow(turn, 1, 2, 'done')));
        expect(await under.children(ref)).toEqual(['step-1']);
        expect(await upkeep.compact(10)).toBe(2);
        expect(await under.children(ref)).toEqual([]);
        expect(await under.children(refOf(turn))).toEqual(['step-1']);
      });

      it('folds no more actors than it is told', async () => {
        for (let i = 0; i < 3; i++) await lived();
        expect([await upkeep.compact(2), await upkeep.compact(2), await upkeep.compact(2)]).toEqual([
          2, 1, 0,
        ]);
      });

      it('leaves running actors, and those with an event still to be applied, as they are', async () => {
        const { ref, run } = await lived();
        const { turn } = await session.accept();
        await session.commit((builder) => builder.lists.events.push(eventRow(ref.actor, 'late', null)));
        expect(await upkeep.compact(10)).toBe(0);
        expect(await under.appliedEvents(ref)).toHaveLength(run.history.length);
        expect(await under.appliedEvents(refOf(turn))).toHaveLength(1);
      });

      it('RUN-09 keeps no row of a late event behind, and still replays', async () => {
        const { ref, run } = await lived();
        await session.commit((builder) => {
          const revision = run.history.length;
          builder.lists.events.push({ ...eventRow(ref.actor, 'late', revision), digest: null });
        });
        expect(await upkeep.compact(10)).toBe(1);
        const rows = await under.appliedEvents(ref);
        expect(rows).toHaveLength(1);
        expect(rows[0]?.digest).toBe(run.history.at(-1)?.digest);
        expect(unfold(rows).map(({ id }) => id)).toEqual([...run.history.map(({ id }) => id), 'late']);
        expect(replay(MACHINES, 'turn', 1, unfold(rows)).every((step) => step.matches)).toBe(true);
      });
    });

    describe('projections made again', () => {
      async function stateNow(): Promise<SessionState> {
        const state = await store.sessionState(session.ref);
        if (state === null) throw new Error('the session is not there');
        return state;
      }

      /** What leaves a session as it is. */
      function restoration({
        session: row,
        heads,
        turns,
        keys,
        evidence,
        packets,
        evictions,
        segments,
        edges,
        presentations,
        prefixes,
        usage,
        vectors,
      }: SessionState): Restoration {
        const lists = {
          heads,
          turns,
          keys,
          evidence,
          packets,
          evictions,
          segments,
          edges,
          presentations,
          prefixes,
          usage,
          vectors,
        };
        const untouched = { actors: [], calls: [], surplusCalls: [], timers: [], surplusTimers: [] };
        return { ...session.ref, row, ...lists, ...untouched };
      }

      it('LED-03 stand in the place of those that stood, whole', async () => {
        const { turn } = await session.accept({ key: 'k' });
        await session.commit((builder) => {
          const seq = builder.append(session.head, {
            kind: 'tool-result',
            turnId: turn,
            body: {
              step: 1,
              index: 0,
              callId: 'c',
              name: 'grep',
              status: 'ok',
              evidence: 'e1',
              content: 'x',
              windowed: false,
            },
          });
          builder.lists.evidence.push({ ordinal: builder.takeEvidence(), seq, turn, tool: 'grep' });
          builder.lists.packets.push({ head: session.head, from: 1, to: 1, seq, bytes: 1, quality: 'model' });
          builder.lists.edges.push({ turn, ordinal: 0, kind: 'read', to: 'a.md', provenance: 'observed' });
          builder.lists.edges.push({ turn, ordinal: 1, kind: 'wrote', to: 'a.md', provenance: 'observed' });
          builder.lists.retractedEdges.push({ turn, kind: 'wrote', to: 'a.md' });
          const ordinal = builder.takePresentation();
          builder.lists.presentations.push({ ordinal, seq, turn, type: 'metric' });
          builder.lists.prefixes.push({ digest: blake3Hex('p'), seq });
          builder.lists.resets.push({ head: session.head, seq });
          builder.prefix = blake3Hex('p');
          builder.epoch = 2;
          builder.lists.heads.push({ head: session.head, openTurn: turn });
        });
        await session.close(turn);
        const right = await stateNow();
        const unlinked = { edges: [], presentations: [], prefixes: [] };
        const nothing = { heads: [], turns: [], keys: [], evidence: [], packets: [], ...unlinked };
        const numbers = { nextTurn: 9, nextEvidence: 9, nextPresentation: 9, epoch: 9, profileAt: 9 };
        const wrong = { ...right.session, leg: 'another', prefix: null, ...numbers };
        expect(await upkeep.restore({ ...restoration(right), ...nothing, row: wrong })).toBe(true);
        expect(await stateNow()).toMatchObject({ ...nothing, session: wrong });
        expect(await upkeep.restore(restoration(right))).toBe(true);
        expect(await stateNow()).toEqual({
          ...right,
          events: expect.any(Array),
          timers: expect.any(Array),
          outbox: expect.any(Array),
        });
        expect(right).toMatchObject({
          session: { prefix: blake3Hex('p'), epoch: 2, nextPresentation: 2 },
          heads: [{ reset: expect.any(Number) }],
          turns: [{ closedSeq: right.session.nextSeq - 1, terms: TERMS }],
          edges: [{ retracted: false }, { retracted: true }],
          presentations: [{ ordinal: 1 }],
          prefixes: [{ digest: blake3Hex('p') }],
        });
      });

      it('LED-03 write nothing once the ledger grew', async () => {
        const before = restoration(await stateNow());
        await session.accept({ child: 'step-1' });
        const { session: row, turns } = await stateNow();
        expect(await upkeep.restore({ ...before, surplusCalls: [] })).toBe(false);
        expect(await stateNow()).toMatchObject({ session: row, turns });
      });

      it('LED-03 mend actors, and keep what they were asked to drain', async () => {
        const { turn } = await session.accept();
        const dispatch = (await store.submitEvent(refOf(turn), 'a', '{}')) ?? 0;
        await session.commit((builder) =>
          builder.lists.actors.push({
            ...actorRow(turn, 1, 2),
            status: 'parked',
            parkedReason: 'unreadable',
          }),
        );
        const state = await stateNow();
        const actors = [{ ...actorRow(turn, 0, 7), compacted: false }];
        expect(await upkeep.restore({ ...restoration(state), actors })).toBe(true);
        const loaded = await store.load(refOf(turn));
        expect(loaded?.actor).toMatchObject({ revision: 7, status: 'active', snapshot: '{"revision":7}' });
        expect((await stateNow()).actors[0]?.parkedReason).toBeNull();
        expect((await under.outbox(session.ref)).map((row) => row.dispatch)).toEqual([dispatch]);
        expect(await store.submitEvent(refOf(turn), 'b', '{}')).toBe(dispatch + 1);
      });

      it('LED-03 hand a call over anew above every number it had, so that no earlier claim of it counts', async () => {
        const { turn, fence } = await running();
        const lost = {
          actor: turn,
          child: 'tool-1-0',
          src: 'tool',
          pool: 'tool',
          input: '{}',
          priority: 0,
          attempt: 2,
        };
        const state = await stateNow();
        expect(await upkeep.restore({ ...restoration(state), calls: [...state.calls, lost] })).toBe(true);
        const late = await session.build((builder) => {
          builder.settle = settling(turn, 'step-1', fence, 'done');
        });
        expect(await store.apply(late)).toBe('superseded');
        const [step] = await admit('step');
        const [tool] = await admit('tool');
        if (step === undefined || tool === undefined) throw new Error('a call was not handed over');
        expect(step.dispatch).toBeGreaterThan(1);
        const again = await store.claim(step, await beat(), TOKEN, NOTHING);
        expect(again?.call).toMatchObject({ child: 'step-1', attempt: 1, started: false });
        expect(again?.call.fence).toBeGreaterThan(fence + 1);
        expect((await store.claim(tool, await beat(), TOKEN, NOTHING))?.call).toMatchObject({
          attempt: 2,
          started: true,
        });
      });

      it('LED-03 cancel what no machine asks for: its call, its hand-over, its timer', async () => {
        const { turn } = await session.accept({ child: 'step-1' });
        await session.commit((builder) => {
          callRows(builder, turn, 'tool-1-0');
          for (const timer of ['deadline', 'waited'])
            builder.lists.timers.push({ actor: turn, timer, event: '{}', revision: 1, delayMs: 100_000 });
        });
        const surplusCalls = [{ actor: turn, child: 'step-1' }];
        const surplusTimers = [{ actor: turn, timer: 'deadline' }];
        const timers = [{ actor: turn, timer: 'waited', event: '{}', revision: 2, dueInMs: 50_000 }];
        const changed = { surplusCalls, surplusTimers, timers };
        expect(await upkeep.restore({ ...restoration(await stateNow()), ...changed })).toBe(true);
        expect((await store.load(refOf(turn)))?.actor.openChildren).toEqual(['tool-1-0']);
        expect(await under.outbox(session.ref)).toMatchObject([{ child: 'tool-1-0', dispatch: 1 }]);
        await under.elapse(51_000);
        expect((await sweep()).fired).toBe(1);
        expect((await drained(turn)).map(({ id }) => id)).toEqual(['timer.waited.2']);
        await under.elapse(60_000);
        expect((await sweep()).fired).toBe(0);
      });
    });
  });
}
