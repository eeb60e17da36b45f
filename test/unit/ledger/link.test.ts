import { describe, expect, it } from 'vitest';
import { chainRecords, GENESIS_DIGEST } from '../../../src/ledger/chain.ts';
import { LEDGER_INVARIANTS } from '../../../src/ledger/invariants.ts';
import type { Segment } from '../../../src/ledger/items.ts';
import type { BodyOf, RecordDraft } from '../../../src/ledger/kinds.ts';
import { linkProblem } from '../../../src/ledger/link.ts';
import { ChainVerifier, type StoredRecord } from '../../../src/ledger/verify.ts';
import { HEAD, opening, placed, SESSION, turnDrafts } from './sample.ts';

const GRANDPARENT = '01890000-0000-7000-8000-00000000000c';
const PARENT = '01890000-0000-7000-8000-00000000000d';
const OTHER_HEAD = '01890000-0000-7000-8000-0000000000bb';

const first: Segment = {
  session: GRANDPARENT,
  head: HEAD,
  afterSeq: 0,
  toSeq: 20,
  digest: 'aa',
  turns: { from: 1, to: 3 },
  items: { from: 1, to: 6 },
};
const second: Segment = {
  session: PARENT,
  head: OTHER_HEAD,
  afterSeq: 3,
  toSeq: 12,
  digest: 'bb',
  turns: { from: 4, to: 4 },
  items: { from: 7, to: 9 },
};
const LINK: BodyOf<'inherited'> = {
  session: PARENT,
  head: OTHER_HEAD,
  segments: [first, second],
  next: { turn: 5, item: 10, evidence: 3, presentation: 2 },
};

const linked = (link: BodyOf<'inherited'>): RecordDraft => ({ kind: 'inherited', turnId: null, body: link });

function ledger(drafts: readonly RecordDraft[], item = 9): readonly StoredRecord[] {
  return chainRecords({ session: SESSION, nextSeq: 1, lastDigest: GENESIS_DIGEST }, placed(drafts, item));
}

function law(number: number, records: readonly StoredRecord[]): string | null {
  return LEDGER_INVARIANTS.get(number)?.({ session: SESSION, records }) ?? null;
}

function verdict(records: readonly StoredRecord[]) {
  const verifier = new ChainVerifier(SESSION);
  for (const record of records) verifier.next(record);
  return verifier.end({ nextSeq: records.length + 1, lastDigest: records.at(-1)?.digest ?? '' });
}

const turn = (number: number, evidence: number): readonly RecordDraft[] =>
  turnDrafts(
    number,
    { text: 'hi', steps: [{ calls: 1, text: 'x', empty: false }], outcome: 'completed' },
    evidence,
  );

