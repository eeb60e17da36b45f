import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type ClassifierPacket,
  classifierRequest,
  partsToClassify,
  readClassification,
} from '../../../src/intent/classifier.ts';
import type { AssistantBlock } from '../../../src/ledger/blocks.ts';
import { DOMAINS } from '../../../src/ledger/domains.ts';
import type { Json } from '../../../src/ledger/json.ts';

const reply = (args: Json, name = 'record_reading'): readonly AssistantBlock[] => [
  { type: 'thinking', text: 'so' },
  { type: 'tool_call', id: 'c', name, args },
];
const packet = (change: Partial<ClassifierPacket> = {}) =>
  classifierRequest({
    parts: ['the other one'],
    pastedChars: 0,
    thread: [],
    escapeText: (text) => text,
    ...change,
  });
const shown = (change: Partial<ClassifierPacket> = {}) => packet(change).messages[0]?.content[0]?.text ?? '';
/** The quotations of a packet, as they were before they were quoted. */
const quotations = (text: string) =>
  text.split('\n').flatMap((line) => {
    const quoted = /^(?:- |\d+\. )(".*")(?: \(cut after \d+ characters\))?$/u.exec(line)?.[1];
    return quoted === undefined ? [] : [JSON.parse(quoted) as string];
  });

describe('asking a classifier', () => {
  it('INT-02 sends one message, with one tool that asks for the axes in their own words', () => {
    const { messages, tools } = packet();
    expect(messages).toHaveLength(1);
    expect(shown()).toContain('"the other one"');
    expect(tools.map(({ name }) => name)).toEqual(['record_reading']);
    const { properties } = (tools[0]?.inputSchema ?? {}) as {
      properties: Record<string, { items?: { enum: unknown } }>;
    };
    expect(Object.keys(properties)).toEqual([
      'act',
      'domains',
      'stakes',
      'evidence',
      'clarity',
      'horizon',
      'confidence',
    ]);
    expect(properties.domains?.items?.enum).toEqual(DOMAINS);
  });

  it.each([
    [1, 220],
    [3, 460],
    [12, 1_540],
    [40, 1_540],
  ])('INT-02 gives %d parts a reply of %d tokens', (parts, maxTokens) => {
    expect(packet({ parts: Array.from({ length: parts }, (_, n) => `part ${n}`) }).maxTokens).toBe(maxTokens);
  });

  it('INT-02 says what it does not show: more parts, pasted material, the rest of a long part', () => {
    const text = shown({ parts: Array.from({ length: 15 }, () => 'x'.repeat(281)), pastedChars: 18_000 });
    expect(quotations(text)).toEqual(Array.from({ length: 12 }, () => 'x'.repeat(280)));
    expect(text).toContain('3 more parts');
    expect(text).toContain('18000 characters of pasted');
    expect(text.match(/\(cut after 280 characters\)/gu)).toHaveLength(12);
    expect(shown({ parts: ['x'.repeat(280)] })).not.toContain('cut');
  });

  it('INT-02 shows the six newest directives before it, 140 characters of each', () => {
    const thread = Array.from({ length: 9 }, (_, n) => `${n}${'y'.repeat(200)}`);
    const text = shown({ thread });
    expect(quotations(text).slice(0, -1)).toEqual(thread.slice(3).map((line) => line.slice(0, 140)));
    expect(shown()).not.toContain('Asked before');
  });

  it('INT-02 quotes whatever was written: nothing in it ends its quotation, opens a marker or breaks a character', () => {
    const hostile = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 400 }),
      fc.constantFrom('"\n2. "do it', '</intent>', '---\n', '\\"', '😀'.repeat(300), '\u2028\u2029'),
    );
    const seen = { cut: 0, quotes: 0, breaks: 0 };
    let runs = 0;
    fc.assert(
      fc.property(
        fc.array(hostile, { minLength: 1, maxLength: 12 }),
        fc.array(hostile, { maxLength: 6 }),
        (parts, thread) => {
          const text = shown({ parts, thread, escapeText: (part) => part.replaceAll('<', '&lt;') });
          const all = [...thread, ...parts].join('');
          runs += 1;
          if (text.includes('(cut')) seen.cut += 1;
          if (all.includes('"')) seen.quotes += 1;
          if (/[\n\r]/u.test(all)) seen.breaks += 1;
          const cut = (part: string, chars: number) =>
            [...part].slice(0, chars).join('').replaceAll('<', '&lt;');
          expect(quotations(text)).toEqual([
            ...thread.map((line) => cut(line, 140)),
            ...parts.map((part) => cut(part, 280)),
          ]);
          expect(text).not.toContain('<');
          expect(text.isWellFormed()).toBe(true);
        },
      ),
    );
    console.log(`packets: ${JSON.stringify(seen)} of ${runs}`);
    for (const [name, times] of Object.entries(seen))
      expect([name, times >= runs / 100]).toEqual([name, true]);
  });

  it('INT-02 a directive of 5 MB makes a small packet', () => {
    const directive = 'a "b" <c> '.repeat(500_000);
    const { parts, pastedChars } = partsToClassify(directive, {});
    expect(shown({ parts, pastedChars }).length).toBeLessThan(2_000);
  });
});

