/** Clears through the handlers that production runs, over a store in memory, with a model that a test scripts. */
import { describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../../src/context/request.ts';
import type { Commit, Store } from '../../../src/db/contract.ts';
import { brokenLaw } from '../../../src/ledger/invariants.ts';
import { canonicalJson } from '../../../src/ledger/json.ts';
import { POLICIES } from '../../../src/ledger/kinds.ts';
import { clearSession } from '../../../src/runtime/clear.ts';
import { gate } from '../../support/await.ts';
import { call, configOf, type Lineage, openLineage, recordsOf, say, textOf } from '../../support/lineage.ts';

const callsWhenAsked = (request: ChatRequest) =>
  canonicalJson(request.messages.at(-1) ?? null).includes('Call it.') ? call('report') : say('That is it.');

const headOf = async ({ store, ref }: Lineage) => {
  const state = await store.loadSession(ref, null);
  if (state === null) throw new Error('the session is not there');
  return state;
};

const sound = async (lineage: Lineage) => {
  const { session } = lineage.ref;
  expect(brokenLaw({ session, records: await lineage.records() })).toBeNull();
  expect(lineage.process.errors).toEqual([]);
};

describe.each(POLICIES)('a cleared session under %s', (policy) => {
  it('LIN-02 sends nothing of before, not even that there was something, in this process or another', async () => {
    const lineage = await openLineage(configOf(policy));
    const { process, ref, engine } = lineage;
    await process.ask(ref, 'What burns at station nine?');
    await process.ask(ref, 'And at station ten?');
    await lineage.evict(ref, 1, 2, 'nine burns oil');
    await process.ask(ref, 'And at station eleven?');
    expect(await clearSession(engine, ref)).toEqual({ cleared: true, cancelled: [] });
    const view = await process.ask(ref, 'Good morning.');
    expect(view).toMatchObject({ number: 4, item: 7 });
    const here = process.sent.at(-1);
    expect(here?.messages).toHaveLength(1);
    const other = lineage.another();
    await other.ask(ref, 'Good evening.');
    const there = textOf(other.sent.at(-1));
    expect(there).toContain('Good morning.');
    for (const sent of [textOf(here), there])
      for (const word of ['station', 'evicted', 'oil', 'Answer 1.', 'recall {', 'transcript {'])
        expect(sent).not.toContain(word);
    await sound(lineage);
  });

  it('LIN-02 keeps its prefix and gives no number twice', async () => {
    const lineage = await openLineage(configOf(policy), callsWhenAsked);
    await lineage.process.ask(lineage.ref, 'Call it.');
    const before = (await headOf(lineage)).session;
    await clearSession(lineage.engine, lineage.ref);
    const after = (await headOf(lineage)).session;
    const { nextTurn, nextItem, nextEvidence, nextPresentation, prefix } = before;
    expect(prefix).not.toBeNull();
    expect(after).toMatchObject({ nextTurn, nextItem, nextEvidence, nextPresentation, prefix });
    expect(after.epoch).toBe(before.epoch + 1);
    await lineage.process.ask(lineage.ref, 'Call it.');
    expect((await headOf(lineage)).session.prefix).toBe(prefix);
    const [first, last] = [lineage.process.sent[0], lineage.process.sent.at(-1)];
    expect([last?.system, last?.tools]).toEqual([first?.system, first?.tools]);
    expect(await lineage.store.evidenceIds(lineage.ref, 9)).toEqual(['e2']);
    await sound(lineage);
  });

  it('LIN-02 recalls nothing of before, by number, by id, by words or by evidence', async () => {
    const lineage = await openLineage(configOf(policy), callsWhenAsked);
    const { process, ref } = lineage;
    const { turnId: before } = await process.ask(ref, 'Call it.');
    await clearSession(lineage.engine, ref);
    const { turnId } = await process.ask(ref, 'Good morning.');
    const memory = await process.memory(ref, turnId);
    expect(await memory.turn({ number: 1 })).toBeNull();
    expect(await memory.turn({ id: before })).toBeNull();
    expect(await memory.search('burns oil report', 9)).toEqual([]);
    expect(await memory.evidence('e1')).toBeNull();
  });
});

describe('a clear', () => {
  it('LIN-02 cancels what runs and what waits, and no turn of them begins', async () => {
    const lineage = await openLineage(configOf('plan'), callsWhenAsked);
    const { process, ref } = lineage;
    const running = await process.accept(ref, 'Call it.');
    const waiting = [await process.accept(ref, 'Call it again.'), await process.accept(ref, 'And again.')];
    await process.run(({ pool }) => pool === 'tool');
    expect(await clearSession(lineage.engine, ref)).toEqual({
      cleared: true,
      cancelled: [running, ...waiting],
    });
    await process.run();
    for (const turn of [running, ...waiting])
      expect((await process.view(ref, turn)).closed).toMatchObject({ outcome: 'cancelled' });
    const begun = (await lineage.records()).filter(({ kind }) => kind === 'turn-context');
    expect(begun.map(({ turnId }) => turnId)).toEqual([running]);
    expect(await process.ask(ref, 'Good morning.')).toMatchObject({ number: 4 });
    await sound(lineage);
  });

  it('LIN-02 of an empty head writes nothing, and a second one neither', async () => {
    const lineage = await openLineage(configOf('plan'));
    const fresh = await lineage.records();
    expect(await clearSession(lineage.engine, lineage.ref)).toEqual({ cleared: false, cancelled: [] });
    expect(await lineage.records()).toEqual(fresh);
    await lineage.process.ask(lineage.ref, 'Good morning.');
    await clearSession(lineage.engine, lineage.ref);
    const cleared = await lineage.records();
    expect(await clearSession(lineage.engine, lineage.ref)).toEqual({ cleared: false, cancelled: [] });
    expect(await lineage.records()).toEqual(cleared);
  });

  it.each([
    ['tool', 'Call it.'],
    ['step', 'Good morning.'],
  ])(
    'LIN-02 fault 20: a result of a %s that comes after it is kept as forensic and changes nothing',
    async (pool, text) => {
      const lineage = await openLineage(configOf('evict'), callsWhenAsked);
      const { process, ref } = lineage;
      const before = await process.ask(ref, 'Good day.');
      const turn = await process.accept(ref, text);
      await process.run((job) => job.pool === pool);
      const [job] = process.waiting;
      if (job === undefined) throw new Error(`no job of the pool ${pool} waits`);
      const finish = await claimed(lineage, job);
      await clearSession(lineage.engine, ref);
      const cleared = await lineage.records();
      const empty = await toPlan(lineage);
      await finish();
      const later = (await lineage.records()).slice(cleared.length);
      expect(later.every((record) => record.class === 'forensic')).toBe(true);
      expect(later.map(({ kind }) => kind)).toContain('late-result');
      expect(await toPlan(lineage)).toEqual(empty);
      expect((await process.view(ref, turn)).closed?.outcome).toBe('cancelled');
      const view = await process.ask(ref, 'Good evening.');
      expect(view.number).toBe(before.number + 2);
      expect(process.sent.at(-1)?.messages).toHaveLength(1);
      await sound(lineage);
    },
  );

  it('LIN-02 fault 23: jobs that are handed over again after it do nothing', async () => {
    const lineage = await openLineage(configOf('plan'), callsWhenAsked);
    const { process, ref } = lineage;
    await process.accept(ref, 'Call it.');
    await process.run(({ pool }) => pool === 'tool');
    const jobs = [...process.waiting];
    expect(jobs).not.toEqual([]);
    await process.run();
    await clearSession(lineage.engine, ref);
    const cleared = await lineage.records();
    const stored = async () => {
      const { events = [], ...rest } = (await lineage.store.sessionState(ref)) ?? {};
      return { ...rest, events: events.map((event) => ({ ...event, receivedInMs: 0 })) };
    };
    const before = await stored();
    for (const job of [...jobs, ...jobs]) await process.perform(job);
    expect(await lineage.records()).toEqual(cleared);
    expect(await stored()).toEqual(before);
    await sound(lineage);
  });

  it('LIN-02 begins anew where a turn is accepted meanwhile, and cancels that one too', async () => {
    const lineage = await openLineage(configOf('plan'));
    const { process, ref } = lineage;
    await process.ask(ref, 'Good day.');
    let accepted: string | null = null;
    const racing = beforeClear(lineage.store, async () => {
      accepted ??= await process.accept(ref, 'Good morning.');
    });
    const cleared = await clearSession(lineage.engineOver(racing), ref);
    expect(accepted).not.toBeNull();
    expect(cleared).toEqual({ cleared: true, cancelled: [accepted] });
    expect((await headOf(lineage)).openTurn).toBeNull();
    expect((await lineage.records()).filter(({ kind }) => kind === 'cleared')).toHaveLength(1);
    await sound(lineage);
  });

  it('LIN-02 leaves forks made before as they are, and one of a fork leaves the other alone', async () => {
    const lineage = await openLineage(configOf('evict'));
    const { process, ref } = lineage;
    await process.ask(ref, 'What burns at station nine?');
    const [child, other] = [await lineage.fork(), await lineage.fork()];
    await clearSession(lineage.engine, ref);
    await process.ask(child, 'And now?');
    expect(lineage.lastSent()).toContain('station nine');
    expect(await clearSession(lineage.engine, child)).toMatchObject({ cleared: true });
    await process.ask(child, 'And then?');
    expect(lineage.lastSent()).not.toContain('station nine');
    await lineage.another().ask(other, 'Still?');
    await process.ask(other, 'Still here?');
    expect(lineage.lastSent()).toContain('station nine');
    const before = await recordsOf(lineage.store, other);
    await clearSession(lineage.engine, ref);
    expect(await recordsOf(lineage.store, other)).toEqual(before);
  });
});

/** A fork that was cleared before it said anything has something to clear: what it went on from. */
it('LIN-02 a fork that said nothing yet is not empty', async () => {
  const lineage = await openLineage(configOf('plan'));
  await lineage.process.ask(lineage.ref, 'Good morning.');
  const child = await lineage.fork();
  expect(await clearSession(lineage.engine, child)).toMatchObject({ cleared: true });
  expect(await clearSession(lineage.engine, child)).toMatchObject({ cleared: false });
});

async function toPlan(lineage: Lineage) {
  const { session } = await headOf(lineage);
  return lineage.store.toPlan(lineage.ref, session.liveHead, { turn: 0, recordSeq: 0 });
}

/** Runs the job up to the moment where its result would be written; the answer lets it go on. */
async function claimed(lineage: Lineage, job: Lineage['process']['waiting'][number]) {
  const [reached, freed] = [gate(), gate()];
  const held = atApply(lineage.store, async () => {
    reached.open();
    await freed.opened;
  });
  const worker = lineage.processOver(held);
  const done = worker.perform(job);
  await reached.opened;
  return async () => {
    freed.open();
    await done;
    expect(worker.errors).toEqual([]);
  };
}

function beforeClear(store: Store, work: () => Promise<void>): Store {
  return atApply(store, async (commit) => {
    if (commit.cleared.length > 0) await work();
  });
}

function atApply(store: Store, work: (commit: Commit) => Promise<void>): Store {
  const apply: Store['apply'] = async (commit) => {
    await work(commit);
    return store.apply(commit);
  };
  return new Proxy(store, {
    get: (of, name) => {
      if (name === 'apply') return apply;
      const member: unknown = Reflect.get(of, name);
      return typeof member === 'function' ? member.bind(of) : member;
    },
  });
}
