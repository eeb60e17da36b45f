/** What every store must do with items, evictions, forks and clears, whatever it keeps its rows in. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '../../src/db/contract.ts';
import { blake3Hex } from '../../src/ledger/chain.ts';
import type { StoredRecord } from '../../src/ledger/verify.ts';
import { RENDERED_KINDS } from '../../src/ledger/view.ts';
import { config, NOTHING, SessionUnderTest } from './session-under-test.ts';
import type { StoreUnderTest } from './store.suite.ts';

const ALL = { from: 1, to: 1_000 };

/** `makeStore` gives one store to the suite; every test has a tenant and a session of its own. */
export function lineageSuite(name: string, makeStore: () => Promise<StoreUnderTest>): void {
  describe(`lineage: ${name}`, () => {
    let under: StoreUnderTest;
    let store: Store;
    let parent: SessionUnderTest;

    beforeAll(async () => {
      under = await makeStore();
      store = under.store;
    });
    afterAll(() => under.close());
    beforeEach(async () => {
      parent = await SessionUnderTest.open(store, await under.newTenant());
    });

    const numbersOf = async ({ ref, head }: SessionUnderTest) =>
      (await store.indexedTurns(ref, head, 0, 99)).map(({ number }) => number);
    const toPlan = ({ ref, head }: SessionUnderTest, recordSeq = 0) =>
      store.toPlan(ref, head, { turn: 0, recordSeq });
    const spans = async (session: SessionUnderTest, recordSeq = 0) =>
      (await toPlan(session, recordSeq)).evictions.map(({ seq, from, to }) => ({ seq, from, to }));
    const state = async ({ ref }: SessionUnderTest) => {
      const found = await store.sessionState(ref);
      if (found === null) throw new Error('the session is not there');
      return found;
    };
    const bodies = (records: readonly { readonly kind: string; readonly body: string }[]) =>
      records.map(({ kind, body }) => ({ kind, text: /"text":"([^"]*)"/u.exec(body)?.[1] ?? '' }));

    describe('items', () => {
      it('EVT-01 are numbered as they are written, one after the other along the session, and none twice', async () => {
        const one = await parent.accept({ text: 'one' });
        expect(await parent.begin(one.turn)).toBe(1);
        expect(await parent.say(one.turn, 'two')).toBe(2);
        const lost = await parent.build((builder) => {
          const body = { step: 2, content: [], finish: 'stop' as const };
          builder.append(parent.head, { kind: 'assistant-message', turnId: one.turn, body });
        });
        expect(await parent.say(one.turn, 'three', 2)).toBe(3);
        expect(await store.apply(lost)).toBe('conflict');
        expect((await parent.headNow()).nextItem).toBe(4);
        await parent.close(one.turn, { items: { from: 1, to: 3 } });
        const two = await parent.answered('four');
        expect(two.items).toEqual({ from: 4, to: 5 });
        const records = await store.turnRecords(parent.ref, one.turn);
        const minted = records.flatMap(({ body }) => (JSON.parse(body) as { item?: number }).item ?? []);
        expect(minted).toEqual([1, 2, 3]);
        expect((await store.indexedTurns(parent.ref, parent.head, 0, 9)).map(({ items }) => items)).toEqual([
          { from: 1, to: 3 },
          { from: 4, to: 5 },
        ]);
        expect((await state(parent)).turns).toMatchObject([
          { firstItem: 1, lastItem: 3 },
          { firstItem: 4, lastItem: 5 },
        ]);
      });

      it('EVT-02 evictions come back in the order they were made, and only those after a known record', async () => {
        await parent.answered('one');
        const { nextSeq: first } = await parent.evict(2, 2, 'kept');
        const { nextSeq: second } = await parent.evict(1, 2);
        const rows = [
          { seq: first - 1, from: 2, to: 2, note: 'kept', author: 'harness' },
          { seq: second - 1, from: 1, to: 2, note: null, author: 'harness' },
        ];
        expect((await toPlan(parent)).evictions).toEqual(rows);
        expect((await toPlan(parent, first - 1)).evictions).toEqual(rows.slice(1));
        expect((await toPlan(parent, second - 1)).evictions).toEqual([]);
        expect((await store.toPlan(parent.ref, randomUUID(), NOTHING)).evictions).toEqual([]);
        expect((await state(parent)).evictions).toEqual(rows.map((row) => ({ ...row, head: parent.head })));
      });
    });

    describe('a fork', () => {
      it('LIN-01 goes on with every number, though the one it goes on from carries nothing', async () => {
        const { turn } = await parent.answered('one');
        await parent.result(turn, 'x');
        await parent.commit((builder) => builder.takePresentation());
        await parent.clear();
        const child = await parent.fork();
        expect(await child.headNow()).toMatchObject({
          nextTurn: 2,
          nextItem: 3,
          nextEvidence: 2,
          nextPresentation: 2,
          nextSeq: 4,
          prefix: null,
          epoch: 0,
        });
        expect(await child.answered('two')).toMatchObject({ number: 2, items: { from: 3, to: 4 } });
        expect(await numbersOf(child)).toEqual([2]);
      });

      it('LIN-01 of a fork of a fork reads what each recorded before it, and nothing that came later', async () => {
        const one = await parent.answered('one');
        const child = await parent.fork();
        const later = await parent.answered('later');
        const two = await child.answered('two');
        const grandchild = await child.fork();
        await child.answered('later');
        const three = await grandchild.answered('three');
        const great = await grandchild.fork();
        const four = await great.answered('four');
        expect([one, later, two, three, four].map(({ number }) => number)).toEqual([1, 2, 2, 3, 4]);
        expect(await numbersOf(great)).toEqual([1, 2, 3, 4]);
        const line = [
          { session: parent.ref.session, ...one },
          { session: child.ref.session, ...two },
          { session: grandchild.ref.session, ...three },
          { session: great.ref.session, ...four },
        ].map(({ items: _, ...turn }) => turn);
        for (const turn of line) expect(await store.turnAt(great.ref, great.head, turn.number)).toEqual(turn);
        expect(await store.turnAt(great.ref, great.head, 5)).toBeNull();
        const closings = await store.closings(great.ref, great.head, 1, 9);
        expect(closings.map(({ body: _, ...turn }) => turn)).toEqual(line);
        expect(await store.closings(great.ref, great.head, 2, 3)).toHaveLength(2);
        const history = await store.history(great.ref, great.head, ALL, RENDERED_KINDS);
        expect(history.map(({ records }) => bodies(records)[0]?.text)).toEqual([
          'one',
          'two',
          'three',
          'four',
        ]);
        expect(await numbersOf(child)).toEqual([1, 2, 3]);
        expect(await numbersOf(parent)).toEqual([1, 2]);
      });

      it('LIN-01 names each part by who recorded it first, whatever the depth', async () => {
        await parent.answered('one');
        const child = await parent.fork();
        const grandchild = await child.fork();
        await grandchild.answered('two');
        const great = await grandchild.fork();
        const { segments } = await state(great);
        expect(segments.map(({ fromSession }) => fromSession)).toEqual(
          [parent, child, grandchild].map(({ ref }) => ref.session),
        );
        expect(segments).toMatchObject([
          { head: great.head, ordinal: 0, fromHead: parent.head, afterSeq: 0, firstTurn: 1, lastTurn: 1 },
          { ordinal: 1, fromHead: child.head, afterSeq: 0, toSeq: 3, firstTurn: 1, lastTurn: 0 },
          { ordinal: 2, fromHead: grandchild.head, firstTurn: 2, lastTurn: 2, firstItem: 3, lastItem: 4 },
        ]);
        for (const [index, from] of [parent, child, grandchild].entries()) {
          const { nextSeq, lastDigest } = await from.headNow();
          expect(segments[index]).toMatchObject({ toSeq: nextSeq - 1, digest: lastDigest });
        }
        expect((await state(great)).heads).toMatchObject([{ firstTurn: 3, clearedSeq: 0, from: null }]);
      });

      it('LIN-01 counts a turn that was open at the fork as none that closed, and reads of it what stood then', async () => {
        await parent.answered('one');
        const open = await parent.accept({ text: 'open' });
        await parent.accept({ text: 'waiting' });
        const prompt = await parent.begin(open.turn);
        await parent.say(open.turn, 'before');
        const child = await parent.fork();
        const last = await parent.say(open.turn, 'after', 2);
        await parent.close(open.turn, { items: { from: prompt, to: last } });
        expect(await numbersOf(parent)).toEqual([1, 2]);
        expect(await numbersOf(child)).toEqual([1]);
        expect(await store.closings(child.ref, child.head, 1, 9)).toHaveLength(1);
        const [, cut, ...more] = await store.history(child.ref, child.head, ALL, RENDERED_KINDS);
        expect(more).toEqual([]);
        expect(cut).toMatchObject({ number: 2, turn: open.turn });
        expect(bodies(cut?.records ?? []).map(({ kind, text }) => `${kind} ${text}`)).toEqual([
          'turn-accepted open',
          'assistant-message before',
        ]);
        expect((await child.answered('two')).number).toBe(4);
        expect(await numbersOf(child)).toEqual([1, 4]);
        expect(await store.turnAt(child.ref, child.head, 3)).toBeNull();
      });

      it('HED-01 counts turns back from the newest that began, through all of the lineage', async () => {
        const turns: number[] = [];
        for (const word of ['one', 'two']) turns.push((await parent.answered(word)).number);
        const child = await parent.fork();
        for (const word of ['three', 'four', 'five']) turns.push((await child.answered(word)).number);
        await parent.answered('of the parent alone');
        await child.accept({ text: 'waits' });
        const newestFirst = turns.toReversed();
        const back = (count: number) => store.turnsBack(child.ref, child.head, count);
        for (let count = 1; count <= 5; count++)
          expect(await back(count), `back by ${count}`).toEqual(newestFirst.slice(count - 1, count + 1));
        expect(await back(6)).toEqual([]);
        expect(await store.turnsBack(child.ref, randomUUID(), 1)).toEqual([]);
      });

      it('EVI-01 gives results and cards of its lineage by their ids: what the other gave an id to later is another', async () => {
        const { turn } = await parent.answered('one');
        const shown = (session: SessionUnderTest, of: string, title: string) =>
          session.commit((builder) => {
            const ordinal = builder.takePresentation();
            const seq = builder.append(session.head, {
              kind: 'presentation',
              turnId: of,
              body: {
                presentation: `p${ordinal}`,
                source: { kind: 'fence', step: 1 },
                type: 'metric',
                schemaVersion: 1,
                title,
                payload: {},
                payloadDigest: blake3Hex('{}'),
                digest: '',
                derivedFrom: [],
              },
            });
            builder.lists.presentations.push({ ordinal, seq, turn: of, type: 'metric' });
          });
        await parent.result(turn, 'shared');
        await shown(parent, turn, 'shared');
        const child = await parent.fork();
        const own = await child.answered('two');
        await parent.result(turn, 'of the parent');
        await shown(parent, turn, 'of the parent');
        expect(await store.evidence(child.ref, 2)).toBeNull();
        expect(await store.presentation(child.ref, 2)).toBeNull();
        expect(await store.evidenceIds(child.ref, 9)).toEqual(['e1']);
        expect(await child.result(own.turn, 'of the child')).toBe(2);
        await shown(child, own.turn, 'of the child');
        const read = async (session: SessionUnderTest, ordinal: number) => [
          await store.evidence(session.ref, ordinal),
          JSON.parse((await store.presentation(session.ref, ordinal)) ?? '{}').title,
        ];
        expect(await read(parent, 1)).toEqual(['shared', 'shared']);
        expect(await read(child, 1)).toEqual(['shared', 'shared']);
        expect(await read(parent, 2)).toEqual(['of the parent', 'of the parent']);
        expect(await read(child, 2)).toEqual(['of the child', 'of the child']);
        expect(await store.evidenceIds(child.ref, 9)).toEqual(['e2', 'e1']);
        expect(await store.evidenceIds((await child.fork()).ref, 1)).toEqual(['e2']);
      });

      it('EVT-05 has the evictions and notes that the other had, first and as record 0, and none of its later ones', async () => {
        await parent.answered('one');
        await parent.evict(1, 1, 'of the parent');
        const child = await parent.fork();
        await parent.evict(1, 2);
        expect(await spans(child)).toEqual([{ seq: 0, from: 1, to: 1 }]);
        expect((await toPlan(child)).evictions[0]?.note).toBe('of the parent');
        const { nextSeq } = await child.evict(1, 2);
        const own = { seq: nextSeq - 1, from: 1, to: 2 };
        expect(await spans(child)).toEqual([{ seq: 0, from: 1, to: 1 }, own]);
        expect(await spans(child, 1)).toEqual([own]);
        expect(await spans(child, own.seq)).toEqual([]);
        expect(await spans(await child.fork())).toEqual([
          { seq: 0, from: 1, to: 1 },
          { ...own, seq: 0 },
        ]);
      });
    });

    describe('a cleared head', () => {
      it('LIN-02 carries and reads nothing from before, and its numbers go on', async () => {
        const { turn } = await parent.answered('one');
        await parent.result(turn, 'x');
        await parent.evict(1, 1);
        await parent.commit((builder) => {
          const { head } = parent;
          const packet = { from: 1, to: 1, text: 'so far', quality: 'model' as const };
          const seq = builder.append(head, { kind: 'packet', turnId: null, body: packet });
          builder.lists.packets.push({ head, from: 1, to: 1, seq, bytes: 7, quality: 'model' });
          builder.lists.resets.push({ head, seq });
        });
        const before = await parent.headNow();
        const { nextSeq } = await parent.clear();
        const { nextItem, nextEvidence, nextPresentation, prefix } = before;
        const numbers = { nextItem, nextEvidence, nextPresentation, prefix };
        expect(await parent.headNow()).toMatchObject({ ...numbers, nextTurn: 2, epoch: before.epoch + 1 });
        expect((await state(parent)).heads).toMatchObject([
          { clearedSeq: nextSeq - 1, firstTurn: 2, reset: null },
        ]);
        const empty = { after: NOTHING, turns: [], packets: [], evictions: [], reset: null };
        expect(await toPlan(parent)).toEqual(empty);
        expect(await store.closings(parent.ref, parent.head, 1, 9)).toEqual([]);
        expect(await store.history(parent.ref, parent.head, ALL, RENDERED_KINDS)).toEqual([]);
        expect(await store.turnAt(parent.ref, parent.head, 1)).toBeNull();
        expect(await store.evidence(parent.ref, 1)).toBeNull();
        expect(await store.evidenceIds(parent.ref, 9)).toEqual([]);
        expect((await parent.answered('two')).items.from).toBe(nextItem);
        expect(await numbersOf(parent)).toEqual([2]);
        expect(await store.turnAt(parent.ref, parent.head, 2)).not.toBeNull();
      });

      it('LIN-02 takes no packet that stands for what was cleared, though it was written later', async () => {
        await parent.answered('one');
        await parent.clear();
        await parent.answered('two');
        const packet = (from: number, to: number) =>
          parent.commit((builder) => {
            const body = { from, to, text: 'so far', quality: 'model' as const };
            const seq = builder.append(parent.head, { kind: 'packet', turnId: null, body });
            const row = { head: parent.head, from, to, seq, bytes: 7, quality: 'model' as const };
            builder.lists.packets.push(row);
          });
        await packet(1, 1);
        await packet(2, 2);
        expect((await toPlan(parent)).packets).toMatchObject([{ from: 2, to: 2 }]);
      });

      it('LIN-02 keeps a packet of a fork that stands for what it goes on from', async () => {
        await parent.answered('one');
        const child = await parent.fork();
        await child.commit((builder) => {
          const body = { from: 1, to: 1, text: 'so far', quality: 'model' as const };
          const seq = builder.append(child.head, { kind: 'packet', turnId: null, body });
          builder.lists.packets.push({ head: child.head, from: 1, to: 1, seq, bytes: 7, quality: 'model' });
        });
        expect((await toPlan(child)).packets).toMatchObject([{ from: 1, to: 1 }]);
        expect((await toPlan(parent)).packets).toEqual([]);
      });

      it('LIN-02 leaves its forks as they are, and a cleared fork forgets what it went on from', async () => {
        await parent.answered('one');
        const child = await parent.fork();
        const other = await parent.fork();
        await parent.clear();
        await child.answered('two');
        expect(await numbersOf(child)).toEqual([1, 2]);
        await child.clear();
        expect(await numbersOf(child)).toEqual([]);
        expect((await state(child)).segments).toEqual([]);
        expect(await numbersOf(other)).toEqual([1]);
        expect((await child.answered('three')).number).toBe(3);
        expect(await numbersOf(await child.fork())).toEqual([3]);
      });

      it('LIN-02 shows no other session a turn that was cleared', async () => {
        const other = await SessionUnderTest.open(store, parent.ref.tenant);
        const found = async () =>
          (await store.tenantTurns(other.ref, null, 9)).map(({ number }) => number).toSorted((a, b) => a - b);
        await parent.answered('one');
        expect(await found()).toEqual([1]);
        await parent.clear();
        expect(await found()).toEqual([]);
        await parent.answered('two');
        expect(await found()).toEqual([2]);
      });
    });

    describe('what a fork would go on from', () => {
      it('LIN-01 is one moment of the head: where its chain ends, its own part, and the parts before it', async () => {
        const source = await store.forkSource(parent.ref, null);
        expect(source).toEqual({
          session: await parent.headNow(),
          config: JSON.stringify(config()),
          head: parent.head,
          segments: [],
          clearedSeq: 0,
          firstTurn: 1,
          turns: null,
          items: null,
        });
        expect(await store.forkSource(parent.ref, parent.head)).toEqual(source);
        expect(await store.forkSource(parent.ref, randomUUID())).toBeNull();
        expect(await store.forkSource({ ...parent.ref, session: randomUUID() }, null)).toBeNull();
        const child = await parent.fork();
        expect((await store.forkSource(child.ref, null))?.segments).toEqual((await state(child)).segments);
      });

      it('LIN-01 counts turns that began since the newest clear, with the items of the open one', async () => {
        const ranges = async () => {
          const source = await store.forkSource(parent.ref, null);
          return { turns: source?.turns, items: source?.items };
        };
        await parent.answered('one');
        expect(await ranges()).toEqual({ turns: { from: 1, to: 1 }, items: { from: 1, to: 2 } });
        const open = await parent.accept({ text: 'open' });
        expect(await ranges()).toMatchObject({ turns: { from: 1, to: 1 } });
        await parent.begin(open.turn);
        await parent.say(open.turn, 'x'.repeat(20_000));
        expect(await ranges()).toEqual({ turns: { from: 1, to: 2 }, items: { from: 1, to: 4 } });
        await parent.close(open.turn, { items: { from: 3, to: 4 } });
        await parent.clear();
        expect(await ranges()).toEqual({ turns: null, items: null });
        await parent.begin((await parent.accept()).turn);
        expect(await ranges()).toEqual({ turns: { from: 3, to: 3 }, items: { from: 5, to: 5 } });
      });
    });

    it('LED-01 streams the records of a run, and no others', async () => {
      await parent.answered('one');
      const read = async (run?: { readonly after: number; readonly to?: number }) => {
        const records: StoredRecord[] = [];
        for await (const record of store.records(parent.ref, run)) records.push(record);
        return records;
      };
      const all = await read();
      expect(all.map(({ seq }) => seq)).toEqual([1, 2, 3, 4, 5, 6]);
      expect(await read({ after: 2 })).toEqual(all.slice(2));
      expect(await read({ after: 2, to: 4 })).toEqual(all.slice(2, 4));
      expect(await read({ after: 6 })).toEqual([]);
    });

    it('LED-04 reads nothing of another tenant, though a fork names its session', async () => {
      const { turn } = await parent.answered('one');
      await parent.result(turn, 'x');
      await parent.evict(1, 1);
      const source = await store.forkSource(parent.ref, null);
      if (source === null) throw new Error('the session is not there');
      const stranger = await SessionUnderTest.open(store, await under.newTenant());
      const { tenant } = stranger.ref;
      expect(await store.forkSource({ ...parent.ref, tenant }, null)).toBeNull();
      await stranger.commit((builder) => {
        const { session, nextSeq, lastDigest } = source.session;
        builder.lists.segments.push({
          head: stranger.head,
          ordinal: 0,
          fromSession: session,
          fromHead: parent.head,
          afterSeq: 0,
          toSeq: nextSeq - 1,
          digest: lastDigest,
          firstTurn: 1,
          lastTurn: 1,
          firstItem: 1,
          lastItem: 2,
        });
      });
      expect(await toPlan(stranger)).toMatchObject({ turns: [], evictions: [] });
      expect(await store.history(stranger.ref, stranger.head, ALL, RENDERED_KINDS)).toEqual([]);
      expect(await store.closings(stranger.ref, stranger.head, 1, 9)).toEqual([]);
      expect(await store.turnAt(stranger.ref, stranger.head, 1)).toBeNull();
      expect(await store.evidence(stranger.ref, 1)).toBeNull();
      expect(await store.evidenceIds(stranger.ref, 9)).toEqual([]);
    });
  });
}
