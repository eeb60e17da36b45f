import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { countChars, sliceChars, sliceLines, windowResult } from '../../../src/context/evidence/window.ts';

const OMISSION = /^\[lines? [^\]]* omitted, (\d+) characters: recall\((\{.*\})\)\](?:\n|$)/m;
const CLIP = /… \[(\d+) more characters of line (\d+): recall\((\{[^[\]]*\})\)\]/gu;

/** The lines of a text by the plainest rule: each with its line end, none after a final one. */
function plainLines(text: string): readonly string[] {
  return text.split(/(?<=\n)/u).filter((line) => line !== '');
}

/** Puts back what a window names, each range taken from the original by the plainest means. */
function restore(window: string, original: string): string {
  const whole = [...original];
  const lines = plainLines(original);
  const unclipped = window.replace(CLIP, (_, count: string, line: string, call: string) => {
    const { id, chars } = JSON.parse(call) as { id: string; chars: { from: number; to: number } };
    expect(id).toBe('e7');
    expect(chars.to - chars.from).toBe(Number(count));
    const rest = whole.slice(chars.from, chars.to).join('');
    expect(lines[Number(line) - 1]?.replace('\n', '').endsWith(rest)).toBe(true);
    return rest;
  });
  return unclipped.replace(OMISSION, (_, count: string, call: string) => {
    const { range } = JSON.parse(call) as { range: { from: number; to: number } };
    const omitted = lines.slice(range.from - 1, range.to).join('');
    expect([...omitted].length).toBe(Number(count));
    return omitted;
  });
}

const character = fc.constantFrom('a', 'b', ' ', '\n', '\n', 'é', '😀', '\r', '\ud800');
const piece = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: character, maxLength: 200 }) },
  { weight: 1, arbitrary: fc.integer({ min: 1_900, max: 9_000 }).map((length) => '😀x'.repeat(length / 2)) },
  {
    weight: 2,
    arbitrary: fc.integer({ min: 1, max: 300 }).map((count) => 'a line of words\n'.repeat(count)),
  },
);
/** Pieces joined by a letter, so that two halves of a pair never meet and become another character. */
const longText = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join('z'));

