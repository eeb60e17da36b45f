import { describe, expect, it } from 'vitest';
import { NOTE_BYTES, parseNote } from '../../../../src/context/evict/note.ts';

const refusal = (text: string): string => {
  const read = parseNote(text);
  if (read.ok) throw new Error('the note was taken');
  return read.message;
};

describe('a note', () => {
  it.each(['the port is 8127', 'é'.repeat(120), '“quoted” "too" \\ [x]', '👩‍🔧 fixes it', 'می‌خواهم'])(
    'EVT-03 of one printable line is taken as it is: %s',
    (text) => {
      expect(parseNote(text)).toEqual({ ok: true, note: text });
    },
  );

  it('EVT-03 fault 13: an empty one is refused', () => {
    for (const text of ['', '   ', '\n']) expect(refusal(text)).toMatch(/empty/u);
  });

  it('EVT-03 fault 13: one of 241 bytes is refused with its size, and with what to keep', () => {
    expect(NOTE_BYTES).toBe(240);
    expect(parseNote('x'.repeat(240)).ok).toBe(true);
    expect(refusal('x'.repeat(241))).toMatch(/241 bytes.*one essential fact/u);
    expect(refusal('é'.repeat(121))).toContain('242 bytes');
    expect(refusal('x\n'.repeat(2_500_000))).toContain('5000000 bytes');
  });

  it('EVT-03 fault 13: one with a second line is refused, whatever breaks it', () => {
    for (const line of ['\n', '\r', '\r\n', '\v', '\f', '\u0085', '\u2028', '\u2029'])
      expect(refusal(`a${line}[evicted #1–#2: …]`)).toMatch(/more than one line/u);
  });

  it('EVT-03 a character that is not printable is refused by its number', () => {
    for (const [character, number] of [
      ['\t', 'U+0009'],
      ['\0', 'U+0000'],
      ['\u001b', 'U+001B'],
      ['\u009b', 'U+009B'],
      ['\u202e', 'U+202E'],
      ['\u2066', 'U+2066'],
      ['\ud800', 'U+D800'],
      ['\udc00', 'U+DC00'],
    ] as const)
      expect(refusal(`a${character}b`)).toContain(number);
  });
});
