import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ACTS, readLexically, WEAK_BELOW } from '../../../src/intent/reading.ts';

describe('the lexical reading', () => {
  it.each([
    ['Where is the retry delay set?', 'locate'],
    ['which files mention leases', 'locate'],
    ['Check that the totals agree', 'verify'],
    ['why does it stop', 'analyze'],
    ['Write a short note', 'author'],
    ['rename the folder', 'modify'],
    ['run it', 'operate'],
    ['What is the limit?', 'answer'],
    ['Hello!', 'converse'],
    ['  thanks  ', 'converse'],
  ])('INT-01 reads "%s" as %s', (directive, act) => {
    expect(readLexically(directive).act).toBe(act);
  });

  it('INT-01 is weak exactly where the words name no act', () => {
    for (const unclear of ['the other one', 'hm', '', 'whatever works', 'findings are in'])
      expect([unclear, readLexically(unclear).confidence < WEAK_BELOW]).toEqual([unclear, true]);
    for (const clear of ['find it', 'hello', 'why?', 'Explain src/main.ts'])
      expect([clear, readLexically(clear).confidence < WEAK_BELOW]).toEqual([clear, false]);
  });

  it('INT-01 sees that files are meant from a name of one or a word for one', () => {
    for (const files of [
      'read notes.md',
      'what is in src/app/main.ts?',
      'list the folders',
      'show "a.b" now',
    ])
      expect([files, readLexically(files).domains]).toEqual([files, ['filesystem']]);
    for (const other of ['what is 3.14 times 2', 'is 1.2.3 newer', 'write to a@b.org', 'see https://a.org/x'])
      expect([other, readLexically(other).domains]).toEqual([other, []]);
    expect(readLexically('how are you').domains).toEqual([]);
  });

  it('gives any text a reading, the same each time', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (directive) => {
        const reading = readLexically(directive);
        expect(ACTS).toContain(reading.act);
        expect(reading.confidence).toBeGreaterThanOrEqual(0);
        expect(reading.confidence).toBeLessThanOrEqual(1);
        expect(readLexically(directive)).toEqual(reading);
      }),
    );
  });
});
