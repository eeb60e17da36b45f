import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Store } from '../../../src/db/contract.ts';
import { blake3Hex, envelopeDigest } from '../../../src/ledger/chain.ts';
import { TurnwrightError } from '../../../src/ledger/errors.ts';
import type { StoredRecord } from '../../../src/ledger/verify.ts';
import { checkAncestors } from '../../../src/runtime/ancestors.ts';
import { lineageOf } from '../../../src/runtime/fork.ts';
import { SessionUnderTest } from '../../contract/session-under-test.ts';
import { createMemoryDatabase } from '../../simulation/memory/database.ts';
import { recordsOf, spoilt } from '../../support/lineage.ts';

const TURNS = 70;
/** Of which a fork compares the newest. */
const COMPARED = 64;

describe('what a fork goes on from', () => {
  let store: Store;
  let parent: SessionUnderTest;
  beforeEach(async () => {
    store = createMemoryDatabase({ nowMs: () => 0 }).store();
    parent = await SessionUnderTest.open(store, randomUUID());
  });

  const check = async (of: SessionUnderTest, over: Store): Promise<TurnwrightError | null> => {
    const source = await store.forkSource(of.ref, null);
    if (source === null) throw new Error('the session is not there');
    const found = await checkAncestors(over, of.ref.tenant, lineageOf(source)).then(
      () => null,
      (error: unknown) => error,
    );
    if (found === null || found instanceof TurnwrightError) return found;
    throw found;
  };
  const spoil = (of: SessionUnderTest, change: (record: StoredRecord) => StoredRecord | null) =>
    spoilt(store, of.ref.session, change);
  const altered = (text: string | null) => (text ?? '').replace('"text":"', '"text":"!');

  it.each<[string, (record: StoredRecord, all: readonly StoredRecord[]) => StoredRecord | null, string]>([
    ['is missing', () => null, 'it is missing'],
    ['has another byte', (record) => ({ ...record, body: altered(record.body) }), 'its body is not the one'],
    [
      'has another body with its digest',
      (record, all) => ({ ...record, body: all[2]?.body ?? null, bodyDigest: all[2]?.bodyDigest ?? '' }),
      'its envelope is not the one',
    ],
    [
      'is another record in its place',
      (record, all) => ({ ...(all[2] ?? record), seq: record.seq }),
      'does not follow',
    ],
    ['is of another turn', (record) => ({ ...record, turnId: randomUUID() }), 'its envelope is not the one'],
    ['has lost its body', (record) => ({ ...record, body: null }), 'no record says that it was erased'],
    ['is of a kind nobody knows', (record) => ({ ...record, kind: 'guessed' }), 'envelope'],
    ['is filed under another class', (record) => ({ ...record, class: 'display' }), 'do'],
  ])('LIN-01 is refused by name where a record %s', async (_, change, reason) => {
    await parent.answered('one');
    await parent.answered('two');
    const all = await recordsOf(store, parent.ref);
    const place = all.findLastIndex(({ kind }) => kind === 'assistant-message') + 1;
    const bad = spoil(parent, (record) => (record.seq === place ? change(record, all) : record));
    const error = await check(parent, bad);
    expect(error).toMatchObject({
      code: 'ancestor_unreadable',
      details: { session: parent.ref.session, record: place, reason: expect.stringContaining(reason) },
    });
    expect(error?.message).toContain(`Record ${place} of session ${parent.ref.session}`);
    expect(await check(parent, store)).toBeNull();
  });

  it('LIN-01 is refused where its last records are gone, or are those of another writer', async () => {
    await parent.answered('one');
    const last = (await recordsOf(store, parent.ref)).length;
    const cut = spoil(parent, (record) => (record.seq >= last ? null : record));
    expect((await check(parent, cut))?.details).toMatchObject({ record: last, reason: 'it is missing' });
    const rewritten = rewrittenFrom(3);
    expect((await check(parent, rewritten))?.details).toMatchObject({
      reason: expect.stringContaining('not the record that was pointed at'),
    });
  });

  it('LIN-01 of a body that a later record says was erased nothing is wrong', async () => {
    const { turn } = await parent.answered('one');
    await parent.answered('two');
    const [record] = (await recordsOf(store, parent.ref)).filter(({ turnId }) => turnId === turn);
    if (record === undefined) throw new Error('the turn has no record');
    const { seq, bodyDigest: digest } = record;
    const bodiless = spoil(parent, (one) => (one.seq === seq ? { ...one, body: null } : one));
    expect((await check(parent, bodiless))?.details).toMatchObject({ record: seq });
    await parent.append({ kind: 'erased', turnId: null, body: { seq, digest } });
    expect(await check(parent, bodiless)).toBeNull();
  });

  it('LIN-01 an old record that is bad stops no fork; one of the newest turns does, in whichever session it stands', async () => {
    for (let turn = 1; turn <= TURNS; turn++) await parent.answered(`turn ${turn}`);
    const child = await parent.fork();
    await child.answered('of the child');
    const all = await recordsOf(store, parent.ref);
    const badFrom = (turn: number) => {
      const accepted = all.filter(({ kind }) => kind === 'turn-accepted')[turn - 1];
      return spoil(parent, (record) =>
        record.seq === accepted?.seq ? { ...record, body: altered(record.body) } : record,
      );
    };
    const oldest = TURNS - COMPARED + 1;
    expect((await check(parent, badFrom(oldest)))?.code).toBe('ancestor_unreadable');
    expect(await check(parent, badFrom(oldest - 1))).toBeNull();
    expect((await check(child, badFrom(oldest + 1)))?.code).toBe('ancestor_unreadable');
    expect(await check(child, badFrom(oldest))).toBeNull();
  });

  it('LIN-01 a part too old to compare must still end with the record its link names', async () => {
    await parent.answered('one');
    const child = await parent.fork();
    for (let turn = 1; turn <= COMPARED; turn++) await child.answered(`turn ${turn}`);
    const last = (await recordsOf(store, parent.ref)).length;
    const bad = spoil(parent, (record) => (record.seq === last ? { ...record, body: null } : record));
    expect((await check(child, bad))?.details).toMatchObject({ session: parent.ref.session, record: last });
    const early = spoil(parent, (record) => (record.seq === last - 1 ? null : record));
    expect(await check(child, early)).toBeNull();
  });

  it('LIN-01 is compared from what a session was cleared at, though it was cleared after the fork', async () => {
    await parent.answered('one');
    await parent.clear();
    await parent.answered('two');
    const child = await parent.fork();
    await parent.clear();
    const first = spoil(parent, (record) => (record.seq === 4 ? null : record));
    expect(await check(child, first)).toBeNull();
    const second = (await recordsOf(store, parent.ref)).filter(({ kind }) => kind === 'turn-accepted')[1];
    const bad = spoil(parent, (record) => (record.seq === second?.seq ? null : record));
    expect((await check(child, bad))?.details).toMatchObject({ record: second?.seq });
  });

  /** The same session as somebody else would have written it from a record on: every digest fits the one before it. */
  function rewrittenFrom(seq: number): Store {
    let prevDigest = '';
    return spoil(parent, (record) => {
      if (record.seq < seq) {
        prevDigest = record.digest;
        return record;
      }
      const body = record.seq === seq ? altered(record.body) : (record.body ?? '');
      const made = { ...record, body, bodyDigest: blake3Hex(body), prevDigest };
      prevDigest = envelopeDigest({ ...made, session: parent.ref.session });
      return { ...made, digest: prevDigest };
    });
  }
});
