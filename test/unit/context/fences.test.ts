import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { readFences, withoutFences } from '../../../src/context/cards/fences.ts';
import { BUILTIN_CARDS, createCards, defineCard } from '../../../src/context/cards/index.ts';
import { type PresentContext, presentFence } from '../../../src/context/cards/present.ts';
import { blake3Hex } from '../../../src/ledger/chain.ts';
import { canonicalJson, type Json } from '../../../src/ledger/json.ts';
import { Tally } from '../ledger/sample.ts';

const cards = createCards(BUILTIN_CARDS);
const fresh: PresentContext = { id: 'p1', earlier: [], evidence: ['e1'] };
const metric = (value: number) => ({ title: 'Copper', value });
const digestOf = (payload: Json) => blake3Hex(canonicalJson(payload));
const fenced = (content: string, mark = '```') => `${mark}card\n${content}\n${mark}`;
const metricFence = (value: number, mark = '```') =>
  fenced(JSON.stringify({ type: 'metric', ...metric(value) }), mark);
const without = (text: string, ...values: readonly number[]) =>
  withoutFences(cards, text, new Set(values.map((value) => digestOf(metric(value)))));

describe('reading fences', () => {
  it('EVI-04 finds every card fence with its place, its type and its payload', () => {
    const first = metricFence(1);
    const second = fenced('{\n  "rows": [], "type": "table",\n  "title": "a"\n}');
    const text = `Before.\n\n${first}\nbetween\n${second}`;
    const fences = readFences(text);
    expect(fences).toMatchObject([
      { kind: 'card', type: 'metric', payload: metric(1) },
      { kind: 'card', type: 'table', payload: { title: 'a', rows: [] } },
    ]);
    expect(fences.map(({ start, end }) => text.slice(start, end))).toEqual([first, second]);
  });

  it('EVI-04 says of a malformed fence what is wrong with it', () => {
    const faultOf = (text: string) =>
      readFences(text).map((fence) => (fence.kind === 'malformed' ? fence.fault : 'none'));
    expect(faultOf(fenced('{"type": "metric", '))).toEqual(['invalid_json']);
    expect(faultOf(fenced(''))).toEqual(['invalid_json']);
    for (const value of ['[]', 'null', '"metric"', '7'])
      expect(faultOf(fenced(value))).toEqual(['invalid_json']);
    expect(faultOf(fenced('{"title": "a"}'))).toEqual(['no_type']);
    expect(faultOf(fenced('{"type": 5}'))).toEqual(['no_type']);
    expect(faultOf('```card\n{"type": "metric"}\n')).toEqual(['unterminated']);
    expect(faultOf('```card')).toEqual(['unterminated']);
    expect(readFences('a\n```card\n{}')).toMatchObject([{ start: 2, end: 12 }]);
  });

  it('EVI-04 takes what stands in another code block, or is no block, for prose', () => {
    const card = metricFence(1);
    for (const text of [
      `\`\`\`\`markdown\n${card}\n\`\`\`\``,
      `\`\`\`\`md\n\`\`\`\n${card}\n\`\`\`\``,
      `~~~\n${card}\n~~~`,
      `~~~\n\`\`\`\n${card}`,
      `\`\`\`\n\`\`\` x\n${card}`,
      `\`\`\`\`\n${card}`,
      `\`\`\`json\n{"type":"metric"}\n\`\`\``,
      '```\n```card\n{}\n',
      '    ```card\n{}\n```',
      'Write ```card\n{}\n``` so.',
      '```card `x`\n{}\n```',
      '``card\n{}\n``',
      '```cards\n{}\n```',
      '```card title\n{}\n```',
      '',
    ])
      expect(readFences(text)).toEqual([]);
  });

  it('EVI-04 reads fences of other lengths, signs, indents and line ends', () => {
    for (const text of [
      metricFence(1, '````'),
      metricFence(1, '~~~'),
      metricFence(1).replaceAll('\n', '\r\n'),
      `   \`\`\` card \t\n{"type":"metric","title":"Copper","value":1}\n  \`\`\`\`  `,
      `\`\`\`\ncode\n\`\`\`\n${metricFence(1)}`,
      `\`\`\` \`x\`\n${metricFence(1)}`,
    ])
      expect(readFences(text)).toMatchObject([{ kind: 'card', payload: metric(1) }]);
    expect(readFences(fenced('{"type":"metric",\n~~~\n"value":1}'))).toMatchObject([
      { fault: 'invalid_json' },
    ]);
  });

  it('EVI-04 keeps members whose names mean something to JavaScript', () => {
    const [fence] = readFences(fenced('{"type":"x","__proto__":{"type":"y"},"constructor":1}'));
    expect(fence).toMatchObject({ kind: 'card', type: 'x' });
    if (fence?.kind === 'card') expect(Object.keys(fence.payload)).toEqual(['__proto__', 'constructor']);
  });

  // Not a speed test: anything but one pass over two million characters would hang here.
  it('EVI-04 reads any text in one pass, however many backticks it holds', () => {
    const hostile = [
      (n: number) => '`'.repeat(n),
      (n: number) => '```card\n'.repeat(n / 8),
      (n: number) => '```card\n```\n'.repeat(n / 12),
      (n: number) => '```card `\n'.repeat(n / 10),
      (n: number) => `\`\`\`card\n${'``` x\n'.repeat(n / 6)}`,
      (n: number) => fenced('['.repeat(n)),
      (n: number) => `${metricFence(1)}${'\n'.repeat(n)}${metricFence(1)}${' \n'.repeat(n / 2)}x`,
      (n: number) => `${metricFence(1)}\n\n`.repeat(n / 60),
      (n: number) => `x${' '.repeat(n)}`,
    ];
    for (const make of hostile) {
      const text = make(2_000_000);
      expect(readFences(text).length).toBeLessThanOrEqual(text.length);
      expect(without(text, 1).length).toBeLessThanOrEqual(text.length);
    }
  });
});

