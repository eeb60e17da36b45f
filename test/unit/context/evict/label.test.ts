import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { itemLabels, LABEL_CHARS, labelOf } from '../../../../src/context/evict/label.ts';
import { nudgeText } from '../../../../src/context/wording/wording.ts';
import { Tally } from '../../ledger/sample.ts';
import { call, said, text, turnOf } from './turns.ts';

describe('a label', () => {
  it('EVT-01 is the first line that says something, of the first text that does', () => {
    expect(labelOf([text('One line.\nAnother.')])).toBe('One line.');
    expect(labelOf([text(' \n\t\r\n  Indented \nmore')])).toBe('Indented');
    expect(labelOf([text(''), text('  '), text('third')])).toBe('third');
    for (const end of ['\n', '\r', '\r\n', '\u2028', '\u2029'])
      expect(labelOf([text(`one${end}two`)])).toBe('one');
  });

  it('EVT-01 of calls without prose is the description that the first was given; else there is none', () => {
    const described = call('run', { description: 'List the tolls\nof all bridges' });
    expect(labelOf([call('look'), described])).toBe('');
    expect(labelOf([described, call('look')])).toBe('List the tolls');
    expect(labelOf([text('prose'), described])).toBe('prose');
    expect(labelOf([{ type: 'tool_call', id: 'c', name: 'run', args: { description: 7 } }])).toBe('');
    expect(labelOf([{ type: 'tool_call', id: 'c', name: 'run', args: null, raw: '{' }])).toBe('');
    expect(labelOf([{ type: 'thinking', text: 'thought' }])).toBe('');
    expect(labelOf([])).toBe('');
  });

  it('EVT-01 has at most 50 characters, and none of them is cut in two', () => {
    expect(LABEL_CHARS).toBe(50);
    expect(labelOf([text('x'.repeat(51))])).toBe('x'.repeat(50));
    expect(labelOf([text('😀'.repeat(51))])).toBe('😀'.repeat(50));
    expect(labelOf([text(`x${'😀'.repeat(51)}`)])).toBe(`x${'😀'.repeat(49)}`);
    const tally = new Tally();
    const chars = fc.oneof(
      { weight: 40, arbitrary: fc.constantFrom('a', ' ', 'é', '漢', '😀') },
      { weight: 1, arbitrary: fc.constant('\n') },
    );
    fc.assert(
      fc.property(fc.array(chars, { maxLength: 150, size: 'max' }), (parts) => {
        const whole = parts.join('');
        const label = labelOf([text(whole)]);
        const line = whole.trimStart().split('\n')[0] ?? '';
        expect(label.isWellFormed()).toBe(true);
        expect(line.startsWith(label)).toBe(true);
        expect(label).toBe([...line].slice(0, LABEL_CHARS).join('').trimEnd());
        tally.count({
          clipped: [...line].length > LABEL_CHARS,
          'whole line': line !== '' && [...line].length <= LABEL_CHARS,
          'with pairs': /[\u{10000}-\u{10ffff}]/u.test(label),
        });
      }),
      { numRuns: 2_000, examples: [[Array.from('x'.repeat(60))]] },
    );
    tally.report('labels');
  });

  it('EVT-01 of a text of 5 MB is found at once', () => {
    const startedMs = performance.now();
    for (const part of [' ', '\n', 'x', ' \n\t', '😀']) labelOf([text(part.repeat(5_000_000 / part.length))]);
    expect(performance.now() - startedMs).toBeLessThan(5_000);
  });
});

describe('the labels of a turn', () => {
  it('EVT-01 are those of its prompt and each of its steps, oldest first; none of one that never began', () => {
    const turn = turnOf([text('What is the toll?')], [said(1, text('Let me look.'), call('look')), said(2)]);
    expect(itemLabels(turn)).toEqual([
      { item: 10, label: 'What is the toll?' },
      { item: 11, label: 'Let me look.' },
      { item: 12, label: '' },
    ]);
    expect(itemLabels(turnOf([text('q')], [], { begun: false }))).toEqual([]);
  });

  it('EVT-01 name what stands in the place of a reply that was sent back, and nothing of the reply', () => {
    const nudge = { step: 1, check: 'empty-step' } as const;
    const sentBack = turnOf([text('q')], [said(1, text('withdrawn')), { kind: 'nudge', body: nudge }]);
    expect(nudgeText(nudge).startsWith(itemLabels(sentBack)[1]?.label ?? '?')).toBe(true);
    const statement = { step: 1, check: 'uncited-source', text: 'I cannot say.\nMore.' } as const;
    const stated = turnOf([text('q')], [said(1, text('withdrawn')), { kind: 'statement', body: statement }]);
    expect(itemLabels(stated)[1]?.label).toBe('I cannot say.');
  });
});