describe('the record that links a fork', () => {
  it('LIN-01 stands third, with its parts in order and the numbers above theirs', () => {
    const records = ledger([...opening(), linked(LINK), ...turn(5, 3)]);
    expect(linkProblem(SESSION, 3, LINK)).toBeNull();
    expect([law(5, records), law(8, records)]).toEqual([null, null]);
    expect(verdict(records)).toMatchObject({ ok: true });
    const bare = { ...LINK, segments: [{ ...second, turns: null, items: null, afterSeq: 12 }] };
    expect(linkProblem(SESSION, 3, bare)).toBeNull();
  });

  it.each<[string, Partial<BodyOf<'inherited'>>, string]>([
    ['links the session to itself', { segments: [{ ...first, session: SESSION }, second] }, 'to itself'],
    ['names another session than its last part', { session: GRANDPARENT }, 'last part'],
    ['names another head than its last part', { head: HEAD }, 'last part'],
    [
      'has its parts in another order',
      { segments: [second, first], session: GRANDPARENT, head: HEAD },
      'turns 1 to 3',
    ],
    ['has a part twice', { segments: [second, { ...second, turns: null, items: null }] }, 'same head'],
    [
      'has a part that ends before it begins',
      { segments: [first, { ...second, afterSeq: 13 }] },
      'ends before',
    ],
    [
      'has turns inside those of another part',
      { segments: [first, { ...second, turns: { from: 3, to: 4 } }] },
      'turns 3 to 4',
    ],
    [
      'has items inside those of another part',
      { segments: [first, { ...second, items: { from: 6, to: 9 } }] },
      'items 6 to 9',
    ],
    [
      'has a range that ends before it begins',
      { segments: [first, { ...second, items: { from: 9, to: 8 } }] },
      'items 9 to 8',
    ],
    ['gives out a turn that its parts have', { next: { ...LINK.next, turn: 4 } }, 'turns reach 4'],
    ['gives out an item that its parts have', { next: { ...LINK.next, item: 9 } }, 'items reach 9'],
  ])('LIN-01 is refused where it %s', (_, change, reason) => {
    const link = { ...LINK, ...change };
    expect(linkProblem(SESSION, 3, link)).toContain(reason);
    const records = ledger([...opening(), linked(link), ...turn(5, 3)]);
    expect(law(5, records)).toContain('record 3 (inherited)');
    expect(verdict(records)).toMatchObject({ ok: false, fault: { seq: 3, kind: 'inherited' } });
  });

  it('LIN-01 fault 22: is refused late, and a second time', () => {
    const late = ledger([...opening(), ...turn(5, 3), linked(LINK)]);
    expect(law(5, late)).toContain(`record ${late.length} (inherited)`);
    expect(verdict(late)).toMatchObject({ ok: false, fault: { seq: late.length } });
    const twice = ledger([...opening(), linked(LINK), linked(LINK), ...turn(5, 3)]);
    expect(law(5, twice)).toContain('record 4 (inherited)');
    expect(verdict(twice)).toMatchObject({
      ok: false,
      fault: { seq: 4, problem: expect.stringContaining('once') },
    });
  });

  it('LIN-01 leaves no number to be given again that was given before it', () => {
    const named = (drafts: readonly RecordDraft[], item = 9) =>
      law(8, ledger([...opening(), linked(LINK), ...drafts], item));
    expect(named(turn(4, 3))).toContain('T4');
    expect(named(turn(5, 2))).toContain('e2');
    expect(named(turn(5, 3), 8)).toContain('#9');
    expect(named([...turn(5, 3), ...turn(6, 3)])).toContain('e3 again');
  });
});

describe('an eviction', () => {
  const evicted = (from: number, to: number): RecordDraft => ({
    kind: 'evicted',
    turnId: null,
    body: { from, to, note: null, author: 'operator' },
  });
  const both = (drafts: readonly RecordDraft[], item: number) => {
    const records = ledger(drafts, item);
    return { law: law(8, records), verdict: verdict(records) };
  };

  it('LIN-01 EVT-03 fault 22: takes items that were recorded, here or in what the session goes on from', () => {
    const good = [...opening(), ...turn(1, 1), evicted(1, 2)];
    expect(both(good, 0)).toMatchObject({ law: null, verdict: { ok: true } });
    const inherited = [...opening(), linked(LINK), evicted(3, 9)];
    expect(both(inherited, 9)).toMatchObject({ law: null, verdict: { ok: true } });
  });

  it.each([
    ['an item that was not recorded yet', 1, 3, 'item #3, and #2 was'],
    ['no item at all', 2, 1, 'from #2 to #1'],
    ['an item before the first', 0, 1, 'from #0'],
  ])('LIN-01 EVT-03 fault 22: is refused where it takes %s', (_, from, to, reason) => {
    const refused = both([...opening(), ...turn(1, 1), evicted(from, to), ...turn(2, 2)], 0);
    expect(refused.law).toContain(reason);
    expect(refused.verdict).toMatchObject({
      ok: false,
      fault: { kind: 'evicted', problem: expect.stringContaining(reason) },
    });
  });

  it('LIN-01 EVT-03 fault 22: is refused in a fork that takes what its link does not have', () => {
    const refused = both([...opening(), linked(LINK), evicted(3, 10)], 9);
    expect(refused.law).toContain('item #10, and #9 was');
    expect(refused.verdict).toMatchObject({ ok: false, fault: { kind: 'evicted' } });
  });
});

describe('a clear', () => {
  it('LIN-02 finds its head at rest', () => {
    const cleared: RecordDraft = { kind: 'cleared', turnId: null, body: {} };
    const whole = turn(1, 1);
    expect(law(7, ledger([...opening(), ...whole, cleared, ...turn(2, 2)]))).toBeNull();
    expect(law(7, ledger([...opening(), ...whole.slice(0, -1), cleared]))).toContain('clears a head');
  });
});
