import { describe, expect, it } from 'vitest';
import { queryTerms } from '../../../src/context/relevance/terms.ts';
import { continuedTurn } from '../../../src/context/relevance/threads.ts';
import { indexOf, linksOf, type TurnSpec } from './plan-sample.ts';

function continued(turns: readonly TurnSpec[], text: string, act = 'answer', links: readonly string[] = []) {
  const query = { text, act, domains: [], links: linksOf(...links) };
  return continuedTurn(indexOf(turns), query, queryTerms(text), 0);
}

const copper = { asked: 'the copper price' };
const violin = { asked: 'tune a violin' };

describe('the thread that goes on', () => {
  it('PLN-01 is the latest one of the same act that shares a subject word', () => {
    expect(continued([copper, violin], 'copper in euros')).toBe(1);
    expect(continued([copper, violin, copper], 'copper in euros')).toBe(3);
    expect(continued([copper, { ...copper, act: 'modify' }], 'copper in euros')).toBe(1);
    expect(continued([copper, violin], 'a glacier')).toBeNull();
  });

  it('PLN-01 is left at its last turn, and known by the words of the turns before that', () => {
    const chain = [copper, { asked: 'and in euros', links: linksOf('continues T1') }, violin];
    expect(continued(chain, 'copper once more')).toBe(2);
  });

  it('PLN-01 F12 is, where the directive points back, the latest of the same act: an interjection does not end it', () => {
    expect(continued([copper, { asked: 'hush', act: 'converse' }], 'do that again')).toBe(1);
    expect(continued([copper], 'do that again', 'modify')).toBeNull();
  });

  it('F44 is not gone on with for a question word or another stopword in common', () => {
    expect(continued([{ asked: 'what about the copper' }], 'what about the violin')).toBeNull();
  });

  it('PLN-01 is looked for among the last twelve threads', () => {
    const threads = (count: number) => [copper, ...Array<TurnSpec>(count).fill(violin)];
    expect(continued(threads(11), 'copper')).toBe(1);
    expect(continued(threads(12), 'copper')).toBeNull();
    const chain = threads(12).map((turn, at) =>
      at > 1 ? { ...turn, links: linksOf(`continues T${at}`) } : turn,
    );
    expect(continued(chain, 'copper')).toBe(1);
  });

  it('PLN-05 is the one that the open turn’s links name, whatever its words', () => {
    expect(continued([copper, violin], 'violin', 'answer', ['continues T1'])).toBe(1);
  });
});
