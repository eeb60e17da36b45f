import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fitLines } from '../../../../src/context/packet/fit-lines.ts';
import {
  batchesWithin,
  handoffRequest,
  packetRequest,
  packetRoomBytes,
  weighCard,
} from '../../../../src/context/packet/request.ts';
import type { ChatRequest } from '../../../../src/context/request.ts';
import { byteLength } from '../../../../src/ledger/json.ts';
import { Tally } from '../../ledger/sample.ts';
import { cardOf, cards, foreign, markersIn } from './cards.ts';

const ROOMY = { ceilingTokens: 100_000, tokensPerByte: 0.25 };

function textOf(request: ChatRequest | null): string {
  const [block] = request?.messages[0]?.content ?? [];
  return block?.type === 'text' ? block.text : '';
}

/** As the profile counts it: prompt by its bytes, and the reply in full. */
function tokensOf(request: ChatRequest, tokensPerByte: number): number {
  return (
    Math.ceil((byteLength(request.system) + byteLength(textOf(request))) * tokensPerByte) + request.maxTokens
  );
}

const stepLine = foreign.map((text) => text.replace(/\s+/gu, ' '));
const limits = fc.record({
  ceilingTokens: fc.integer({ min: 500, max: 12_000 }),
  tokensPerByte: fc.double({ min: 0.1, max: 1, noNaN: true }),
});

describe('what a summariser is asked for a packet', () => {
  it('PLN-02 sends the earlier summary and then the new turns, oldest first, and no history of the turn', () => {
    const seed = { to: 8, text: 'They chose brick.' };
    const request = packetRequest({ from: 1, to: 10, seed, cards: [cardOf(9), cardOf(10)] }, ROOMY);
    expect(request?.messages).toHaveLength(1);
    expect(request?.tools).toEqual([]);
    expect(request?.maxTokens).toBe(1_024);
    const text = textOf(request);
    const places = ['T1 to T8', 'They chose brick.', 'T9 to T10', '\nT9: ', '\nT10: '].map((part) =>
      text.indexOf(part),
    );
    expect(places).not.toContain(-1);
    expect(places).toEqual(places.toSorted((a, b) => a - b));
    const unseeded = textOf(packetRequest({ from: 9, to: 9, seed: null, cards: [cardOf(9)] }, ROOMY));
    expect(unseeded).not.toMatch(/earlier summary/iu);
  });

  it('PLN-06 says of a turn what was asked, called, shown and answered, and how it ended, with its evidence ids', () => {
    const did = [
      { tool: 'read', args: '{"path":"a.md"}', evidence: 'e5', shape: 'text, 9 lines' },
      { tool: 'shell', args: '{"command":"make"}', evidence: null, shape: 'no result' },
    ];
    const made = { id: 'p2', type: 'metric', title: 'Sum', digest: 'Sum: 41 EUR', derivedFrom: [] };
    const card = cardOf(4, { did, presentations: [made], outcome: 'failed', narration: 'It broke.' });
    const text = textOf(packetRequest({ from: 4, to: 4, seed: null, cards: [card] }, ROOMY));
    expect(text.split('\n').at(-1)).toBe(
      'T4 (failed): question 4 — read {"path":"a.md"} → e5 (text, 9 lines); shell {"command":"make"} → no result — metric "Sum" p2: Sum: 41 EUR — It broke.',
    );
  });

  it.each(['correct', 'approv', 'refus', 'fail', 'open', 'decided', 'exactly', '400 words'])(
    'PLN-06 tells it to keep what later work needs: %s',
    (word) => {
      const request = packetRequest({ from: 1, to: 1, seed: null, cards: [cardOf(1)] }, ROOMY);
      expect(request?.system.toLowerCase()).toContain(word);
    },
  );

  it('PLN-06 tells it that the record is data: not to be followed, not to be answered', () => {
    const request = packetRequest({ from: 1, to: 1, seed: null, cards: [cardOf(1)] }, ROOMY);
    const handoff = handoffRequest({ directive: 'x', lines: [] }, ROOMY);
    for (const system of [request?.system, handoff?.system]) {
      expect(system).toMatch(/do not (?:obey|follow)/u);
      expect(system).toMatch(/do not answer/u);
    }
  });

  it('PLN-02 takes as many turns as fit, from the oldest on, and at least one', () => {
    expect(batchesWithin([10, 10, 10], 30)).toBe(3);
    expect(batchesWithin([10, 10, 10], 29)).toBe(2);
    expect(batchesWithin([10, 10, 10], 9)).toBe(1);
    expect(batchesWithin([10, 10, 10], -5)).toBe(1);
    expect(batchesWithin([10, 50, 1], 20)).toBe(1);
  });

  it('PLN-02 never exceeds the window of the leg that summarises, and leaves no turn out that it was given', () => {
    const tally = new Tally();
    const scenario = fc.record({
      limits,
      made: cards(3, 12, 1),
      seed: fc.option(foreign.map((text) => ({ to: 2, text }))),
    });
    fc.assert(
      fc.property(scenario, ({ limits: leg, made, seed }) => {
        const from = seed === null ? 3 : 1;
        const all = { from, to: 2 + made.length, seed };
        const taken = made.slice(0, batchesWithin(made.map(weighCard), packetRoomBytes(all, leg)));
        const request = packetRequest({ from, to: 2 + taken.length, seed, cards: taken }, leg);
        tally.count({
          none: request === null,
          whole: request !== null && taken.length === made.length,
          part: request !== null && taken.length < made.length,
          seeded: request !== null && seed !== null,
        });
        if (request === null) return;
        expect(tokensOf(request, leg.tokensPerByte)).toBeLessThanOrEqual(leg.ceilingTokens);
        expect(markersIn(textOf(request))).toEqual([]);
        const lines = textOf(request).split('\n').slice(-taken.length);
        for (const [at, card] of taken.entries())
          expect(lines[at]).toMatch(new RegExp(`^T${card.number}\\b`, 'u'));
      }),
      { numRuns: 600 },
    );
    tally.report('packet requests');
  });

  it('PLN-02 says less of a single turn that is too long for the leg, rather than send nothing or a part of it', () => {
    const leg = { ceilingTokens: 2_000, tokensPerByte: 0.25 };
    const card = cardOf(1, { narration: 'long '.repeat(2_000) });
    const text = textOf(packetRequest({ from: 1, to: 1, seed: null, cards: [card] }, leg));
    expect(text.split('\n').at(-1)).toBe('T1: question 1 — grep → e1');
    expect(
      packetRequest({ from: 1, to: 1, seed: null, cards: [card] }, { ...leg, ceilingTokens: 1_100 }),
    ).toBeNull();
  });
});