describe('a fence of the accepted answer', () => {
  it('EVI-04 becomes a presentation of the same shape as a call', () => {
    const [fence] = readFences(metricFence(1));
    expect(fence && presentFence(cards, fence, 4, fresh)).toMatchObject({
      kind: 'presented',
      ack: '{"ok":true,"presentation":"p1"}',
      presentation: {
        presentation: 'p1',
        source: { kind: 'fence', step: 4 },
        type: 'metric',
        title: 'Copper',
        payload: metric(1),
        payloadDigest: digestOf(metric(1)),
        derivedFrom: ['e1'],
      },
    });
  });

  it('EVI-04 that is malformed, of an unknown type or does not fit is refused with what to correct', () => {
    const messageOf = (text: string) =>
      readFences(text).map((fence) => {
        const presented = presentFence(cards, fence, 1, fresh);
        return presented.kind === 'refused' ? presented.message : presented.kind;
      });
    expect(messageOf('```card\n{}')).toEqual([
      'A card fence is never closed. Correct it and write the answer again.',
    ]);
    expect(messageOf(fenced('{'))).toEqual([expect.stringContaining('does not hold one JSON object')]);
    expect(messageOf(fenced('{}'))).toEqual([expect.stringContaining('names no card')]);
    expect(messageOf(fenced('{"type":"pie"}'))).toEqual([
      'There is no card of type "pie". The types are: chart, checklist, entity, metric, research, table, timeline.',
    ]);
    expect(messageOf(fenced('{"type":"metric","title":"a"}'))).toEqual([
      [
        'The card fence of type metric does not fit:',
        '- value: found nothing; allowed is a number or a string.',
        'Correct it and write the answer again.',
      ].join('\n'),
    ]);
  });
});

