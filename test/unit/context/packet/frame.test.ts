import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { deterministicPacket } from '../../../../src/context/packet/deterministic.ts';
import {
  type EvidenceLine,
  evidenceOf,
  packetText,
  summaryIn,
} from '../../../../src/context/packet/frame.ts';
import { byteLength } from '../../../../src/ledger/json.ts';
import { Tally } from '../../ledger/sample.ts';
import { cardOf, cards, foreign, markersIn } from './cards.ts';

const line = (ordinal: number, change: Partial<EvidenceLine> = {}): EvidenceLine => ({
  id: `e${ordinal}`,
  tool: 'read',
  args: '{"path":"a.md"}',
  turn: 3,
  shape: 'text, 40 lines',
  ...change,
});
const linesOf = (text: string): readonly string[] => text.split('\n');
const evidenceIn = (text: string): readonly string[] => linesOf(text).filter((one) => /^- e\d+: /u.test(one));

describe('the text of a packet', () => {
  it('PLN-06 says first which turns it stands for, that they are not shown, and how to reach them', () => {
    const text = packetText({ from: 3, to: 19, summary: 'S.', evidence: { lines: [], complete: true } });
    const [first] = linesOf(text);
    expect(first).toContain('T3 to T19');
    expect(first).toContain('summarised here and not shown');
    expect(first).toContain('recall({"query": "…"})');
    expect(first).toContain('recall({"turn": n})');
    expect(linesOf(text).slice(1)).toEqual(['S.']);
  });

  it('PLN-06 lists results in a line each, as they came', () => {
    const lines = [line(9, { turn: 4, args: '{"path":"b.md"}' }), line(7)];
    const text = packetText({ from: 1, to: 8, summary: 'S.', evidence: { lines, complete: true } });
    expect(evidenceIn(text)).toEqual([
      '- e9: read {"path":"b.md"} in T4 — text, 40 lines',
      '- e7: read {"path":"a.md"} in T3 — text, 40 lines',
    ]);
    expect(text.indexOf('S.')).toBeLessThan(text.indexOf('- e9'));
  });

  it('PLN-06 names at most 1,024 bytes of results, the newest, and says how many more there are', () => {
    const lines = Array.from({ length: 100 }, (_, at) => line(100 - at));
    const frame = { from: 1, to: 8, summary: null };
    const text = packetText({ ...frame, evidence: { lines, complete: true } });
    const bare = packetText({ ...frame, evidence: { lines: [], complete: true } });
    expect(byteLength(text) - byteLength(bare)).toBeLessThanOrEqual(1_024);
    const kept = evidenceIn(text);
    expect(kept.length).toBeGreaterThan(10);
    expect(kept[0]).toContain('e100:');
    expect(kept.at(-1)).toContain(`e${101 - kept.length}:`);
    expect(linesOf(text).at(-1)).toContain(`${100 - kept.length} older`);
  });

  it('PLN-06 gives no number of results left out when older turns were not looked at', () => {
    const text = packetText({
      from: 1,
      to: 8,
      summary: null,
      evidence: { lines: [line(1)], complete: false },
    });
    expect(linesOf(text).at(-1)).toMatch(/older turns/u);
    expect(linesOf(text).at(-1)).not.toMatch(/\d/u);
  });

  it('PLN-06 names a result whose call is long without its arguments, never with a part of them', () => {
    const args = `{"command":"${'run '.repeat(400)}"}`;
    const evidence = { lines: [line(2, { args }), line(1)], complete: true };
    expect(evidenceIn(packetText({ from: 1, to: 8, summary: null, evidence }))).toEqual([
      '- e2: read in T3 — text, 40 lines',
      '- e1: read {"path":"a.md"} in T3 — text, 40 lines',
    ]);
  });

  it('PLN-06 takes the results of cards newest first, the last call of a turn before its others', () => {
    const call = (evidence: string | null) => ({ tool: 'read', args: '{}', evidence, shape: 'text' });
    const newestFirst = [
      cardOf(2, { did: [call('e3'), call(null), call('e4')] }),
      cardOf(1, { did: [call('e1'), call('e2')] }),
    ];
    expect(evidenceOf(newestFirst).map(({ id, turn }) => `${id} T${turn}`)).toEqual([
      'e4 T2',
      'e3 T2',
      'e2 T1',
      'e1 T1',
    ]);
  });

  it('PLN-02 gives back the summary it holds, to seed the next packet', () => {
    const tally = new Tally();
    fc.assert(
      fc.property(fc.lorem({ maxCount: 30 }), cards(1, 6), (summary, made) => {
        const lines = evidenceOf(made.toReversed());
        const text = packetText({ from: 1, to: 8, summary, evidence: { lines, complete: true } });
        expect(summaryIn(text)).toBe(summary);
        tally.count({ evidence: evidenceIn(text).length > 0, bare: evidenceIn(text).length === 0 });
      }),
    );
    tally.report('summaries taken back');
    expect(
      summaryIn(
        packetText({ from: 1, to: 2, summary: null, evidence: { lines: [line(1)], complete: true } }),
      ),
    ).toBe('');
  });

  it('PLN-06 lets no call or shape forge a line or a marker of ours', () => {
    const tally = new Tally();
    fc.assert(
      fc.property(foreign, foreign, (args, shape) => {
        const evidence = { lines: [line(2, { args, shape }), line(1)], complete: true };
        const text = packetText({ from: 1, to: 8, summary: null, evidence });
        expect(markersIn(text)).toEqual([]);
        expect(linesOf(text)).toHaveLength(4);
        tally.count({ forged: markersIn(args + shape).length > 0, broken: /\n/u.test(args + shape) });
      }),
      { numRuns: 400 },
    );
    tally.report('forged evidence lines');
  });
});

