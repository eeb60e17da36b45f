/** What every store must do, whatever it keeps its rows in. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Commit, type SessionRef, type Store, TO_PLAN_TURNS } from '../../src/db/contract.ts';
import { blake3Hex } from '../../src/ledger/chain.ts';
import type { BodyOf } from '../../src/ledger/kinds.ts';
import type { Presentation } from '../../src/ledger/presentation.ts';
import { ChainVerifier } from '../../src/ledger/verify.ts';
import { RENDERED_KINDS } from '../../src/ledger/view.ts';
import type { CommitBuilder } from '../../src/runtime/commit-builder.ts';
import {
  actorRow,
  CARD_BYTES,
  callRows,
  config,
  eventRow,
  NOTHING,
  SessionUnderTest,
  settling,
  TERMS,
  TOKEN,
  WORKER,
} from './session-under-test.ts';

export interface OutboxPeek {
  readonly child: string;
  readonly dispatch: number;
  readonly pool: string;
  readonly admitted: boolean;
  /** False while it waits for its time. */
  readonly due: boolean;
}

export interface StoreUnderTest {
  readonly store: Store;
  newTenant(): Promise<string>;
  /** Every row there is, as text: two that are equal mean that nothing was written in between. */
  dump(): Promise<string>;
  outbox(ref: SessionRef): Promise<readonly OutboxPeek[]>;
  /** Names of timers with the revision that set them. */
  timers(ref: SessionRef): Promise<readonly { readonly timer: string; readonly revision: number }[]>;
  close(): Promise<void>;
}

/** More than what a store keeps beside its record. */
const LARGE_TEXT = 'é'.repeat(20_000);
/** What the first claim of a call brings of it. */
const FIRST_CLAIM = {
  child: 'step-1',
  src: 'step',
  input: '{"step":1}',
  attempt: 1,
  fence: 1,
  token: TOKEN,
  dispatch: 1,
  started: false,
  deaths: 0,
} as const;

/** What `close` writes. */
const CLOSED = { outcome: 'completed', reason: 'answered', steps: 1 } as const;
const PLAN: BodyOf<'context-plan'> = {
  assembler: 1,
  policy: 'plan',
  runs: [],
  packet: null,
  degraded: false,
  promoted: [],
  continues: null,
  reset: null,
  budgetTokens: 1,
  spentTokens: 0,
  leftOut: 0,
  prefixDigest: '',
  rejections: 0,
  profile: {},
};
/** A time to the second, in UTC. */
const AT: unknown = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/u);