describe('windowResult', () => {
  it('EVI-01 leaves a result of up to 30,000 characters untouched, whatever its lines', () => {
    const oneLine = 'x'.repeat(30_000);
    expect(windowResult(oneLine, { evidenceId: 'e7' })).toBe(oneLine);
    const emoji = '😀'.repeat(30_000);
    expect(windowResult(emoji, { evidenceId: 'e7' })).toBe(emoji);
    const longLines = `${'y'.repeat(14_000)}\n`.repeat(2);
    expect(windowResult(longLines, { evidenceId: 'e7' })).toBe(longLines);
  });

  it('EVI-01 shows 12,000 characters of head and 18,000 of tail in whole lines, and names the rest', () => {
    const lines = Array.from({ length: 100 }, (_, index) => `${String(index + 1).padStart(999, '.')}\n`);
    const window = windowResult(lines.join(''), { evidenceId: 'e7' });
    const omission =
      '[lines 13 to 82 omitted, 70000 characters: recall({"id":"e7","range":{"from":13,"to":82}})]\n';
    expect(window).toBe(lines.slice(0, 12).join('') + omission + lines.slice(82).join(''));
  });

  it('windows at the first character past the limit', () => {
    const text = `${'x'.repeat(999)}\n`.repeat(30);
    expect(windowResult(text, { evidenceId: 'e7' })).toBe(text);
    expect(windowResult(`${text}y`, { evidenceId: 'e7' })).toContain('omitted');
  });

  it('names one omitted line as one line', () => {
    const window = windowResult('aaaa\nbbbb\ncccc\n', { evidenceId: 'e1', limitChars: 12 });
    expect(window).toBe(
      '[lines 1 to 2 omitted, 10 characters: recall({"id":"e1","range":{"from":1,"to":2}})]\ncccc\n',
    );
    const single = windowResult('aaaa\nbbbb\ncccc\ndd', { evidenceId: 'e1', limitChars: 15 });
    expect(single).toBe(
      'aaaa\n[line 2 omitted, 5 characters: recall({"id":"e1","range":{"from":2,"to":2}})]\ncccc\ndd',
    );
  });

  it('EVI-01 keeps 2,000 characters of a longer line and names the rest by characters of the whole text', () => {
    const text = `first\n${'😀'.repeat(40_000)}`;
    const call = 'recall({"id":"e7","chars":{"from":2006,"to":40006}})';
    const note = `… [38000 more characters of line 2: ${call}]`;
    expect(windowResult(text, { evidenceId: 'e7' })).toBe(`first\n${'😀'.repeat(2_000)}${note}`);
  });

  it('counts the place of a clipped line in the tail from the beginning of the text', () => {
    const text = `${'é😀\n'.repeat(20_000)}${'t'.repeat(2_500)}\n`;
    const window = windowResult(text, { evidenceId: 'e7' });
    const call = 'recall({"id":"e7","chars":{"from":62000,"to":62500}})';
    expect(window.endsWith(`… [500 more characters of line 20001: ${call}]\n`)).toBe(true);
  });

  it('EVI-01 shows or names every character, for any text and limit', () => {
    const limit = fc.oneof(fc.integer({ min: 1, max: 400 }), fc.integer({ min: 400, max: 40_000 }));
    fc.assert(
      fc.property(longText, limit, (text, limitChars) => {
        const window = windowResult(text, { evidenceId: 'e7', limitChars });
        if ([...text].length <= limitChars) expect(window).toBe(text);
        else expect(restore(window, text)).toBe(text);
      }),
      { numRuns: 300 },
    );
  });

  it('shows at most the limit beside the omission line', () => {
    fc.assert(
      fc.property(longText, fc.integer({ min: 1, max: 40_000 }), (text, limitChars) => {
        const window = windowResult(text, { evidenceId: 'e7', limitChars });
        expect([...window.replace(OMISSION, '')].length).toBeLessThanOrEqual(limitChars);
      }),
      { numRuns: 300 },
    );
  });

  it('writes an id with quotes as valid JSON', () => {
    const window = windowResult('aa\nbb\n', { evidenceId: 'a"b', limitChars: 1 });
    expect(window).toContain('recall({"id":"a\\"b","range":{"from":1,"to":2}})');
  });

  it('windows 50 MB in linear time, in one line or in millions', () => {
    const started = performance.now();
    expect(windowResult('x'.repeat(50_000_000), { evidenceId: 'e7' }).length).toBeLessThan(3_000);
    expect(windowResult('short line\n'.repeat(4_600_000), { evidenceId: 'e7' }).length).toBeLessThan(31_000);
    expect(performance.now() - started).toBeLessThan(10_000);
  });
});

describe('sliceLines', () => {
  it('EVI-01 gives 1-based lines with both ends, clamped to the text', () => {
    expect(sliceLines('a\nb\nc\n', 2, 3)).toEqual({ text: 'b\nc\n', from: 2, to: 3, totalLines: 3 });
    expect(sliceLines('a\nb\nc', 0, 99)).toEqual({ text: 'a\nb\nc', from: 1, to: 3, totalLines: 3 });
    expect(sliceLines('a\nb', 5, 9)).toEqual({ text: '', from: 5, to: 2, totalLines: 2 });
    expect(sliceLines('', 1, 1)).toEqual({ text: '', from: 1, to: 0, totalLines: 0 });
  });

  it('agrees with splitting at line ends', () => {
    const bound = fc.integer({ min: -2, max: 12 });
    fc.assert(
      fc.property(fc.string({ unit: character, maxLength: 40 }), bound, bound, (text, from, to) => {
        const expected = plainLines(text).slice(Math.max(from, 1) - 1, Math.max(to, 0));
        expect(sliceLines(text, from, to).text).toBe(expected.join(''));
      }),
    );
  });
});

describe('sliceChars and countChars', () => {
  it('count code points and never split a pair', () => {
    expect(sliceChars('a😀b', 1, 2)).toBe('😀');
    expect(countChars('a😀b\ud83d')).toBe(4);
    const bound = fc.integer({ min: 0, max: 30 });
    fc.assert(
      fc.property(fc.string({ unit: character, maxLength: 40 }), bound, bound, (text, from, to) => {
        expect(sliceChars(text, from, to)).toBe([...text].slice(from, to).join(''));
        expect(countChars(text)).toBe([...text].length);
      }),
    );
  });
});
