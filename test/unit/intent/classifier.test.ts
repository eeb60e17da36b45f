import { describe, expect, it } from 'vitest';
import { classifierRequest, readClassification } from '../../../src/intent/classifier.ts';
import type { AssistantBlock } from '../../../src/ledger/blocks.ts';
import type { Json } from '../../../src/ledger/json.ts';

const reply = (args: Json, name = 'record_reading'): readonly AssistantBlock[] => [
  { type: 'thinking', text: 'so' },
  { type: 'tool_call', id: 'c', name, args },
];

describe('asking a classifier', () => {
  it('INT-02 sends the directive alone, with one tool, and a bounded reply', () => {
    const request = classifierRequest('the other one');
    expect(request.messages).toHaveLength(1);
    expect(request.messages[0]?.content[0]?.text).toContain('the other one');
    expect(request.tools.map(({ name }) => name)).toEqual(['record_reading']);
    expect(request.maxTokens).toBeLessThanOrEqual(256);
  });

  it('INT-02 quotes the beginning of a long directive, by whole characters', () => {
    const text = classifierRequest('😀'.repeat(5_000)).messages[0]?.content[0]?.text ?? '';
    expect([...text].filter((character) => character === '😀')).toHaveLength(1_600);
    expect(text.isWellFormed()).toBe(true);
  });

  it('INT-02 reads act and domain from the call, with more weight than weak words have', () => {
    expect(readClassification(reply({ act: 'locate', domain: 'filesystem' }))).toEqual({
      act: 'locate',
      domains: ['filesystem'],
      confidence: 0.8,
    });
    expect(readClassification(reply({ act: 'converse', domain: 'none' }))?.domains).toEqual([]);
    expect(readClassification(reply({ act: 'verify' }))?.domains).toEqual([]);
  });

  it.each([
    ['an act it does not know', reply({ act: 'dance' })],
    ['a domain it does not know', reply({ act: 'locate', domain: 'moon' })],
    ['arguments that are no object', reply(null)],
    ['a call of another tool', reply({ act: 'locate' }, 'grep')],
    ['no call', [{ type: 'text', text: 'locate' } as const]],
    ['nothing', []],
  ])('INT-02 falls open on %s', (_, content) => {
    expect(readClassification(content)).toBeNull();
  });
});