describe('a text without the fences of cards shown elsewhere', () => {
  it('EVI-04 EVA-05 loses those fences alone, whatever the order of their members', () => {
    const turned = fenced('{"value": 1, "type": "metric", "title": "Copper"}');
    const text = `One.\n\n${metricFence(1)}\n\nTwo.\n\n${turned}\n\nThree: ${metricFence(2)}.\n${metricFence(2)}\nEnd.`;
    expect(without(text, 1)).toBe(`One.\n\nTwo.\n\nThree: ${metricFence(2)}.\n${metricFence(2)}\nEnd.`);
    expect(without(text)).toBe(text);
    expect(without(text, 3)).toBe(text);
  });

  it('EVI-04 keeps the blank lines around a fence on one side of it only', () => {
    const gone = metricFence(1);
    const cases: readonly (readonly [string, string])[] = [
      [`a\n\n${gone}\n\nb`, 'a\n\nb'],
      [`a\n${gone}\nb`, 'a\nb'],
      [`a\n${gone}\n\nb`, 'a\n\nb'],
      [`a\n\n${gone}\nb`, 'a\n\nb'],
      [`a\n \n\n${gone}\n\n\t\n\nb`, 'a\n \n\nb'],
      [`a\n\n${gone}\n\n${gone}\n\n\nb\n`, 'a\n\nb\n'],
      [`a\n${gone}\n${gone}\n\nb`, 'a\n\nb'],
      [`a\n${gone}\n\n${gone}\n\nb`, 'a\n\nb'],
      [`a\r\n\r\n${gone}\r\n\r\nb`, 'a\r\n\r\nb'],
      [`${gone}\n\nb\n`, 'b\n'],
      [`\n${gone}\n\nb`, '\nb'],
      [`a\n\n${gone}`, 'a'],
      [`a\n\n${gone}\n \n`, 'a'],
      [`${gone}`, ''],
      [`\n\n${gone}\n`, ''],
      [`a  \n\n\nb\n\n${gone}\n\nc  \n\n\n`, 'a  \n\n\nb\n\nc  \n\n\n'],
    ];
    for (const [text, left] of cases) expect(without(text, 1)).toBe(left);
  });

  it('EVI-04 knows a payload by its checked form and by the form it was written in', () => {
    const payload = { title: 'a' };
    const fence = fenced('{"type":"own","title":"a"}');
    const schema = z.strictObject({ title: z.string(), size: z.int().default(3) });
    const texts = { title: () => 'a', identity: () => 'a' };
    const own = defineCard({ type: 'own', description: 'Shows it.', schemaVersion: 2, schema, ...texts });
    const known = createCards([own]);
    expect(withoutFences(known, fence, new Set([digestOf({ ...payload, size: 3 })]))).toBe('');
    expect(withoutFences(known, fence, new Set([digestOf(payload)]))).toBe('');
    expect(withoutFences(createCards([]), fence, new Set([digestOf(payload)]))).toBe('');
    expect(withoutFences(createCards([]), fence, new Set([digestOf({ ...payload, size: 3 })]))).toBe(fence);
  });

  it('EVI-04 changes nothing when made again, and keeps whatever stands between such fences', () => {
    const tally = new Tally();
    const piece = fc.oneof(
      fc.constantFrom(
        metricFence(1),
        metricFence(2),
        metricFence(1, '~~~~'),
        fenced('{"type":'),
        fenced('{}'),
      ),
      fc.constantFrom('````md', '````', '```', '```card', '~~~', '', ' ', '\t', '{"type":"metric"}'),
      fc.string({ maxLength: 6, unit: fc.constantFrom('a', ' ', '`', '\r', 'é', '🜁') }),
    );
    const text = fc
      .array(fc.tuple(piece, fc.constantFrom('\n', '\n\n', '\r\n', '\n \n')), { maxLength: 12 })
      .map((pieces) => pieces.map((pair) => pair.join('')).join(''));
    fc.assert(
      fc.property(text, (given) => {
        const left = without(given, 1);
        expect(without(left, 1)).toBe(left);
        const gone = readFences(given).filter(
          (fence) => fence.kind === 'card' && digestOf(fence.payload) === digestOf(metric(1)),
        );
        const stretches = [...gone, { start: given.length, end: given.length }].map(({ start }, at) =>
          given.slice(gone[at - 1]?.end ?? 0, start),
        );
        let from = 0;
        for (const stretch of gone.length === 0 ? [] : stretches.map((one) => one.trim())) {
          const found = left.indexOf(stretch, from);
          expect(found).toBeGreaterThanOrEqual(from);
          expect(left.slice(from, found).trim()).toBe('');
          from = found + stretch.length;
        }
        expect(gone.length === 0 ? '' : left.slice(from).trim()).toBe('');
        if (gone.length === 0) expect(left).toBe(given);
        expect(readFences(left).map(({ kind }) => kind)).toEqual(
          readFences(given)
            .filter((fence) => !gone.some(({ start }) => start === fence.start))
            .map(({ kind }) => kind),
        );
        tally.count({
          'a fence goes': gone.length > 0,
          'several go': gone.length > 1,
          'one stays beside': gone.length > 0 && readFences(left).length > 0,
          'none goes': gone.length === 0,
          'one is malformed': readFences(given).some(({ kind }) => kind === 'malformed'),
        });
      }),
      { numRuns: 2_000 },
    );
    tally.report('texts without fences');
  });
});