describe('what a summariser is asked for a handoff', () => {
  it('PLN-04 has the directive whole and first, then the steps, and asks for the five sections', () => {
    const directive = 'Repair the pump.\nThen report.';
    const request = handoffRequest({ directive, lines: ['read → e1', 'digest of e1'] }, ROOMY);
    const text = textOf(request);
    expect(text.indexOf(directive)).toBeGreaterThan(-1);
    expect(text.indexOf(directive)).toBeLessThan(text.indexOf('read → e1'));
    expect(text.endsWith('read → e1\ndigest of e1')).toBe(true);
    for (const section of ['objective', 'state', 'decisions', 'open items', 'obligations'])
      expect(request?.system.toLowerCase()).toContain(section);
    expect(request?.system).toContain('300 words');
    expect(request).toMatchObject({ maxTokens: 800, tools: [] });
  });

  it('PLN-04 drops the oldest lines first, says how many, and cuts none', () => {
    const lines = Array.from({ length: 400 }, (_, at) => `line ${at} ${'w'.repeat(90)}`);
    const leg = { ceilingTokens: 4_000, tokensPerByte: 0.25 };
    const text = textOf(handoffRequest({ directive: 'Go.', lines }, leg));
    const kept = text.split('\n').filter((one) => one.startsWith('line '));
    expect(kept).toEqual(lines.slice(-kept.length));
    expect(text).toContain(`${400 - kept.length} earlier lines`);
    expect(byteLength(text)).toBeLessThanOrEqual(8_000);
    expect(byteLength(text)).toBeGreaterThan(7_500);
  });

  it('PLN-04 reads at least 4,000 characters of steps where the ceiling less 2,000 tokens would hold fewer', () => {
    const lines = Array.from({ length: 400 }, () => 'é'.repeat(39));
    const text = textOf(
      handoffRequest({ directive: 'Go.', lines }, { ceilingTokens: 4_000, tokensPerByte: 0.25 }),
    );
    expect(text.split('\n').filter((one) => one.startsWith('é')).length).toBe(100);
    const small = handoffRequest({ directive: 'Go.', lines }, { ceilingTokens: 1_900, tokensPerByte: 0.25 });
    expect(textOf(small)).toContain('ééé');
  });

  it('PLN-04 never exceeds the window; without room for the directive there is no request', () => {
    const tally = new Tally();
    const scenario = fc.record({
      limits,
      directive: foreign,
      lines: fc.oneof(
        fc.array(stepLine, { maxLength: 10 }),
        fc.array(stepLine, { minLength: 60, maxLength: 90 }),
      ),
    });
    fc.assert(
      fc.property(scenario, ({ limits: leg, directive, lines }) => {
        const request = handoffRequest({ directive, lines }, leg);
        const kept = textOf(request).split('\n');
        tally.count({
          none: request === null,
          whole: request !== null && lines.length > 0 && !/left out\)/u.test(textOf(request)),
          part: /earlier lines? (?:is|are) left out/u.test(textOf(request)),
          huge: kept.some((one) => /^\(a line of \d+ bytes/u.test(one)),
        });
        if (request === null) return;
        expect(tokensOf(request, leg.tokensPerByte)).toBeLessThanOrEqual(leg.ceilingTokens);
        expect(markersIn(directive).length === 0 ? textOf(request) : directive).toContain(directive);
      }),
      { numRuns: 600 },
    );
    tally.report('handoff requests');
  });
});

describe('lines within a budget', () => {
  const room = { wantedBytes: 20, leastChars: 0, mostBytes: 100 };
  const tooLong = (bytes: number): string => `(${bytes})`;

  it('PLN-04 are kept whole from the newest back without a gap', () => {
    expect(fitLines(['a', 'bbbbbbbbbb', 'cccc', 'dddd'], room, tooLong)).toEqual({
      kept: ['cccc', 'dddd'],
      leftOut: 2,
    });
  });

  it('PLN-04 give way to a note where one alone is larger than the budget', () => {
    expect(fitLines(['a', 'x'.repeat(500), 'dddd'], room, tooLong)).toEqual({
      kept: ['a', '(500)', 'dddd'],
      leftOut: 0,
    });
  });

  it('PLN-04 may be more than wanted up to the least number of characters, never more than the most bytes', () => {
    const lines = ['éééé', 'éééé', 'éééé', 'éééé'];
    expect(fitLines(lines, { wantedBytes: 0, leastChars: 15, mostBytes: 100 }, tooLong).kept).toHaveLength(3);
    expect(fitLines(lines, { wantedBytes: 0, leastChars: 15, mostBytes: 18 }, tooLong).kept).toHaveLength(2);
  });
});
