import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { STRAND_WORDS_EN } from '../../../src/intent/lexicon/strands-en.ts';
import {
  keywordsOf,
  type PlacedStrand,
  type Thread,
  threadId,
  threadOf,
} from '../../../src/intent/lineage.ts';
import { strandsOf } from '../../../src/intent/strands.ts';
import { ACTS, LINEAGES } from '../../../src/ledger/reading.ts';

const lineageOf = (text: string) => strandsOf(text, STRAND_WORDS_EN, () => 'answer').strands[0]?.lineage;
const keywords = (text: string) => keywordsOf(text, STRAND_WORDS_EN);

describe('the lineage that words give a request', () => {
  it.each([
    ['correct that: I need the figures of 2024', 'corrects'],
    ['No, I meant the other file', 'corrects'],
    ['sorry, I meant the first table', 'corrects'],
    ['Correction: the port is 80', 'corrects'],
    ['Instead of that, list the folders', 'replaces'],
    ['Replace my last request with a list of ports', 'replaces'],
    ['forget that, show me the map', 'replaces'],
    ['Never mind that. List the ports', 'replaces'],
    ['ignore that and list the ports', 'replaces'],
    ['continue', 'continues'],
    ['Please go on', 'continues'],
    ['summarise it', 'continues'],
    ['do the same for the second table', 'continues'],
    ['Send that to Bob', 'continues'],
  ] as const)('INT-03 of "%s" is %s', (text, lineage) => {
    expect(lineageOf(text)).toBe(lineage);
  });

  it.each([
    'correct that typo in the readme',
    'Forget that the file exists',
    'Replace the last request header with a cookie',
    'What does "forget that, and go home" mean?',
    "Don't replace my last request with another",
    'Ignore that warning in the log',
    'Check that the totals agree',
    'Show the result of the test',
  ])('INT-03 of "%s" is new: no command stands there', (text) => {
    expect(lineageOf(text)).toBe('new');
  });

  it.each([
    'stop using semicolons',
    'Stop the server',
    'cancel the subscription',
    'pause the music',
    'abort',
    'drop the table',
    'halt and report',
    'stop',
  ])('INT-03 F42 of "%s" is new: no word stops, pauses or replaces a run', (text) => {
    expect(lineageOf(text)).toBe('new');
  });

  it('INT-03 F42 no list of commands holds a word that stops anything', () => {
    const { continues, corrects, correctsClosed, replaces, replacesClosed } = STRAND_WORDS_EN;
    const words = [continues, corrects, correctsClosed, replaces, replacesClosed].join(' ').split(/[\s|]+/u);
    for (const word of ['stop', 'cancel', 'abort', 'pause', 'halt', 'quit', 'kill'])
      expect(words).not.toContain(word);
  });
});

describe('the words that name a subject', () => {
  it('INT-03 F44 are neither question words nor verbs of asking nor courtesies', () => {
    expect([...keywords('What is the harbour toll, please? Explain why it is what it is.')]).toEqual([
      'harbour',
      'toll',
    ]);
    expect([...keywords('Which ones are those? How many, and where? Tell me.')]).toEqual([]);
    expect([...keywords('Übersetze die नमस्ते Datei')]).toContain('नमस्ते');
  });
});

const thread = (id: string, act: Thread['act'], ...words: readonly string[]): Thread => ({
  id,
  act,
  keywords: new Set(words),
});
const strand = (
  act: PlacedStrand['act'],
  lineage: PlacedStrand['lineage'],
  ...words: readonly string[]
): PlacedStrand => ({
  act,
  lineage,
  keywords: new Set(words),
});

