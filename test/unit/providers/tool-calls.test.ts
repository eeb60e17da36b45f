import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChatMessage } from '../../../src/context/request.ts';
import type { ToolCallBlock, ToolResultBlock } from '../../../src/ledger/blocks.ts';
import { canonicalJson } from '../../../src/ledger/json.ts';
import { readArgs, shownArgs } from '../../../src/providers/tool-args.ts';
import { wireIds } from '../../../src/providers/wire-ids.ts';

const call = (id: string): ToolCallBlock => ({ type: 'tool_call', id, name: 't', args: {} });
const result = (callId: string): ToolResultBlock => ({
  type: 'tool_result',
  callId,
  name: 't',
  content: 'r',
  isError: false,
});

describe('readArgs', () => {
  it('returns every JSON object it is given', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 5 })), (object) => {
        expect(readArgs(JSON.stringify(object))).toEqual({ args: JSON.parse(JSON.stringify(object)) });
      }),
    );
  });

  it('never gives arguments the ledger cannot store, whatever the text', () => {
    const text = fc.oneof(fc.string(), fc.json(), fc.constantFrom('{"a":1e400}', '{"a":[-1e999]}', ' \n'));
    fc.assert(
      fc.property(text, (raw) => {
        const read = readArgs(raw);
        if (read.args === null) expect(read.raw).toBe(raw);
        else expect(() => canonicalJson(read.args)).not.toThrow();
      }),
    );
  });

  it('refuses nesting that would exhaust a stack', () => {
    const raw = `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`;
    expect(readArgs(raw)).toEqual({ args: null, raw });
  });
});

describe('shownArgs', () => {
  it('shows an object as it is', () => {
    expect(shownArgs({ ...call('1'), args: { a: 1 } })).toEqual({ a: 1 });
  });

  it('shows arguments that were no object inside one', () => {
    expect(shownArgs({ ...call('1'), args: null, raw: '{"a' })).toEqual({ invalid_arguments: '{"a' });
    expect(shownArgs({ ...call('1'), args: [1] })).toEqual({ invalid_arguments: '[1]' });
  });
});

describe('wireIds', () => {
  const conversation = fc.array(
    fc.array(fc.constantFrom('call_0', 'call_1', 'toolu_01', 'functions.f:0', 'x'.repeat(60), ''), {
      maxLength: 4,
    }),
    { maxLength: 5 },
  );
  const messagesOf = (batches: readonly (readonly string[])[]): ChatMessage[] =>
    batches.flatMap((ids): ChatMessage[] => [
      { role: 'assistant', content: ids.map(call) },
      { role: 'user', content: [...new Set(ids)].map(result) },
    ]);

  it('gives every call one acceptable id of its own, and every result the id of its call', () => {
    fc.assert(
      fc.property(conversation, (batches) => {
        const messages = messagesOf(batches);
        const ids = wireIds(messages);
        const seen: string[] = [];
        for (const { role, content } of messages) {
          for (const block of content) {
            if (block.type === 'tool_call') seen.push(ids.of(block));
            if (block.type === 'tool_result') expect(seen).toContain(ids.of(block));
          }
          if (role === 'user') expect(new Set(seen).size).toBe(seen.length);
        }
        for (const id of seen) expect(id).toMatch(/^[A-Za-z0-9_-]{1,40}$/);
      }),
    );
  });

  it('spells the beginning of a longer conversation as it did before', () => {
    fc.assert(
      fc.property(conversation, conversation, (batches, more) => {
        const before = messagesOf(batches);
        const short = wireIds(before);
        const long = wireIds([...before, ...messagesOf(more)]);
        for (const block of before.flatMap((message) => [...message.content])) {
          if (block.type === 'tool_call' || block.type === 'tool_result') {
            expect(long.of(block)).toBe(short.of(block));
          }
        }
      }),
    );
  });

  it('leaves an acceptable id alone', () => {
    const blocks = [call('toolu_01'), call('call_AbC-9')];
    const ids = wireIds([{ role: 'assistant', content: blocks }]);
    expect(blocks.map((block) => ids.of(block))).toEqual(['toolu_01', 'call_AbC-9']);
  });
});