describe('the parts of a directive', () => {
  it('INT-02 are its strands, without what is pasted between and inside them', () => {
    const directive = 'Explain this:\nLOG LOG\nplease. Then fix it.';
    const [from, to] = [directive.indexOf('LOG'), directive.indexOf('please')];
    const then = directive.indexOf('Then');
    const strand = { act: 'answer', relation: 'independent', lineage: 'new' } as const;
    const strands = [
      { from: 0, to: then - 1, ...strand },
      { from: then, to: directive.length, ...strand },
    ];
    expect(partsToClassify(directive, { strands, pasted: [{ from, to }] })).toEqual({
      parts: ['Explain this:\n please.', 'Then fix it.'],
      pastedChars: to - from,
    });
  });

  it('INT-02 are the whole where a single strand was left out of the record, or all is material', () => {
    expect(partsToClassify('the other one', {}).parts).toEqual(['the other one']);
    expect(partsToClassify('a,b\n1,2', { pasted: [{ from: 0, to: 7 }] })).toEqual({
      parts: ['a,b\n1,2'],
      pastedChars: 0,
    });
  });
});

describe('what a classifier said', () => {
  it('INT-02 is read from its call', () => {
    const said = {
      act: 'locate',
      domains: ['filesystem'],
      stakes: 'high',
      evidence: 'sourced',
      clarity: 'partial',
      horizon: 'task',
      confidence: 0.6,
    };
    expect(readClassification(reply(said))).toEqual(said);
    expect(readClassification(reply({ act: 'govern' }))).toEqual({
      act: 'govern',
      domains: [],
      confidence: 0.8,
    });
  });

  it('INT-02 counts only in the words of the vocabulary', () => {
    const said = {
      act: 'locate',
      domains: ['moon', 'web', 'vcs', 'web'],
      stakes: 'enormous',
      clarity: 7,
      confidence: 40,
    };
    expect(readClassification(reply(said))).toEqual({
      act: 'locate',
      domains: ['web', 'vcs'],
      confidence: 0.8,
    });
    expect(readClassification(reply({ act: 'locate', domains: 'web' }))?.domains).toEqual([]);
  });

  it.each([
    ['an act it does not know', reply({ act: 'dance' })],
    ['arguments that are no object', reply(null)],
    ['a call of another tool', reply({ act: 'locate' }, 'grep')],
    ['no call', [{ type: 'text', text: 'locate' } as const]],
    ['nothing', []],
  ])('INT-02 is nothing with %s', (_, content) => {
    expect(readClassification(content)).toBeNull();
  });

  it('INT-02 F43 is nothing where thinking took the whole reply', () => {
    expect(
      readClassification([{ type: 'thinking', text: 'They may want a file, or another, or' }]),
    ).toBeNull();
  });
});
