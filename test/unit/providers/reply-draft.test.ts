import { describe, expect, it } from 'vitest';
import type { Delta } from '../../../src/providers/contract.ts';
import { MAX_REPLY_BYTES, ReplyDraft } from '../../../src/providers/reply-draft.ts';

function draft(deltas: Delta[] = [], nowMs: () => number = () => 0): ReplyDraft {
  return new ReplyDraft((delta) => deltas.push(delta), nowMs);
}

describe('ReplyDraft', () => {
  it('keeps parts in the order of their first appearance', () => {
    const deltas: Delta[] = [];
    const reply = draft(deltas);
    reply.write('t', 'thinking', 'a');
    reply.write('x', 'text', 'b');
    reply.write('t', 'thinking', 'c');
    expect(reply.finish('stop').content).toEqual([
      { type: 'thinking', text: 'ac' },
      { type: 'text', text: 'b' },
    ]);
    expect(deltas.map((delta) => delta.text)).toEqual(['a', 'b', 'c']);
  });

  it('drops a text that stayed empty, but not a signature', () => {
    const reply = draft();
    reply.write('x', 'text', '');
    reply.write('t', 'thinking', '');
    reply.sign('t', 'sig', 'google');
    expect(reply.finish('stop').content).toEqual([
      { type: 'thinking', text: '', signature: 'sig', signedBy: 'google' },
    ]);
  });

  it('takes its own clock at the first piece of any kind', () => {
    let nowMs = 3;
    const reply = draft([], () => nowMs);
    expect(reply.firstTokenMs).toBeNull();
    reply.call('c', 'id', 'name');
    nowMs = 9;
    reply.write('x', 'text', 'late');
    expect(reply.firstTokenMs).toBe(3);
  });

  it('never makes up an id another call was given', () => {
    const reply = draft();
    reply.call('a', null, 'first');
    reply.call('b', 'call_0', 'second');
    reply.call('c', 'call_0', 'third');
    const ids = reply.finish('stop').content.map((block) => (block.type === 'tool_call' ? block.id : ''));
    expect(ids[1]).toBe('call_0');
    expect(new Set(ids).size).toBe(3);
  });

  it('renames a repeated id although it is the very one that would be made up', () => {
    const reply = draft();
    reply.call('a', 'call_1', 'first');
    reply.call('b', 'call_1', 'second');
    expect(reply.finish('stop').content).toMatchObject([{ id: 'call_1' }, { id: 'call_1_1' }]);
  });

  it('fills in an id and a name that come late', () => {
    const reply = draft();
    reply.call('a', null, null);
    reply.call('a', 'late', 'name');
    expect(reply.finish('stop').content).toMatchObject([{ id: 'late', name: 'name' }]);
  });

  it('refuses a part that changes its kind, and arguments of no call', () => {
    const reply = draft();
    reply.write('x', 'text', 'a');
    expect(() => reply.call('x', 'id', 'name')).toThrow(/changed from text/);
    expect(() => reply.write('x', 'thinking', 'a')).toThrow(/changed from text/);
    expect(() => reply.args('x', '{}')).toThrow(/is no call/);
  });

  it('bounds bytes and parts together, whatever they are', () => {
    const big = 'é'.repeat(MAX_REPLY_BYTES / 4);
    const text = draft();
    text.write('x', 'text', big);
    expect(() => text.write('x', 'text', `${big}.`)).toThrow(/larger than/);
    const args = draft();
    args.call('c', 'id', 'name');
    args.args('c', big);
    expect(() => args.args('c', big)).toThrow(/larger than/);
    const calls = draft();
    expect(() => {
      for (let index = 0; index < 10_000; index += 1) calls.call(`c${index}`, null, null);
    }).toThrow(/more than 4096 parts/);
  });
});