describe('the packet made without a model', () => {
  const newestFirst = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, at) => cardOf(to - at));
  const turnsIn = (text: string): readonly string[] => linesOf(text).filter((one) => /^- T\d/u.test(one));

  it('PLN-06 has a line for each turn, newest first, with what was asked, how it ended and what was shown', () => {
    const metric = { id: 'p2', type: 'metric', title: 'Sum', digest: 'Sum: 4', derivedFrom: [] };
    const made = [
      cardOf(3, { outcome: 'failed' }),
      cardOf(2, { presentations: [metric, { ...metric, id: 'p3', title: 'Rest' }] }),
      cardOf(1),
    ];
    const text = deterministicPacket({ from: 1, to: 3, cards: made, maxBytes: 4_000 });
    expect(turnsIn(text)).toEqual([
      '- T3 (failed): question 3',
      '- T2: question 2 — metric "Sum" p2, metric "Rest" p3',
      '- T1: question 1',
    ]);
    expect(evidenceIn(text)).toHaveLength(3);
  });

  it('PLN-06 at 600 bytes still says its range, how to reach it, and the newest turns', () => {
    const text = deterministicPacket({ from: 1, to: 800, cards: newestFirst(1, 800), maxBytes: 600 });
    expect(byteLength(text)).toBeLessThanOrEqual(600);
    const [first] = linesOf(text);
    expect(first).toContain('T1 to T800');
    expect(first).toContain('recall({"query": "…"})');
    expect(first).toContain('recall({"turn": n})');
    expect(turnsIn(text)[0]).toBe('- T800: question 800');
    expect(evidenceIn(text)[0]).toContain('- e800:');
  });

  it('PLN-06 counts the turns it does not name', () => {
    const text = deterministicPacket({ from: 1, to: 20, cards: newestFirst(17, 20), maxBytes: 4_000 });
    expect(turnsIn(text)).toHaveLength(4);
    expect(text).toContain('16 older turns');
    const all = deterministicPacket({ from: 1, to: 20, cards: newestFirst(1, 20), maxBytes: 4_000 });
    expect(turnsIn(all)).toHaveLength(20);
    expect(all).not.toContain('older turn');
  });

  it('PLN-06 never weighs more than its budget, cuts no line, and accounts for every turn', () => {
    const tally = new Tally();
    const scenario = fc.record({
      made: cards(5, 12, 1),
      unseen: fc.nat({ max: 4 }),
      maxBytes: fc.oneof(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 300, max: 6_000 })),
    });
    fc.assert(
      fc.property(scenario, ({ made, unseen, maxBytes }) => {
        const from = 5 - unseen;
        const to = 4 + made.length;
        const packet = (bytes: number) =>
          deterministicPacket({ from, to, cards: made.toReversed(), maxBytes: bytes });
        const text = packet(maxBytes);
        expect(byteLength(text)).toBeLessThanOrEqual(maxBytes);
        expect(markersIn(text)).toEqual([]);
        const named = turnsIn(text);
        const whole = turnsIn(packet(10_000_000));
        expect(whole).toHaveLength(made.length);
        expect(named).toEqual(whole.slice(0, named.length));
        if (maxBytes >= 600) {
          expect(linesOf(text)[0]).toContain(`T${from} to T${to}`);
          const counted = /- and (\d+) older turns?$/mu.exec(text)?.[1] ?? '0';
          expect(named.length + Number(counted)).toBe(to - from + 1);
        }
        const total = to - from + 1;
        tally.count({
          empty: text === '',
          some: named.length > 0 && named.length < total,
          all: named.length === total,
          tight: maxBytes < 300,
        });
      }),
      { numRuns: 600 },
    );
    tally.report('packets without a model');
  });

  it('PLN-06 says less of a turn whose words are too many for a line, and still names it', () => {
    const made = [cardOf(2, { asked: 'x'.repeat(50_000) }), cardOf(1)];
    const text = deterministicPacket({ from: 1, to: 2, cards: made, maxBytes: 4_000 });
    expect(turnsIn(text)).toEqual(['- T2', '- T1: question 1']);
  });

  it('PLN-02 is the same text whenever it is made of the same turns', () => {
    const input = { from: 1, to: 9, cards: newestFirst(1, 9), maxBytes: 900 };
    expect(deterministicPacket(input)).toBe(deterministicPacket(input));
  });
});