/** `makeStore` gives one store to the suite; every test has a tenant and a session of its own. */
export function storeSuite(name: string, makeStore: () => Promise<StoreUnderTest>): void {
  describe(`store: ${name}`, () => {
    let under: StoreUnderTest;
    let store: Store;
    let session: SessionUnderTest;

    beforeAll(async () => {
      under = await makeStore();
      store = under.store;
    });
    afterAll(() => under.close());
    beforeEach(async () => {
      session = await SessionUnderTest.open(store, await under.newTenant());
    });

    /** The result of what is refused; fails when it wrote anything. */
    async function refused<T>(work: () => Promise<T>): Promise<T> {
      const before = await under.dump();
      const result = await work();
      expect(await under.dump()).toBe(before);
      return result;
    }

    async function outboxChildren(): Promise<readonly string[]> {
      return (await under.outbox(session.ref)).map(({ child, dispatch }) => `${child}~${dispatch}`).sort();
    }

    const openChildren = async (turn: string) =>
      (await store.load({ ...session.ref, actor: turn }))?.actor.openChildren;

    async function fenced(build: (builder: CommitBuilder) => void): Promise<Commit> {
      return session.build(build);
    }

    /** Stores packets, each in a record of its own. */
    async function packets(...rows: readonly Pick<BodyOf<'packet'>, 'from' | 'to' | 'quality'>[]) {
      const seqs: number[] = [];
      await session.commit((builder) => {
        for (const row of rows) {
          const body = { ...row, text: 'so far' };
          const seq = builder.append(session.head, { kind: 'packet', turnId: null, body });
          builder.lists.packets.push({ ...row, head: session.head, seq, bytes: 7 });
          seqs.push(seq);
        }
      });
      return { seqs };
    }

    describe('claiming', () => {
      it('RUN-03 gives a call to one claim of its dispatch, and bumps its fence', async () => {
        const { turn, number } = await session.accept({ child: 'step-1' });
        const results = await Promise.all(
          [1, 2, 3, 4].map(() => store.claim(session.callOf(turn), WORKER, TOKEN, NOTHING)),
        );
        const claims = results.filter((claim) => claim !== null);
        expect(claims).toHaveLength(1);
        expect(claims[0]?.call).toEqual(FIRST_CLAIM);
        expect(claims[0]?.loaded.turn).toEqual({
          head: session.head,
          number,
          status: 'accepted',
          priority: 0,
        });
        expect(claims[0]?.loaded.actor).toMatchObject({ actor: turn, revision: 1, openChildren: ['step-1'] });
        expect(claims[0]?.records.map((record) => record.kind)).toEqual(['turn-accepted']);
        expect(await refused(() => store.claim(session.callOf(turn), WORKER, TOKEN, NOTHING))).toBeNull();
      });

      it('gives nothing for a call that was cancelled, is unknown, or stands at another dispatch', async () => {
        const { turn } = await session.accept({ child: 'step-1' });
        expect(
          await refused(() => store.claim(session.callOf(turn, 'step-9'), WORKER, TOKEN, NOTHING)),
        ).toBeNull();
        expect(
          await refused(() => store.claim(session.callOf(turn, 'step-1', 0), WORKER, TOKEN, NOTHING)),
        ).toBeNull();
        await session.commit((builder) => builder.lists.cancels.push({ actor: turn, child: 'step-1' }));
        expect(await outboxChildren()).toEqual([]);
        expect(await openChildren(turn)).toEqual([]);
        expect(await refused(() => store.claim(session.callOf(turn), WORKER, TOKEN, NOTHING))).toBeNull();
      });

      it('RUN-05 keeps the outbox row until the claim', async () => {
        const { turn } = await session.accept({ child: 'step-1' });
        await session.append({ kind: 'head-moved', turnId: null, body: { head: session.head } });
        expect(await outboxChildren()).toEqual(['step-1~1']);
        await session.claim(turn);
        expect(await outboxChildren()).toEqual([]);
      });

      it('PLN-01 brings to a step that has no plan what its process has not indexed, and nothing to one that has', async () => {
        const turns = [await session.accept(), await session.accept()];
        for (const { turn, number } of turns) await session.close(turn, { fullBytes: 100 * number });
        const { seqs } = await packets(
          { from: 1, to: 1, quality: 'model' },
          { from: 1, to: 2, quality: 'deterministic' },
        );
        const { turn } = await session.accept({ child: 'step-1' });
        const indexed = { turn: 1, recordSeq: seqs[0] ?? 0 };
        const claim = await store.claim(session.callOf(turn), WORKER, TOKEN, indexed);
        expect(claim?.toPlan).toEqual({
          after: indexed,
          turns: [indexedTurn(2, 200)],
          packets: [{ from: 1, to: 2, seq: seqs[1], bytes: 7, quality: 'deterministic' }],
          evictions: [],
          reset: null,
        });
        await session.commit((builder) => {
          builder.append(session.head, { kind: 'context-plan', turnId: turn, body: PLAN });
          callRows(builder, turn, 'step-2');
        });
        expect((await session.claim(turn, 'step-2')).toPlan).toBeNull();
      });

      it('brings nothing to plan with to any call but a step', async () => {
        const { turn } = await session.accept({ child: 'tool-1-0' });
        const claim = await session.claim(turn, 'tool-1-0');
        expect(claim).toMatchObject({ records: [], whole: false, toPlan: null });
      });
    });

    describe('claiming what is known', () => {
      const known = async (toPlan = false) => ({
        nextSeq: (await session.headNow()).nextSeq,
        head: session.head,
        toPlan,
      });

      it('RUN-03 is the same claim, and brings nothing that the process knows', async () => {
        const turns = [await session.accept(), await session.accept()];
        for (const { turn, number } of turns) await session.close(turn, { fullBytes: 100 * number });
        const { turn } = await session.accept({ child: 'step-1' });
        const first = await known(true);
        const indexed = { turn: 1, recordSeq: 0 };
        const claim = await store.claimKnown(session.callOf(turn), WORKER, TOKEN, first, indexed);
        expect(claim).toEqual({
          call: FIRST_CLAIM,
          watched: false,
          toPlan: {
            after: { turn: 1, recordSeq: 0 },
            turns: [indexedTurn(2, 200)],
            packets: [],
            evictions: [],
            reset: null,
          },
        });
        expect(await outboxChildren()).toEqual([]);
        const again = await known(true);
        expect(
          await refused(() => store.claimKnown(session.callOf(turn), WORKER, TOKEN, again, indexed)),
        ).toBeNull();
      });

      it('RUN-03 brings nothing of the head for a plan that stands', async () => {
        const { turn } = await session.accept({ child: 'step-1' });
        const step = await store.claimKnown(session.callOf(turn), WORKER, TOKEN, await known(), NOTHING);
        expect(step?.changed).toBeUndefined();
        expect(step).toMatchObject({ toPlan: null });
      });

      it('RUN-03 brings all when the ledger grew since', async () => {
        const { turn } = await session.accept({ child: 'step-1' });
        const before = await known(true);
        await session.append({ kind: 'head-moved', turnId: null, body: { head: session.head } });
        const claim = await store.claimKnown(session.callOf(turn), WORKER, TOKEN, before, NOTHING);
        expect(claim?.changed).toMatchObject({
          call: { child: 'step-1', fence: 1 },
          loaded: { session: { nextSeq: before.nextSeq + 1 }, actor: { actor: turn } },
          whole: true,
          toPlan: { after: NOTHING, turns: [], packets: [], evictions: [], reset: null },
        });
        expect(claim?.changed?.records.map(({ kind }) => kind)).toEqual(['turn-accepted']);
      });
    });

    describe('what a head is planned with', () => {
      const toPlan = (turn = 0, recordSeq = 0) =>
        store.toPlan(session.ref, session.head, { turn, recordSeq });

      it('TRN-02 PLN-01 gives closed turns oldest first, with what their cards weigh, their words and their links', async () => {
        const links = [
          { kind: 'wrote', to: 'b.md', provenance: 'observed' },
          { kind: 'continues', to: 'T1', provenance: 'inferred' },
          { kind: 'read', to: 'a.md', provenance: 'observed' },
        ] as const;
        const turns = [await session.accept(), await session.accept(), await session.accept()];
        await session.close(turns[2]?.turn ?? '', { fullBytes: 300, links });
        await session.close(turns[0]?.turn ?? '', { fullBytes: 100 });
        const rows = [indexedTurn(1, 100), { ...indexedTurn(3, 300), links }];
        expect((await toPlan()).turns).toEqual(rows);
        expect((await toPlan(1)).turns).toEqual(rows.slice(1));
        expect((await toPlan(3)).turns).toEqual([]);
        expect(await store.indexedTurns(session.ref, session.head, 0, 1)).toEqual(rows.slice(0, 1));
        expect(await store.indexedTurns(session.ref, session.head, 1, 9)).toEqual(rows.slice(1));
        expect(await store.indexedTurns(session.ref, randomUUID(), 0, 9)).toEqual([]);
      });

      it('PLN-01 stops short after so many turns, and goes on from there', async () => {
        const count = TO_PLAN_TURNS + 3;
        await session.commit((builder) => {
          for (let n = 0; n < count; n++) closedAtOnce(builder, session.head);
        });
        const page = await toPlan();
        expect(page.turns.map(({ number }) => number)).toEqual(upTo(TO_PLAN_TURNS));
        const rest = await toPlan(TO_PLAN_TURNS);
        expect(rest.turns.map(({ number }) => number)).toEqual([257, 258, 259]);
        const all = await store.indexedTurns(session.ref, session.head, 0, 1_000);
        expect(all.map(({ number }) => number)).toEqual(upTo(count));
      });

      it('PLN-02 gives packets in the order they were stored, and of two over one range the first', async () => {
        const { seqs } = await packets(
          { from: 1, to: 16, quality: 'model' },
          { from: 1, to: 8, quality: 'deterministic' },
        );
        await packets({ from: 1, to: 16, quality: 'deterministic' });
        const rows = [
          { from: 1, to: 16, seq: seqs[0], bytes: 7, quality: 'model' },
          { from: 1, to: 8, seq: seqs[1], bytes: 7, quality: 'deterministic' },
        ];
        expect((await toPlan()).packets).toEqual(rows);
        expect((await toPlan(0, seqs[0])).packets).toEqual(rows.slice(1));
        expect((await toPlan(0, seqs[1])).packets).toEqual([]);
        expect((await store.toPlan(session.ref, randomUUID(), NOTHING)).packets).toEqual([]);
      });

      it('PLN-04 knows the newest reset of each head', async () => {
        const reset = async () => {
          const { turn } = await session.accept();
          const body = { behind: 0, throughStep: 0, text: 'so far', quality: 'model' } as const;
          let seq = 0;
          await session.commit((builder) => {
            seq = builder.append(session.head, { kind: 'reset', turnId: turn, body });
            builder.lists.resets.push({ head: session.head, seq });
          });
          return seq;
        };
        expect((await toPlan()).reset).toBeNull();
        await reset();
        const newest = await reset();
        expect((await toPlan()).reset).toBe(newest);
        expect((await store.toPlan(session.ref, randomUUID(), NOTHING)).reset).toBeNull();
      });

      it('PLN-05 gives no link that was taken back, keeps its row, and counts the change', async () => {
        const link = (kind: 'read' | 'wrote', to: string) => ({ kind, to, provenance: 'observed' }) as const;
        const links = [
          link('wrote', 'a.md'),
          link('read', 'a.md'),
          link('read', 'b.md'),
          link('read', 'a.md'),
        ];
        const [one, two] = [await session.accept(), await session.accept()];
        for (const { turn } of [one, two]) await session.close(turn, { links });
        const before = await session.headNow();
        await session.commit((builder) => {
          const retracted = { kind: 'read', to: 'a.md' } as const;
          const body = { turn: one.number, ...retracted, reason: 'another a.md' };
          builder.append(session.head, { kind: 'link-retracted', turnId: null, body });
          builder.lists.retractedEdges.push({ turn: one.turn, ...retracted });
          builder.epoch += 1;
        });
        expect((await session.headNow()).epoch).toBe(before.epoch + 1);
        const { turns } = await toPlan();
        expect(turns[0]?.links).toEqual([links[0], links[2]]);
        expect(turns[1]?.links).toEqual(links);
        const edges = (await store.sessionState(session.ref))?.edges;
        expect(edges?.filter(({ turn }) => turn === one.turn)).toEqual(
          links.map((row, ordinal) => ({
            ...row,
            turn: one.turn,
            ordinal,
            retracted: row.kind === 'read' && row.to === 'a.md',
          })),
        );
        expect(edges?.filter(({ retracted }) => retracted)).toHaveLength(2);
      });

      it('ASM-03 remembers the prefix of the newest plan, and each prefix once by its digest', async () => {
        const [one, two] = [blake3Hex('one'), blake3Hex('two')];
        const pin = (digest: string, body: BodyOf<'prefix'> | null) =>
          session.commit((builder) => {
            builder.prefix = digest;
            if (body === null) return;
            const seq = builder.append(session.head, { kind: 'prefix', turnId: null, body });
            builder.lists.prefixes.push({ digest, seq });
          });
        const prefixBody = (digest: string, system: string) => ({ digest, system, tools: [] });
        expect((await session.headNow()).prefix).toBeNull();
        await pin(one, prefixBody(one, 'be brief'));
        await pin(two, prefixBody(two, LARGE_TEXT));
        expect((await session.headNow()).prefix).toBe(two);
        await pin(one, null);
        expect((await session.headNow()).prefix).toBe(one);
        expect(JSON.parse((await store.prefix(session.ref, one)) ?? '')).toEqual(prefixBody(one, 'be brief'));
        expect(JSON.parse((await store.prefix(session.ref, two)) ?? '')).toEqual(prefixBody(two, LARGE_TEXT));
        expect(await store.prefix(session.ref, blake3Hex('three'))).toBeNull();
        const refusal = () => pin(two, prefixBody(two, 'again')).catch(() => 'refused');
        expect(await refused(refusal)).toBe('refused');
        expect((await store.sessionState(session.ref))?.prefixes.map(({ digest }) => digest)).toEqual([
          one,
          two,
        ]);
      });
    });

    describe('applying', () => {
      it('RUN-02 changes state, records, calls, timers and hand-overs together', async () => {
        const { turn } = await session.accept({ child: 'step-1' });
        const { call } = await session.claim(turn);
        await session.commit((builder) => {
          builder.settle = settling(turn, 'step-1', call.fence, 'done');
          builder.lists.actors.push(actorRow(turn, 1, 2));
          builder.lists.events.push(eventRow(turn, 'step-1', 2));
          callRows(builder, turn, 'tool-1-0');
          builder.lists.timers.push({
            actor: turn,
            timer: 'deadline',
            event: '{}',
            revision: 2,
            delayMs: 60_000,
          });
          builder.lists.heads.push({ head: session.head, openTurn: turn });
          builder.lists.turnChanges.push({ turn, status: 'running' });
        });
        const loaded = await store.load({ ...session.ref, actor: turn });
        expect(loaded?.actor).toMatchObject({
          revision: 2,
          snapshot: '{"revision":2}',
          openChildren: ['tool-1-0'],
        });
        expect(loaded?.turn?.status).toBe('running');
        expect(await outboxChildren()).toEqual(['tool-1-0~1']);
        expect(await under.timers(session.ref)).toEqual([{ timer: 'deadline', revision: 2 }]);
        expect((await store.loadSession(session.ref, null))?.openTurn).toBe(turn);
      });

      it('RUN-02 refuses a commit that stands on an older session or actor, and writes nothing', async () => {
        const { turn } = await session.accept();
        const build = (revision: number) =>
          fenced((builder) => {
            builder.append(session.head, { kind: 'head-moved', turnId: null, body: { head: session.head } });
            builder.lists.actors.push(actorRow(turn, revision - 1, revision));
            callRows(builder, turn, 'step-1');
          });
        const [first, second] = [await build(2), await build(2)];
        expect(await store.apply(first)).toBe('applied');
        expect(await refused(() => store.apply(second))).toBe('conflict');
        const onOldActor = await build(2);
        expect(await refused(() => store.apply(onOldActor))).toBe('conflict');
      });

      it('RUN-02 refuses a commit on an older session though its actor stands and it appends nothing', async () => {
        const { turn } = await session.accept();
        const stale = await fenced((builder) => {
          builder.lists.actors.push(actorRow(turn, 1, 2));
        });
        const first = await fenced((builder) => {
          builder.append(session.head, { kind: 'head-moved', turnId: null, body: { head: session.head } });
        });
        expect(await store.apply(first)).toBe('applied');
        expect(await refused(() => store.apply(stale))).toBe('conflict');
      });

      it('RUN-03 refuses what a superseded fence writes, whole', async () => {
        const { turn } = await session.accept({ child: 'step-1' });
        const zombie = await session.claim(turn);
        await session.commit((builder) => {
          builder.settle = settling(turn, 'step-1', zombie.call.fence, 'queued');
        });
        const taken = await session.claim(turn, 'step-1', 2);
        expect(taken.call.fence).toBe(2);
        const late = await fenced((builder) => {
          builder.settle = settling(turn, 'step-1', zombie.call.fence, 'done');
          builder.append(session.head, { kind: 'head-moved', turnId: null, body: { head: session.head } });
          builder.lists.actors.push(actorRow(turn, 1, 2));
        });
        expect(await refused(() => store.apply(late))).toBe('superseded');
        expect(
          await refused(() =>
            store.markStarted(session.callOf(turn), { fence: zombie.call.fence, token: TOKEN }),
          ),
        ).toBe(false);
      });

      it('RUN-03 RUN-08 refuses what another claim under the same fence writes: a crash had taken that one back', async () => {
        const { turn } = await session.accept({ child: 'tool-1-0' });
        const ref = session.callOf(turn, 'tool-1-0');
        const { call } = await session.claim(turn, 'tool-1-0');
        const lost = { fence: call.fence, token: TOKEN + 1 };
        expect(await refused(() => store.markStarted(ref, lost))).toBe(false);
        for (const status of ['done', 'queued'] as const) {
          const late = await fenced((builder) => {
            builder.settle = { ...settling(turn, 'tool-1-0', call.fence, status), ...lost };
          });
          expect(await refused(() => store.apply(late))).toBe('superseded');
        }
        expect(await store.markStarted(ref, call)).toBe(true);
        await session.commit((builder) => {
          builder.settle = settling(turn, 'tool-1-0', call.fence, 'done');
        });
        const late = await fenced((builder) => {
          builder.settle = { ...settling(turn, 'tool-1-0', call.fence, 'done'), ...lost };
        });
        expect(await refused(() => store.apply(late))).toBe('superseded');
      });

      it('RUN-03 refuses the result of a call that was cancelled or settled before', async () => {
        const { turn } = await session.accept({ child: 'step-1' });
        const { call } = await session.claim(turn);
        const settle = (builder: CommitBuilder) => {
          builder.settle = settling(turn, 'step-1', call.fence, 'done');
        };
        await session.commit((builder) => {
          settle(builder);
          callRows(builder, turn, 'step-2');
        });
        const twice = await fenced(settle);
        expect(await refused(() => store.apply(twice))).toBe('duplicate');
        const second = await session.claim(turn, 'step-2');
        await session.commit((builder) => builder.lists.cancels.push({ actor: turn, child: 'step-2' }));
        const late = await fenced((builder) => {
          builder.settle = settling(turn, 'step-2', second.call.fence, 'done');
        });
        expect(await refused(() => store.apply(late))).toBe('superseded');
      });

      it('RUN-03 refuses an event that was applied before', async () => {
        const { turn } = await session.accept();
        const apply = (revision: number) =>
          fenced((builder) => {
            builder.lists.actors.push(actorRow(turn, revision - 1, revision));
            builder.lists.events.push(eventRow(turn, 'cancel', revision));
          });
        expect(await store.apply(await apply(2))).toBe('applied');
        const again = await apply(3);
        expect(await refused(() => store.apply(again))).toBe('duplicate');
      });

      it('RUN-09 keeps of two events under one id the one that was applied', async () => {
        const { turn } = await session.accept();
        const apply = (revision: number | null, event: string) =>
          session.commit((builder) => {
            if (revision !== null) builder.lists.actors.push(actorRow(turn, revision - 1, revision));
            builder.lists.events.push({ ...eventRow(turn, 'cancel', revision), event });
          });
        const stored = async () =>
          (await store.sessionState(session.ref))?.events.find(({ id }) => id === 'cancel')?.event;
        await apply(null, '"first"');
        await apply(null, '"second"');
        expect(await stored()).toBe('"first"');
        await apply(2, '"third"');
        expect(await stored()).toBe('"third"');
      });

      it('RUN-07 a call handed back for a retry has the next attempt and dispatch, and waits its time', async () => {
        const { turn } = await session.accept({ child: 'step-1' });
        const { call } = await session.claim(turn);
        await session.commit((builder) => {
          builder.settle = { ...settling(turn, 'step-1', call.fence, 'queued'), error: 'overloaded' };
          builder.lists.outbox.push({
            actor: turn,
            child: 'step-1',
            dispatch: 2,
            pool: 'step',
            priority: 0,
            delayMs: 60_000,
            admitted: false,
          });
        });
        expect(await under.outbox(session.ref)).toEqual([
          { child: 'step-1', dispatch: 2, pool: 'step', admitted: false, due: false },
        ]);
        expect(await refused(() => store.claim(session.callOf(turn), WORKER, TOKEN, NOTHING))).toBeNull();
        const again = await session.claim(turn, 'step-1', 2);
        expect(again.call).toMatchObject({ attempt: 2, dispatch: 2, fence: 2, deaths: 0 });
      });

      it('two acceptances that race for one number, or one key, are a conflict and no error', async () => {
        const key = randomUUID();
        const number = await session.accept({ key }).then((made) => made.number);
        const racing = (used: { number: number; key: string | null }) =>
          fenced((builder) => {
            const turn = randomUUID();
            builder.lists.turns.push({ turn, head: session.head, priority: 0, number: used.number });
            if (used.key !== null)
              builder.lists.keys.push({ key: used.key, turn, inputDigest: blake3Hex('x') });
          });
        for (const used of [
          { number, key: null },
          { number: number + 1, key },
        ]) {
          const commit = await racing(used);
          expect(await refused(() => store.apply(commit))).toBe('conflict');
        }
      });

      it('LED-01 gives concurrent writers gap-free numbers in one chain', async () => {
        const write = async (): Promise<void> => {
          for (;;) {
            const commit = await fenced((builder) => {
              for (let i = 0; i < 2; i++)
                builder.append(session.head, {
                  kind: 'head-moved',
                  turnId: null,
                  body: { head: session.head },
                });
            });
            if ((await store.apply(commit)) === 'applied') return;
          }
        };
        await Promise.all(Array.from({ length: 8 }, write));
        const verifier = new ChainVerifier(session.ref.session);
        const seqs: number[] = [];
        for await (const record of store.records(session.ref)) {
          seqs.push(record.seq);
          verifier.next(record);
        }
        expect(seqs).toEqual(Array.from({ length: 18 }, (_, index) => index + 1));
        expect(verifier.end(await session.headNow())).toMatchObject({ ok: true, records: 18 });
      });
    });

    describe('timers', () => {
      const timer = (actor: string, id: string, revision: number) => ({
        actor,
        timer: id,
        event: '{"type":"turn.deadline"}',
        revision,
        delayMs: 60_000,
      });

      it('RUN-07 are set, set anew under the same name, cleared by name and cleared all at once', async () => {
        const { turn } = await session.accept();
        const names = async () =>
          (await under.timers(session.ref)).map((row) => `${row.timer}@${row.revision}`);
        await session.commit((builder) => {
          builder.lists.timers.push(
            timer(turn, 'deadline', 1),
            timer(turn, 'waited', 1),
            timer(turn, 'c', 1),
          );
        });
        await session.commit((builder) => builder.lists.timers.push(timer(turn, 'deadline', 2)));
        expect((await names()).sort()).toEqual(['c@1', 'deadline@2', 'waited@1']);
        await session.commit((builder) => builder.lists.clearedTimers.push({ actor: turn, timer: 'waited' }));
        expect((await names()).sort()).toEqual(['c@1', 'deadline@2']);
        const other = await session.accept();
        await session.commit((builder) => builder.lists.timers.push(timer(other.turn, 'deadline', 1)));
        await session.commit((builder) => builder.lists.clearedTimers.push({ actor: turn, timer: null }));
        expect(await names()).toEqual(['deadline@1']);
      });
    });

    describe('events from outside', () => {
      it('are kept once, in the order they came, and wake the actor', async () => {
        const { turn } = await session.accept();
        const ref = { ...session.ref, actor: turn };
        const first = await store.submitEvent(ref, 'a', '{"type":"a"}');
        const second = await store.submitEvent(ref, 'b', '{"type":"b"}');
        expect(second).toBe(Number(first) + 1);
        expect(await outboxChildren()).toEqual([`drain~${first}`, `drain~${second}`]);
        expect(await store.drain(ref, Number(second))).toEqual([
          { id: 'a', event: '{"type":"a"}' },
          { id: 'b', event: '{"type":"b"}' },
        ]);
        expect(await outboxChildren()).toEqual([]);
        await session.commit((builder) => {
          builder.lists.actors.push(actorRow(turn, 1, 2));
          builder.lists.events.push(eventRow(turn, 'a', 2));
        });
        expect((await store.drain(ref, Number(second))).map(({ id }) => id)).toEqual(['b']);
      });

      it('RUN-03 a known one, and one for an ended or unknown actor, is null and wakes nobody', async () => {
        const { turn } = await session.accept();
        const ref = { ...session.ref, actor: turn };
        await store.submitEvent(ref, 'a', '{"type":"a"}');
        const waiting = await outboxChildren();
        expect(await refused(() => store.submitEvent(ref, 'a', '{"type":"other"}'))).toBeNull();
        expect(await outboxChildren()).toEqual(waiting);
        expect((await store.drain(ref, 9)).map(({ event }) => event)).toEqual(['{"type":"a"}']);
        expect(await refused(() => store.submitEvent({ ...ref, actor: randomUUID() }, 'x', '{}'))).toBeNull();
        await session.commit((builder) => builder.lists.actors.push(actorRow(turn, 1, 2, 'done')));
        expect(await refused(() => store.submitEvent(ref, 'late', '{}'))).toBeNull();
      });
    });

    describe('reading', () => {
      it('finds nothing of a session that is not there', async () => {
        const nowhere = { ...session.ref, session: randomUUID() };
        expect(await store.load({ ...nowhere, actor: randomUUID() })).toBeNull();
        expect(await store.loadSession(nowhere, null)).toBeNull();
        expect(await store.sessionConfig(nowhere)).toBeNull();
        expect(await store.turnRecords(nowhere, randomUUID())).toEqual([]);
        expect(await store.evidence(nowhere, 1)).toBeNull();
        expect(await store.recordBody(nowhere, 1)).toBeNull();
      });

      it('gives the session its settings, and the turn an idempotency key named', async () => {
        expect(JSON.parse((await store.sessionConfig(session.ref)) ?? '')).toEqual(config());
        const { turn } = await session.accept({ key: 'k', text: 'hi' });
        expect((await store.loadSession(session.ref, 'k'))?.sameKey).toEqual({
          turn,
          inputDigest: blake3Hex('hi'),
        });
        expect((await store.loadSession(session.ref, 'other'))?.sameKey).toBeNull();
      });

      it('LED-03 gives all that is stored of a session beside its records', async () => {
        const { turn, number } = await session.accept({ key: 'k', child: 'step-1', priority: 2 });
        const { call } = await session.claim(turn);
        await session.commit((builder) => {
          builder.settle = settling(turn, 'step-1', call.fence, 'done');
          builder.lists.actors.push({
            ...actorRow(turn, 1, 2),
            status: 'parked',
            parkedReason: 'unreadable',
          });
          builder.lists.events.push(eventRow(turn, 'step-1', 2));
          callRows(builder, turn, 'tool-1-0');
          builder.lists.timers.push({ actor: turn, timer: 't', event: '{}', revision: 2, delayMs: 60_000 });
          builder.lists.heads.push({ head: session.head, openTurn: turn });
          builder.lists.packets.push({
            head: session.head,
            from: 1,
            to: 1,
            seq: 3,
            bytes: 7,
            quality: 'model',
          });
          builder.lists.edges.push({ turn, ordinal: 0, kind: 'read', to: 'a.md', provenance: 'observed' });
          builder.lists.edges.push({ turn, ordinal: 1, kind: 'serves', to: 'x', provenance: 'inferred' });
          builder.lists.retractedEdges.push({ turn, kind: 'serves', to: 'x' });
          const ordinal = builder.takePresentation();
          builder.lists.presentations.push({ ordinal, seq: 3, turn, type: 'metric' });
          builder.lists.prefixes.push({ digest: blake3Hex('p'), seq: 3 });
          builder.lists.resets.push({ head: session.head, seq: 3 });
          builder.prefix = blake3Hex('p');
          builder.epoch = 4;
          builder.lists.evidence.push({ ordinal: builder.takeEvidence(), seq: 3, turn, tool: 'grep' });
        });
        const row = await store.submitEvent({ ...session.ref, actor: turn }, 'late', '{}');
        expect(row).toBeNull();
        await session.commit((builder) => builder.lists.events.push(eventRow(turn, 'waiting', null)));
        const state = await store.sessionState(session.ref);
        const { tenant: _, session: __, watched: ___, ...head } = await session.headNow();
        const anyMs = expect.any(Number);
        const fresh = { attempt: 1, started: false, worker: null, input: '{"step":1}' };
        expect(state).toEqual({
          session: {
            ...head,
            config: JSON.stringify(config()),
            parent: null,
            prefix: blake3Hex('p'),
            epoch: 4,
            nextPresentation: 2,
          },
          heads: [
            {
              head: session.head,
              from: null,
              atSeq: 0,
              openTurn: turn,
              reset: 3,
              clearedSeq: 0,
              firstTurn: 1,
            },
          ],
          turns: [
            {
              turn,
              head: session.head,
              number,
              status: 'accepted',
              priority: 2,
              outcome: null,
              reason: null,
              steps: 0,
              closedSeq: null,
              fullBytes: null,
              cardBytes: null,
              firstItem: null,
              lastItem: null,
              terms: null,
            },
          ],
          keys: [{ key: 'k', turn, inputDigest: blake3Hex('hello') }],
          evidence: [{ ordinal: 1, seq: 3, turn, tool: 'grep' }],
          packets: [{ head: session.head, from: 1, to: 1, seq: 3, bytes: 7, quality: 'model' }],
          evictions: [],
          segments: [],
          edges: [
            { turn, ordinal: 0, kind: 'read', to: 'a.md', provenance: 'observed', retracted: false },
            { turn, ordinal: 1, kind: 'serves', to: 'x', provenance: 'inferred', retracted: true },
          ],
          presentations: [{ ordinal: 1, seq: 3, turn, type: 'metric' }],
          prefixes: [{ digest: blake3Hex('p'), seq: 3 }],
          usage: [],
          vectors: [],
          actors: [
            {
              actor: turn,
              turn,
              machine: 'turn',
              version: 1,
              revision: 2,
              snapshot: '{"revision":2}',
              status: 'parked',
              parkedReason: 'unreadable',
              compacted: false,
            },
          ],
          events: [
            { ...eventRow(turn, 'init', 1), receivedInMs: anyMs },
            { ...eventRow(turn, 'step-1', 2), receivedInMs: anyMs },
            { ...eventRow(turn, 'waiting', null), receivedInMs: anyMs },
          ],
          calls: [
            {
              ...fresh,
              ...callRow(turn, 'step-1'),
              priority: 2,
              status: 'done',
              fence: 1,
              token: TOKEN,
              dispatch: 1,
            },
            {
              ...fresh,
              ...callRow(turn, 'tool-1-0'),
              priority: 0,
              status: 'queued',
              fence: 0,
              token: 0,
              dispatch: 1,
            },
          ],
          timers: [{ actor: turn, timer: 't', event: '{}', revision: 2, dueInMs: anyMs }],
          outbox: [
            {
              actor: turn,
              child: 'tool-1-0',
              dispatch: 1,
              pool: 'tool',
              priority: 0,
              dueInMs: anyMs,
              admitted: false,
            },
          ],
        });
        const [timer] = state?.timers ?? [];
        expect(timer?.dueInMs).toBeGreaterThan(0);
        expect(timer?.dueInMs).toBeLessThanOrEqual(60_000);
        expect(await store.sessionState({ ...session.ref, session: randomUUID() })).toBeNull();
        expect(await store.sessionState({ ...session.ref, tenant: await under.newTenant() })).toBeNull();
      });

      it('gives the turns of a head by number, with what renders and nothing else', async () => {
        const turns = [await session.accept({ text: 'one' }), await session.accept({ text: LARGE_TEXT })];
        const receipt = { step: 1, check: 'empty-step', verdict: 'redo' } as const;
        const turnId = turns[0]?.turn ?? null;
        await session.append({ kind: 'check-fired', turnId, body: receipt });
        const said = { input: [{ type: 'text' as const, text: 'more' }], asked: { digest: 'd' } };
        await session.append({ kind: 'steering', turnId, body: said });
        await session.append({ kind: 'turn-steered', turnId, body: { step: 1, upTo: 1 } });
        await session.close(turns[0]?.turn ?? '');
        await session.accept({ text: 'three' });
        const history = await store.history(session.ref, session.head, { from: 1, to: 2 }, RENDERED_KINDS);
        expect(history.map(({ number, turn }) => ({ number, turn }))).toEqual(
          turns.map(({ number, turn }) => ({ number, turn })),
        );
        const kinds = ['turn-accepted', 'steering', 'turn-steered', 'turn-closed'];
        expect(history[0]?.records.map((record) => record.kind)).toEqual(kinds);
        expect(history[1]?.records[0]?.body).toContain(LARGE_TEXT);
        expect(await store.history(session.ref, randomUUID(), { from: 1, to: 2 }, RENDERED_KINDS)).toEqual(
          [],
        );
      });

      it('TRN-02 keeps with a closed turn where its card stands, what it weighs and its words', async () => {
        const { turn } = await session.accept();
        const { nextSeq } = await session.close(turn, { fullBytes: 123 });
        expect((await store.sessionState(session.ref))?.turns).toMatchObject([
          { turn, closedSeq: nextSeq - 1, fullBytes: 123, cardBytes: CARD_BYTES, terms: TERMS },
        ]);
      });

      it('TRN-02 gives the records that closed turns of a head, oldest first', async () => {
        const turns = [await session.accept(), await session.accept(), await session.accept()];
        await session.accept();
        for (const { turn } of turns.toReversed()) await session.close(turn);
        const rows = await store.closings(session.ref, session.head, 2, 9);
        expect(rows.map(({ number, turn }) => ({ number, turn }))).toEqual(turns.slice(1));
        for (const { body } of rows) expect(JSON.parse(body ?? '')).toEqual(CLOSED);
        expect(await store.closings(session.ref, session.head, 1, 1)).toHaveLength(1);
        expect(await store.closings(session.ref, randomUUID(), 1, 9)).toEqual([]);
      });

      it('EVI-03 names a turn of a head by its number', async () => {
        const turns = [await session.accept(), await session.accept()];
        for (const { turn, number } of turns)
          expect(await store.turnAt(session.ref, session.head, number)).toEqual({
            session: session.ref.session,
            turn,
            number,
          });
        expect(await store.turnAt(session.ref, session.head, 3)).toBeNull();
        expect(await store.turnAt(session.ref, randomUUID(), 1)).toBeNull();
      });

      it('EVI-04 gives a presentation by its number, and goes on counting along the session', async () => {
        const { turn } = await session.accept();
        const show = (title: string) =>
          session.commit((builder) => {
            const ordinal = builder.takePresentation();
            const body = presentationOf(`p${ordinal}`, title);
            const seq = builder.append(session.head, { kind: 'presentation', turnId: turn, body });
            builder.lists.presentations.push({ ordinal, seq, turn, type: body.type });
          });
        await show('small');
        await show(LARGE_TEXT);
        expect(JSON.parse((await store.presentation(session.ref, 1)) ?? '')).toEqual(
          presentationOf('p1', 'small'),
        );
        expect(JSON.parse((await store.presentation(session.ref, 2)) ?? '').title).toBe(LARGE_TEXT);
        expect(await store.presentation(session.ref, 3)).toBeNull();
        expect((await session.headNow()).nextPresentation).toBe(3);
      });

      it('EVI-03 gives the closed turns of the tenant’s other sessions, newest first and page by page', async () => {
        const others = [
          await SessionUnderTest.open(store, session.ref.tenant),
          await SessionUnderTest.open(store, session.ref.tenant),
        ];
        const stranger = await SessionUnderTest.open(store, await under.newTenant());
        const made = [];
        for (const one of [...others, session, stranger, ...others]) {
          const { turn, number } = await one.accept();
          const { nextSeq } = await one.close(turn);
          await one.accept();
          if (one === session || one === stranger) continue;
          const closedSeq = nextSeq - 1;
          made.push({ session: one.ref.session, turn, number, terms: TERMS, closedSeq, closedAt: AT });
        }
        const newest = made.sort((a, b) => (a.turn < b.turn ? 1 : -1));
        expect(await store.tenantTurns(session.ref, null, 9)).toEqual(newest);
        expect(await store.tenantTurns(session.ref, null, 3)).toEqual(newest.slice(0, 3));
        expect(await store.tenantTurns(session.ref, newest[1]?.turn ?? null, 9)).toEqual(newest.slice(2));
      });

      it('CAP-11 tells whether an actor of a machine has not ended in the session', async () => {
        const { turn } = await session.accept();
        expect(await store.isActive(session.ref, 'turn')).toBe(true);
        expect(await store.isActive(session.ref, 'summary')).toBe(false);
        await session.commit((builder) => builder.lists.actors.push(actorRow(turn, 1, 2, 'done')));
        expect(await store.isActive(session.ref, 'turn')).toBe(false);
      });

      it('EVI-01 gives whole results by their ordinal', async () => {
        const { turn } = await session.accept({ text: 'look' });
        const result = (evidence: string, content: string) => ({
          step: 1,
          index: 0,
          callId: 'c',
          name: 'grep',
          status: 'ok' as const,
          evidence,
          content,
          windowed: false,
        });
        await session.commit((builder) => {
          const take = (tool: string, seq: number) =>
            builder.lists.evidence.push({ ordinal: builder.takeEvidence(), seq, turn, tool });
          take(
            'grep',
            builder.append(session.head, { kind: 'tool-result', turnId: turn, body: result('e1', 'x') }),
          );
          builder.append(session.head, {
            kind: 'tool-result',
            turnId: turn,
            body: { ...result('e2', 'part'), index: 1, windowed: true },
          });
          take(
            'read',
            builder.append(session.head, {
              kind: 'evidence-body',
              turnId: turn,
              body: { evidence: 'e2', content: LARGE_TEXT },
            }),
          );
        });
        await session.close(turn);
        expect(await store.evidence(session.ref, 1)).toBe('x');
        expect(await store.evidence(session.ref, 2)).toBe(LARGE_TEXT);
        expect(await store.evidence(session.ref, 3)).toBeNull();
        expect(await store.evidenceIds(session.ref, 9)).toEqual(['e2', 'e1']);
        expect(await store.evidenceIds(session.ref, 1)).toEqual(['e2']);
      });

      it('names the accepted turn that waits behind the loaded one', async () => {
        const first = await session.accept();
        expect((await store.load({ ...session.ref, actor: first.turn }))?.next).toBeNull();
        const [second, third] = [await session.accept({ priority: 3 }), await session.accept()];
        const next = async () => (await store.load({ ...session.ref, actor: first.turn }))?.next;
        expect(await next()).toMatchObject({
          turn: second.turn,
          actor: second.turn,
          priority: 3,
          revision: 1,
        });
        await session.close(second.turn);
        expect((await next())?.turn).toBe(third.turn);
      });

      it('RUN-08 remembers that a call was let loose, under the fence that did it', async () => {
        const { turn } = await session.accept({ child: 'tool-1-0' });
        const { call } = await session.claim(turn, 'tool-1-0');
        const ref = session.callOf(turn, 'tool-1-0');
        expect(await refused(() => store.markStarted(ref, { fence: call.fence + 1, token: TOKEN }))).toBe(
          false,
        );
        expect(await store.markStarted(ref, { fence: call.fence, token: TOKEN })).toBe(true);
        expect(await store.markStarted(ref, call)).toBe(false);
        await session.commit((builder) => {
          builder.settle = settling(turn, 'tool-1-0', call.fence, 'queued');
        });
        expect((await session.claim(turn, 'tool-1-0', 2)).call.started).toBe(true);
      });

      it('LED-04 shows another tenant nothing of closed turns, cards, prefixes and packets', async () => {
        const { turn, number } = await session.accept();
        const links = [{ kind: 'read', to: 'a.md', provenance: 'observed' }] as const;
        await session.close(turn, { links });
        const digest = blake3Hex('p');
        await session.commit((builder) => {
          const body = presentationOf('p1', 'a');
          const seq = builder.append(session.head, { kind: 'presentation', turnId: turn, body });
          builder.lists.presentations.push({ ordinal: 1, seq, turn, type: body.type });
          builder.lists.prefixes.push({ digest, seq });
          builder.lists.resets.push({ head: session.head, seq });
          builder.lists.packets.push({ head: session.head, from: 1, to: 1, seq, bytes: 7, quality: 'model' });
        });
        const elsewhere = { ...session.ref, session: randomUUID() };
        const seen = async (ref: SessionRef) => ({
          toPlan: await store.toPlan(ref, session.head, NOTHING),
          indexed: (await store.indexedTurns(ref, session.head, 0, 9)).length,
          closings: (await store.closings(ref, session.head, 1, 9)).length,
          tenantTurns: (await store.tenantTurns({ ...ref, session: elsewhere.session }, null, 9)).length,
          presentation: (await store.presentation(ref, 1)) !== null,
          prefix: (await store.prefix(ref, digest)) !== null,
          turnId: (await store.turnAt(ref, session.head, number))?.turn ?? null,
          isActive: await store.isActive(ref, 'turn'),
        });
        const own = await seen(session.ref);
        expect(own).toMatchObject({ indexed: 1, closings: 1, tenantTurns: 1, turnId: turn, isActive: true });
        expect(own).toMatchObject({ presentation: true, prefix: true });
        expect(own.toPlan).toMatchObject({ turns: [{ links }], packets: [{ bytes: 7 }] });
        expect(await seen({ ...session.ref, tenant: await under.newTenant() })).toEqual({
          toPlan: { after: NOTHING, turns: [], packets: [], evictions: [], reset: null },
          indexed: 0,
          closings: 0,
          tenantTurns: 0,
          presentation: false,
          prefix: false,
          turnId: null,
          isActive: false,
        });
      });

      it('LED-04 keeps tenants apart: the same ids under another tenant find nothing', async () => {
        const { turn } = await session.accept({ child: 'step-1' });
        const tenant = await under.newTenant();
        const stranger = { ...session.callOf(turn), tenant };
        expect(await store.load(stranger)).toBeNull();
        expect(await store.loadSession(stranger, null)).toBeNull();
        expect(await refused(() => store.claim(stranger, WORKER, TOKEN, NOTHING))).toBeNull();
        expect(await store.turnRecords(stranger, turn)).toEqual([]);
        const commit = await fenced((builder) =>
          builder.append(session.head, { kind: 'head-moved', turnId: null, body: { head: session.head } }),
        );
        expect(await refused(() => store.apply({ ...commit, tenant }))).toBe('conflict');
      });
    });
  });
}

function callRow(actor: string, child: string) {
  const pool = child.startsWith('tool') ? 'tool' : 'step';
  return { actor, child, src: pool, pool };
}

/** As `close` leaves it. */
function indexedTurn(number: number, fullBytes: number) {
  return { number, items: null, fullBytes, cardBytes: CARD_BYTES, terms: TERMS, links: [] };
}

function closedAtOnce(builder: CommitBuilder, head: string): void {
  const turn = randomUUID();
  const number = builder.takeTurnNumber();
  builder.lists.turns.push({ turn, head, number, priority: 0 });
  const closedSeq = builder.append(head, { kind: 'turn-closed', turnId: turn, body: CLOSED });
  const card = { closedSeq, fullBytes: 100, cardBytes: CARD_BYTES, terms: TERMS };
  builder.lists.turnChanges.push({ turn, status: 'closed', ...CLOSED, ...card });
}

function upTo(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

function presentationOf(presentation: string, title: string): Presentation {
  return {
    presentation,
    source: { kind: 'fence', step: 1 },
    type: 'metric',
    schemaVersion: 1,
    title,
    payload: { value: 3 },
    payloadDigest: blake3Hex('{"value":3}'),
    digest: 'value 3',
    derivedFrom: ['e1'],
  };
}