describe('the thread of a request', () => {
  const tolls = thread('T1.0', 'answer', 'harbour', 'toll');
  const parser = thread('T2.0', 'modify', 'parser', 'cache');
  const tides = thread('T3.0', 'answer', 'tide', 'moon');

  it('INT-03 is named by the turn and the place in its directive', () => {
    expect(threadId(4, 0)).toBe('T4.0');
    expect(threadId(17, 11)).toBe('T17.11');
  });

  it('INT-03 is gone on with where act and a subject word are the same', () => {
    expect(threadOf(strand('answer', 'new', 'harbour'), [tolls, parser, tides])).toEqual({
      lineage: 'continues',
      thread: 'T1.0',
      merges: [],
    });
    expect(threadOf(strand('modify', 'new', 'harbour'), [tolls, parser, tides])).toEqual({
      lineage: 'new',
      thread: null,
      merges: [],
    });
    expect(threadOf(strand('answer', 'new', 'parser'), [tolls, parser, tides]).lineage).toBe('new');
  });

  it('INT-03 F44 is new where two questions share nothing but "what"', () => {
    const asked = { ...strand('answer', 'new'), keywords: keywords('What is a lighthouse?') };
    const before = { ...tolls, keywords: keywords('What is a toll?') };
    expect(threadOf(asked, [before])).toEqual({ lineage: 'new', thread: null, merges: [] });
    expect(threadOf({ ...asked, keywords: keywords('What does the toll cost?') }, [before]).thread).toBe(
      'T1.0',
    );
  });

  it('INT-03 that words point back at is the newest of the act, else the newest', () => {
    expect(threadOf(strand('answer', 'continues'), [tolls, parser, tides]).thread).toBe('T3.0');
    expect(threadOf(strand('modify', 'continues'), [tolls, parser, tides]).thread).toBe('T2.0');
    expect(threadOf(strand('verify', 'corrects'), [tolls, parser, tides])).toEqual({
      lineage: 'corrects',
      thread: 'T3.0',
      merges: [],
    });
    expect(threadOf(strand('answer', 'replaces', 'toll'), [tolls, parser, tides])).toEqual({
      lineage: 'replaces',
      thread: 'T1.0',
      merges: [],
    });
  });

  it('INT-03 without an earlier one every request is new', () => {
    for (const lineage of LINEAGES)
      expect(threadOf(strand('answer', lineage, 'toll'), [])).toEqual({
        lineage: 'new',
        thread: null,
        merges: [],
      });
  });

  it('INT-03 is one of the last 12', () => {
    const later = Array.from({ length: 12 }, (_, n) => thread(`T${n + 2}.0`, 'author', 'poem'));
    expect(threadOf(strand('answer', 'new', 'toll'), [tolls, ...later]).thread).toBeNull();
    expect(threadOf(strand('answer', 'new', 'toll'), [tolls, ...later.slice(1)]).thread).toBe('T1.0');
  });

  it('INT-03 merges with another that shares two words, and not with one that shares one', () => {
    const open = [tolls, parser, tides];
    expect(threadOf(strand('answer', 'new', 'tide', 'harbour', 'toll'), open)).toEqual({
      lineage: 'continues',
      thread: 'T3.0',
      merges: ['T1.0'],
    });
    expect(threadOf(strand('answer', 'new', 'tide', 'harbour', 'parser'), open).merges).toEqual([]);
  });

  it('INT-03 is always an open one, and only a thread makes a lineage', () => {
    const word = fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f');
    const act = fc.constantFrom(...ACTS.slice(0, 3));
    const words = fc.uniqueArray(word, { maxLength: 3 });
    const open = fc.array(fc.tuple(act, words), { maxLength: 16 });
    const seen = { new: 0, continues: 0, corrects: 0, replaces: 0, merges: 0 };
    let runs = 0;
    fc.assert(
      fc.property(act, fc.constantFrom(...LINEAGES), words, open, (own, lineage, shared, others) => {
        const threads = others.map(([other, named], index) =>
          thread(threadId(index + 1, 0), other, ...named),
        );
        const placed = threadOf(strand(own, lineage, ...shared), threads);
        const reach = threads.slice(-12).map(({ id }) => id);
        runs += 1;
        seen[placed.lineage] += 1;
        if (placed.merges.length > 0) seen.merges += 1;
        expect(placed.thread === null).toBe(placed.lineage === 'new');
        for (const id of [...(placed.thread === null ? [] : [placed.thread]), ...placed.merges])
          expect(reach).toContain(id);
        expect(placed.merges).not.toContain(placed.thread);
        if (lineage !== 'new' && threads.length > 0) expect(placed.lineage).toBe(lineage);
        if (lineage === 'new') expect(['new', 'continues']).toContain(placed.lineage);
      }),
      { numRuns: 1_000 },
    );
    console.log(`threads: ${JSON.stringify(seen)} of ${runs}`);
    for (const [name, times] of Object.entries(seen))
      expect([name, times >= runs / 100]).toEqual([name, true]);
  });
});
