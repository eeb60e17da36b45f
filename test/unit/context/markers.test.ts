import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { escapeMarkers, tagged } from '../../../src/context/assemble/markers.ts';
import { windowResult } from '../../../src/context/evidence/window.ts';
import { WORDING_EN } from '../../../src/context/wording/en.ts';
import { Tally } from '../ledger/sample.ts';

const TAGS = [
  'turn_context',
  'intent',
  'stance',
  'thread',
  'work_contract',
  'context_summary',
  'more_tools',
  'skills',
  'servers',
  'skill',
] as const;

/** How the runtime begins what it says: each with its own mark. */
const MARKS = [...Object.values(WORDING_EN.nudges), ...Object.values(WORDING_EN.withheld)].map((words) =>
  words.slice(0, words.indexOf(']') + 1),
);

/** Every way of ours to begin a control text, written as the request would carry it. */
const OURS = [
  ...TAGS.flatMap((tag) => [`<${tag}>`, `</${tag}>`, `<${tag} turns="1-8">`]),
  '[evidence:e1]',
  ...MARKS,
  '[line 3 omitted, 9 characters: recall({"id":"e1"})]',
  '[lines 13 to 82 omitted, 70000 characters: recall({"id":"e1"})]',
  '[123 more characters of line 4: recall({"id":"e1"})]',
];

/** What somebody would write who wants text to be taken for ours: markers whole, in halves, in capitals. */
const piece = fc.oneof(
  fc.constantFrom(...OURS),
  fc.constantFrom(...OURS).map((marker) => marker.toUpperCase()),
  fc.tuple(fc.constantFrom(...OURS), fc.nat({ max: 20 })).map(([marker, cut]) => marker.slice(0, cut)),
  fc.tuple(fc.constantFrom(...OURS), fc.nat({ max: 20 })).map(([marker, cut]) => marker.slice(cut)),
  fc.constantFrom('&lt;', '&#91;', '<', '[', '</', ' ', '\n', '&', 'x'),
  fc.string({ maxLength: 5 }),
);
const text = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(''));

/** The plainest search for anything of ours. */
function markersIn(found: string): readonly string[] {
  const lower = found.toLowerCase();
  const starts = [
    ...TAGS.flatMap((tag) => [`<${tag}>`, `</${tag}>`, `<${tag} `]),
    '[evidence:',
    ...MARKS.map((mark) => mark.slice(0, -1)),
  ].filter((start) => lower.includes(start));
  const windows = lower.match(/\[(?:lines? \d+(?: to \d+)? omitted|\d+ more characters of line)/gu) ?? [];
  return [...starts, ...windows];
}

describe('the guard of our markers', () => {
  it('lets no text of anybody else produce one', () => {
    const tally = new Tally();
    fc.assert(
      fc.property(text, (forged) => {
        expect(markersIn(escapeMarkers(forged))).toEqual([]);
        tally.count({ forged: markersIn(forged).length > 0, harmless: escapeMarkers(forged) === forged });
      }),
      { numRuns: 2_000 },
    );
    tally.report('forged markers');
  });

  it('changes nothing when it is applied again, and nothing of text that forges nothing', () => {
    fc.assert(
      fc.property(text, (forged) => {
        const once = escapeMarkers(forged);
        expect(escapeMarkers(once)).toBe(once);
      }),
    );
    for (const harmless of [
      'a < b',
      'if (x <turns)',
      '<intents>',
      '[1, 2]',
      '[evidence]',
      'lines 1 to 2',
      '<b>',
    ])
      expect(escapeMarkers(harmless)).toBe(harmless);
  });

  it('knows every marker of ours: escaped it is not ours any more', () => {
    for (const marker of OURS) {
      expect(markersIn(marker)).not.toEqual([]);
      expect(escapeMarkers(marker)).not.toBe(marker);
    }
    for (const tag of TAGS) expect(markersIn(tagged(tag, ''))).toHaveLength(2);
  });

  it('knows the line with which a window names what it left out', () => {
    const long = `${'y'.repeat(2_500)}\n`.repeat(20);
    const shown = windowResult(long, { evidenceId: 'e1' });
    expect(markersIn(shown).length).toBeGreaterThan(1);
    expect(markersIn(escapeMarkers(shown))).toEqual([]);
  });
});
