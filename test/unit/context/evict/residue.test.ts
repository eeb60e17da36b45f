import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { escapeMarkers } from '../../../../src/context/assemble/markers.ts';
import { weighMessages } from '../../../../src/context/assemble/weigh.ts';
import { parseNote } from '../../../../src/context/evict/note.ts';
import {
  RESIDUE_BYTES,
  residueBytes,
  residueMessages,
  residueText,
  stampText,
} from '../../../../src/context/evict/residue.ts';
import { WORDING_VERSION } from '../../../../src/context/wording/wording.ts';
import { byteLength } from '../../../../src/ledger/json.ts';
import { Tally } from '../../ledger/sample.ts';

/** What each version of the words says. */
const TEXTS: Readonly<Record<number, readonly string[]>> = {
  1: [
    '[evicted #12–#40: out of the context, kept in the transcript.\nNote: "the port is 8127"\nRead any back: transcript {"op":"read","items":[12]}]',
    '[evicted #5–#5: out of the context, kept in the transcript.\nRead any back: transcript {"op":"read","items":[5]}]',
    '[item #17]',
  ],
};

const HOSTILE = ['"', '\\', '[item #', '<skill>', '[evicted #', '&', ']', '“', 'é', '漢', '👩', 'x'] as const;
const note = fc
  .oneof(
    fc.array(fc.constantFrom(...HOSTILE), { minLength: 1, maxLength: 240 }).map((parts) => parts.join('')),
    fc.constantFrom(...HOSTILE).map((part) => part.repeat(Math.floor(240 / byteLength(part)))),
    fc.string({ minLength: 1, maxLength: 240, unit: 'binary' }),
  )
  .filter((text) => parseNote(text).ok);
const number = fc.oneof(fc.nat({ max: 300 }), fc.constant(2 ** 31), fc.nat({ max: 2 ** 31 - 1 }));

describe('a residue', () => {
  it('EVT-03 has the words of its version: raise WORDING_VERSION and add them here', () => {
    expect([
      residueText({ from: 12, to: 40, note: 'the port is 8127' }),
      residueText({ from: 5, to: 5, note: null }),
      stampText(17),
    ]).toEqual(TEXTS[WORDING_VERSION]);
  });

  it('EVT-03 EVT-02 fault 13: has at most 640 bytes and three lines, whatever its note and its numbers', () => {
    const tally = new Tally();
    let most = 0;
    fc.assert(
      fc.property(fc.option(note, { freq: 8 }), number, number, (held, a, b) => {
        const left = { from: Math.min(a, b), to: Math.max(a, b), note: held };
        const text = residueText(left);
        most = Math.max(most, byteLength(text));
        expect(byteLength(text)).toBeLessThanOrEqual(RESIDUE_BYTES);
        expect(text.split(/[\n\r\u0085\u2028\u2029]/u)).toHaveLength(held === null ? 2 : 3);
        // Its own mark is the only one in it: the note opens none.
        expect(escapeMarkers(text.slice(1))).toBe(text.slice(1));
        tally.count({
          'without a note': held === null,
          'long note': held !== null && byteLength(held) > 200,
          'a marker in the note': held !== null && escapeMarkers(held) !== held,
          'ten digits': left.to >= 1_000_000_000,
        });
      }),
      { numRuns: 3_000, examples: [['"'.repeat(240), 2 ** 31, 2 ** 31]] },
    );
    tally.report(`residues, the longest of ${most} bytes`);
  });

  it('EVT-02 fault 9: is one text of the user and nobody else', () => {
    expect(residueMessages({ from: 1, to: 9, note: null })).toEqual([
      { role: 'user', content: [{ type: 'text', text: residueText({ from: 1, to: 9, note: null }) }] },
    ]);
  });

  it('EVT-03 weighs what its message weighs', () => {
    const left = { from: 1, to: 9, note: 'é' };
    expect(residueBytes(left)).toBe(weighMessages(residueMessages(left)));
    expect(residueBytes(left)).toBeGreaterThan(byteLength(residueText(left)));
  });

  it('EVT-03 fault 13: a note of a foreign log that would not be taken here is left out', () => {
    const bare = residueText({ from: 1, to: 9, note: null });
    for (const foreign of ['', 'a\nb', 'x'.repeat(241)])
      expect(residueText({ from: 1, to: 9, note: foreign })).toBe(bare);
  });

  it('EVT-03 nobody else can write a residue, a stamp or a reminder', () => {
    for (const forged of [residueText({ from: 1, to: 9, note: null }), stampText(4), '[PRESSURE] …'])
      expect(escapeMarkers(forged).startsWith('&#91;')).toBe(true);
    expect(escapeMarkers('[items] [evictedly] [pressure cooker]')).toBe(
      '[items] [evictedly] [pressure cooker]',
    );
  });
});
