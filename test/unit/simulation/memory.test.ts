import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { ActorRef, SessionRef } from '../../../src/db/contract.ts';
import { brokenLaw } from '../../../src/ledger/invariants.ts';
import { jobId } from '../../../src/queues/contract.ts';
import type { CommitBuilder } from '../../../src/runtime/commit-builder.ts';
import { lineageSuite } from '../../contract/lineage.suite.ts';
import { queueBackendSuite } from '../../contract/queue.suite.ts';
import { actorRow, callRows, SessionUnderTest } from '../../contract/session-under-test.ts';
import { type StoreUnderTest, storeSuite } from '../../contract/store.suite.ts';
import { upkeepSuite } from '../../contract/upkeep.suite.ts';
import { createMemoryDatabase, type MemoryDump } from '../../simulation/memory/database.ts';
import { createMemoryQueue } from '../../simulation/memory/queue.ts';

/** A database whose clock stands still until a test moves it. */
function clockedDatabase() {
  let nowMs = Date.UTC(2026, 0, 1);
  const open = () => createMemoryDatabase({ nowMs: () => nowMs });
  let database = open();
  return {
    current: () => database,
    renew: () => {
      database = open();
      return database;
    },
    elapse: async (ms: number) => {
      nowMs += ms;
    },
    outbox: async (ref: SessionRef) =>
      ofSession(database.dump().outbox, ref).map(({ child, dispatch, pool, admittedMs, dueMs }) => ({
        child,
        dispatch,
        pool,
        admitted: admittedMs !== null,
        due: dueMs <= nowMs,
      })),
  };
}

function ofSession<Row extends SessionRef>(rows: readonly Row[], ref: SessionRef): readonly Row[] {
  return rows.filter(({ tenant, session }) => tenant === ref.tenant && session === ref.session);
}

function ofActor<Row extends ActorRef>(rows: readonly Row[], ref: ActorRef): readonly Row[] {
  return ofSession(rows, ref).filter(({ actor }) => actor === ref.actor);
}

const newTenant = async () => randomUUID();
const close = async () => {};

const openStore = async (): Promise<StoreUnderTest> => {
  const { current, outbox } = clockedDatabase();
  return {
    store: current().store(),
    newTenant,
    dump: async () => JSON.stringify(current().dump()),
    outbox,
    timers: async (ref) =>
      ofSession(current().dump().timers, ref).map(({ timer, revision }) => ({ timer, revision })),
    close,
  };
};

storeSuite('memory', openStore);
lineageSuite('memory', openStore);

upkeepSuite('memory', async () => {
  const { current, renew, elapse, outbox } = clockedDatabase();
  const dump = (): MemoryDump => current().dump();
  return {
    empty: async () => {
      const database = renew();
      return { store: database.store(), upkeep: database.upkeep() };
    },
    newTenant,
    elapse,
    during: async (other, work) => {
      const end = current().hold(other);
      return work().finally(end);
    },
    outbox,
    appliedEvents: async (ref) =>
      ofActor(dump().events, ref)
        .filter(({ revision }) => revision !== null)
        .map(({ id, event, digest }) => ({ id, event, digest })),
    children: async (ref) => ofActor(dump().calls, ref).map(({ child }) => child),
    workers: async () => dump().workers.map(({ id }) => id),
    close,
  };
});

queueBackendSuite('memory', async () => {
  const queue = createMemoryQueue();
  return {
    open: () => queue.backend(),
    openUnreachable: () => queue.backend({ away: true }),
    addRaw: async (_, pool, id, data) => queue.addRaw(pool, id, data),
    failedReason: async (_, pool, id) => queue.failedReason(pool, id),
    close,
  };
});

describe('a memory queue that is driven by hand', () => {
  function admission(child: string, priority = 0) {
    const ref = { tenant: randomUUID(), session: randomUUID(), actor: randomUUID(), child, dispatch: 1 };
    return { ref, priority };
  }

  it('RUN-13 gives out the job that is named, and the most urgent when none is', () => {
    const queue = createMemoryQueue();
    const [calm, urgent, other] = [admission('step-1', 5), admission('step-2', 1), admission('step-3', 9)];
    queue.add('step', [calm, urgent, other]);
    expect(queue.waiting('step')).toEqual([urgent.ref, calm.ref, other.ref]);
    expect(queue.take('step', jobId(other.ref))).toEqual(other.ref);
    expect(queue.take('step', jobId(other.ref))).toBeNull();
    expect(queue.take('step')).toEqual(urgent.ref);
    expect(queue.take('tool')).toBeNull();
    expect(queue.waiting('step')).toEqual([calm.ref]);
  });

  it('RUN-05 knows nothing of a lost job, whose end goes unnoticed and whose id can be added again', () => {
    const queue = createMemoryQueue();
    const [running, waiting, evicted] = [admission('step-1'), admission('step-2'), admission('step-3')];
    queue.add('step', [running, waiting, evicted]);
    queue.take('step', jobId(running.ref));
    queue.remove('step', jobId(evicted.ref));
    expect(queue.presence('step', jobId(evicted.ref))).toBe('absent');
    queue.lose();
    queue.finish('step', jobId(running.ref), 'completed');
    for (const { ref } of [running, waiting]) expect(queue.presence('step', jobId(ref))).toBe('absent');
    queue.add('step', [running]);
    expect(queue.presence('step', jobId(running.ref))).toBe('pending');
  });

  it('RUN-13 leaves a job active whose process died, and ends none that was not taken', () => {
    const queue = createMemoryQueue();
    const job = admission('step-1');
    const id = jobId(job.ref);
    queue.add('step', [job]);
    queue.finish('step', id, 'completed');
    expect(queue.presence('step', id)).toBe('pending');
    queue.take('step', id);
    queue.add('step', [job]);
    expect(queue.presence('step', id)).toBe('active');
    expect(queue.waiting('step')).toEqual([]);
  });

  it('RUN-13 keeps so many finished jobs of a pool and outcome: the id of an older one is free again', () => {
    const queue = createMemoryQueue(2);
    const jobs = [1, 2, 3, 4].map((n) => admission(`step-${n}`));
    queue.add('step', jobs);
    for (const [index, { ref }] of jobs.entries()) {
      queue.take('step', jobId(ref));
      queue.finish('step', jobId(ref), index === 0 ? 'failed' : 'completed');
    }
    const presences = jobs.map(({ ref }) => queue.presence('step', jobId(ref)));
    expect(presences).toEqual(['finished', 'absent', 'finished', 'finished']);
  });
});

