import { describe, expect, it } from 'vitest';
import { renderTail } from '../../../src/context/assemble/tail.ts';
import { threadLines } from '../../../src/context/assemble/thread.ts';
import { namedTurn, placedStrands } from '../../../src/context/links/strands.ts';
import { refersBack } from '../../../src/context/relevance/anaphora.ts';
import { readLexically } from '../../../src/intent/reading.ts';
import { scannedText } from '../../../src/intent/scanned.ts';
import type { TurnCard } from '../../../src/ledger/turn-card.ts';
import { type TurnView, unasked, visibleText } from '../../../src/ledger/view.ts';

function asked(text: string, number = 9): TurnView {
  return { ...unasked(number), input: [{ type: 'text', text }], reading: readLexically(text) };
}

function card(number: number, text: string): TurnCard {
  const { act, domains } = readLexically(text);
  return {
    number,
    asked: text,
    did: [],
    presentations: [],
    narration: 'done',
    outcome: 'completed',
    act,
    domains: [...domains],
    links: [],
    fullBytes: 10,
    cardBytes: 10,
  };
}

const EARLIER = [
  card(3, 'Write a letter to the harbour office'),
  card(4, 'What is a sluice gate?'),
  card(5, 'Why does the pump stall?'),
];

describe('the parts of a directive among what was asked before', () => {
  it('INT-03 a part that shares a subject word and the act goes on with that thread, whatever came between', () => {
    expect(placedStrands(asked('Write the letter to the mayor as well'), EARLIER, null)).toMatchObject([
      { lineage: 'continues', thread: 'T3.0' },
    ]);
  });

  it('INT-03 F44 a shared question word goes on with nothing', () => {
    expect(placedStrands(asked('What is a barnacle?'), EARLIER, null)).toEqual([
      { lineage: 'new', thread: null, merges: [] },
    ]);
  });

  it('INT-03 only explicit words correct or replace, and they name the turn', () => {
    const replaces = asked('Forget that, why does the valve leak?');
    const placed = placedStrands(replaces, EARLIER, null);
    expect(placed[0]).toMatchObject({ lineage: 'replaces', thread: 'T5.0' });
    expect(namedTurn(replaces, placed)).toBe(5);
    const plain = asked('Why does the pump stall at night?');
    expect(namedTurn(plain, placedStrands(plain, EARLIER, null))).toBeNull();
  });

  it('INT-03 F42 "stop using semicolons" replaces nothing', () => {
    const placed = placedStrands(asked('stop using semicolons'), EARLIER, null);
    expect(placed.every(({ lineage }) => lineage === 'new' || lineage === 'continues')).toBe(true);
    expect(namedTurn(asked('stop using semicolons'), placed)).toBeNull();
  });

  it('INT-03 each part is placed by itself', () => {
    const text = 'Write the letter to the mayor. Why does the pump stall in winter?';
    const placed = placedStrands(asked(text), EARLIER, null);
    expect(placed.map(({ thread }) => thread)).toEqual(['T3.0', 'T5.0']);
  });

  it('INT-03 with nothing asked before every part is new', () => {
    expect(placedStrands(asked('Forget that'), [], null)).toEqual([]);
  });
});

describe('the thread in the tail', () => {
  it('INT-03 marks what is replaced as paused and what is gone on with never, and leaves nothing out', () => {
    const cards = [
      { ...card(3, 'Write a letter'), domains: ['documents'] },
      { ...card(4, 'Read the file'), domains: ['filesystem'] },
    ];
    const paused = (placed: Parameters<typeof threadLines>[2]) =>
      threadLines(cards, ['filesystem'], placed).map(({ number, paused: is }) => [number, is]);
    expect(paused([])).toEqual([
      [3, true],
      [4, false],
    ]);
    expect(paused([{ lineage: 'continues', thread: 'T3.0' }])).toEqual([
      [3, false],
      [4, false],
    ]);
    expect(paused([{ lineage: 'replaces', thread: 'T4.0' }])).toEqual([
      [3, true],
      [4, true],
    ]);
  });

  it('INT-03 says how the parts hang together and never what they say', () => {
    const turn = asked('Build the app. Then deploy it to the staging host.');
    expect(turn.reading?.strands).toHaveLength(2);
    const tail = renderTail(turn, { workContract: null, thread: [] }) ?? '';
    expect(tail).toContain('In 2 parts: 2 comes after the one before it.');
    expect(tail).not.toMatch(/app|staging/u);
    expect(renderTail(asked('Build the app'), { workContract: null, thread: [] })).not.toContain('parts');
  });
});

describe('what was pasted into a directive', () => {
  it('F12 points back at nothing: only what is asked does', () => {
    const log = Array.from(
      { length: 12 },
      (_, at) => `2026-01-02T03:04:0${at % 10}Z WARN it failed as above, again`,
    );
    const turn = asked(`Why do the pumps stall?\n${log.join('\n')}`);
    const text = log.join('\n');
    expect(refersBack(text)).toBe(true);
    expect(turn.reading?.pasted).toHaveLength(1);
    expect(refersBack(scannedText(visibleText(turn.input), turn.reading?.pasted ?? []))).toBe(false);
  });
});
