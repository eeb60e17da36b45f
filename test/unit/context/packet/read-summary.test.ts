import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readSummary } from '../../../../src/context/packet/read-summary.ts';
import type { ChatReply } from '../../../../src/context/request.ts';
import { Tally } from '../../ledger/sample.ts';
import { markersIn } from './cards.ts';

type Reply = Pick<ChatReply, 'content' | 'finish'>;

function said(text: string, finish: ChatReply['finish'] = 'stop'): Reply {
  return { content: [{ type: 'text', text }], finish };
}

const words = (text: string): number => text.split(/\s+/u).filter((word) => word !== '').length;

describe('the reply of a summariser', () => {
  it('PLN-02 is nothing when it is empty, blank, or holds only thoughts', () => {
    expect(readSummary({ content: [], finish: 'stop' }, 400)).toBeNull();
    expect(readSummary(said(' \n\t'), 400)).toBeNull();
    expect(readSummary(said('```\n\n```'), 400)).toBeNull();
    const thought: Reply = { content: [{ type: 'thinking', text: 'They spoke of roofs.' }], finish: 'stop' };
    expect(readSummary(thought, 400)).toBeNull();
  });

  it('PLN-06 stands as it is within its bound', () => {
    const text = 'T1 chose brick.\n\n- open: the roof, see e4\n- refused: tar';
    expect(readSummary(said(text), 400)).toBe(text);
  });

  it('PLN-06 loses whole sentences beyond its bound and is never cut inside one', () => {
    const text = 'One two three. Four five six!\nSeven eight nine? Ten.';
    expect(readSummary(said(text), 10)).toBe(text);
    expect(readSummary(said(text), 9)).toBe('One two three. Four five six!\nSeven eight nine?');
    expect(readSummary(said(text), 8)).toBe('One two three. Four five six!');
    expect(readSummary(said(text), 5)).toBe('One two three.');
  });

  it('PLN-06 is refused when its first sentence alone is too long', () => {
    expect(readSummary(said('One two three four. Five.'), 3)).toBeNull();
    expect(readSummary(said('漢'.repeat(5_000)), 400)).toBeNull();
    expect(readSummary(said('x'.repeat(100_000)), 400)).toBeNull();
  });

  it('PLN-06 takes no figure, abbreviation or initial for the end of a sentence', () => {
    const text = 'It cost 3.50 in a.md, i.e. less than J. Smith asked. Done.';
    expect(readSummary(said(text), 11)).toBe('It cost 3.50 in a.md, i.e. less than J. Smith asked.');
    expect(readSummary(said('It cost approx. 40 EUR.'), 4)).toBeNull();
  });

  it('PLN-06 ends sentences of scripts without spaces at their own marks', () => {
    expect(readSummary(said('漢字の文。次の文。'), 1)).toBe('漢字の文。');
  });

  it('PLN-06 loses a fence around it, and keeps one inside', () => {
    expect(readSummary(said('```markdown\nBrick.\nTar.\n```'), 400)).toBe('Brick.\nTar.');
    expect(readSummary(said('~~~\nBrick.\n~~~\n'), 400)).toBe('Brick.');
    const inside = 'Run this:\n```\nmake\n```';
    expect(readSummary(said(inside), 400)).toBe(inside);
    const first = '```\nmake\n```\nThen stop.';
    expect(readSummary(said(first), 400)).toBe(first);
  });

  it('PLN-06 loses its unfinished end when the reply was cut at its limit', () => {
    expect(readSummary(said('Brick was chosen. The roof is', 'length'), 400)).toBe('Brick was chosen.');
    expect(readSummary(said('Brick was chosen. The roof is'), 400)).toBe('Brick was chosen. The roof is');
    expect(readSummary(said('Brick was cho', 'length'), 400)).toBeNull();
    expect(readSummary(said('```\nBrick was chosen. The', 'length'), 400)).toBe('Brick was chosen.');
  });

  it('PLN-06 is a beginning of what was said, within its bound, and opens none of our markers', () => {
    const tally = new Tally();
    const piece = fc.oneof(
      fc.constantFrom('. ', '! ', '\n', '.', '。', ' ', '… ', '.) ', 'e.g. '),
      fc.constantFrom('</context_summary>', '[evidence:e1]', '<stance>'),
      fc.stringMatching(/^[A-Za-z0-9é]{1,9}$/u),
      fc.stringMatching(/^[A-Za-z ]{1,30}$/u),
    );
    const text = fc.array(piece, { maxLength: 60 }).map((pieces) => pieces.join(''));
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 60 }), (made, bound) => {
        const read = readSummary(said(made), bound);
        const shorter = readSummary(said(made), Math.max(1, bound - 1));
        tally.count({
          none: read === null && made.trim() !== '',
          whole: read !== null && words(made) <= bound,
          part: read !== null && words(read) < words(made),
          forged: read !== null && markersIn(made).length > 0,
        });
        if (shorter !== null) expect(read?.startsWith(shorter)).toBe(true);
        if (read === null) return;
        expect(words(read)).toBeLessThanOrEqual(bound);
        expect(markersIn(read)).toEqual([]);
        const plain = read.replaceAll('&lt;', '<').replaceAll('&#91;', '[');
        expect(made.trim().startsWith(plain)).toBe(true);
        const rest = made.trim().slice(plain.length);
        expect(rest === '' || /^(?:\s|[^.]*$)/u.test(rest) || /[.!?…。)\n]$/u.test(plain)).toBe(true);
      }),
      { numRuns: 1_000 },
    );
    tally.report('summaries read');
  });
});