describe('a memory database', () => {
  async function opened() {
    const notices: (readonly [string, string])[] = [];
    let nowMs = 0;
    const database = createMemoryDatabase({
      nowMs: () => nowMs,
      onNotify: (channel, payload) => notices.push([channel, payload]),
    });
    const session = await SessionUnderTest.open(database.store(), randomUUID());
    const elapse = (ms: number) => {
      nowMs += ms;
    };
    return { database, session, notices, elapse };
  }

  it('RUN-06 tells of a cancelled call once its commit stands, and of none that had ended', async () => {
    const { session, notices, database } = await opened();
    const { turn } = await session.accept({ child: 'step-1' });
    const cancel = (builder: CommitBuilder) => builder.lists.cancels.push({ actor: turn, child: 'step-1' });
    const stale = await session.build(cancel);
    await session.append({ kind: 'head-moved', turnId: null, body: { head: session.head } });
    expect(await database.store().apply(stale)).toBe('conflict');
    expect(notices).toEqual([]);
    await session.commit(cancel);
    await session.commit(cancel);
    expect(notices).toEqual([['turnwright_cancel', `${turn}~step-1`]]);
  });

  it('tells of commits to a session as long as somebody follows it', async () => {
    const { database, session, notices, elapse } = await opened();
    database.watch(session.ref, 1_000);
    await session.accept();
    expect((await session.headNow()).watched).toBe(true);
    elapse(1_000);
    await session.accept();
    expect((await session.headNow()).watched).toBe(false);
    expect(notices).toEqual([['turnwright_session', session.ref.session]]);
  });

  it('RUN-02 takes back all of a commit that one of its rows does not let stand', async () => {
    const { database, session } = await opened();
    const { turn } = await session.accept({ child: 'step-1' });
    const before = JSON.stringify(database.dump());
    const twice = await session.build((builder) => {
      builder.append(session.head, { kind: 'head-moved', turnId: null, body: { head: session.head } });
      builder.lists.actors.push(actorRow(turn, 1, 2));
      callRows(builder, turn, 'step-1');
    });
    await expect(database.store().apply(twice)).rejects.toThrow(/stands there already/);
    expect(JSON.stringify(database.dump())).toBe(before);
  });

  it('LED-01 dumps records that satisfy the laws of the ledger, and that later work leaves as they are', async () => {
    const { database, session } = await opened();
    const { turn } = await session.accept();
    const [dumped] = database.dump().sessions;
    expect(brokenLaw({ session: session.ref.session, records: dumped?.records ?? [] })).toBeNull();
    expect(dumped?.records.map(({ kind }) => kind)).toEqual([
      'session-created',
      'head-created',
      'turn-accepted',
    ]);
    await session.close(turn);
    expect(dumped?.records).toHaveLength(3);
    const torn = dumped?.records.filter(({ seq }) => seq !== 2) ?? [];
    expect(brokenLaw({ session: session.ref.session, records: torn })).toMatch(/^1: /u);
  });

  it('keeps the newest profile of a model, and writes only over the version that was read', async () => {
    const { database, elapse } = await opened();
    const profiles = database.profiles();
    const model = { provider: 'sim', endpointDigest: 'd', model: 'm' };
    expect(await profiles.read(model)).toBeNull();
    expect(await profiles.write({ ...model, quantisation: '' }, 'one', 0)).toBe(true);
    expect(await profiles.write({ ...model, quantisation: '' }, 'late', 0)).toBe(false);
    expect(await profiles.read(model)).toEqual({ profile: 'one', version: 1, quantisation: '' });
    elapse(1);
    expect(await profiles.write({ ...model, quantisation: 'q4' }, 'two', 0)).toBe(true);
    expect(await profiles.read(model)).toEqual({ profile: 'two', version: 1, quantisation: 'q4' });
    elapse(1);
    expect(await profiles.write({ ...model, quantisation: '' }, 'three', 1)).toBe(true);
    expect(await profiles.read(model)).toEqual({ profile: 'three', version: 2, quantisation: '' });
    expect(await profiles.read({ ...model, model: 'n' })).toBeNull();
  });
});
