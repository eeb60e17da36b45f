import { describe, expect, it } from 'vitest';
import { readContextCall } from '../../../../src/context/evict/context-call.ts';
import type { Json } from '../../../../src/ledger/json.ts';

const EVICT = { op: 'evict', from: 3, to: 9 } as const;
const refusal = (args: Json): string => {
  const read = readContextCall(args);
  if (read.ok) throw new Error(`read as ${read.op}`);
  return read.message;
};

describe('a call of context', () => {
  it('EVT-05 is a survey or an eviction', () => {
    expect(readContextCall({ op: 'survey' })).toEqual({ ok: true, op: 'survey' });
    expect(readContextCall(EVICT)).toEqual({ ok: true, ...EVICT, note: null });
    expect(readContextCall({ ...EVICT, note: null })).toEqual({ ok: true, ...EVICT, note: null });
    expect(readContextCall({ ...EVICT, note: 'the port is 8127' })).toEqual({
      ok: true,
      ...EVICT,
      note: 'the port is 8127',
    });
  });

  it('EVT-05 fault 12: a field that there is not is named, and nothing is read past it', () => {
    expect(refusal({ ...EVICT, notes: 'x' })).toContain('There is no field "notes" in op evict');
    expect(refusal({ op: 'evict', from: 3, till: 9, to: 400 })).toContain('"till"');
    expect(refusal({ op: 'survey', from: 3 })).toContain('"from" in op survey');
    expect(refusal({ ...EVICT, From: 4, TO: 5 })).toContain('"From", "TO"');
    expect(refusal(JSON.parse('{"op":"survey","__proto__":{"op":"evict"}}') as Json)).toContain(
      '"__proto__"',
    );
  });

  it('EVT-05 an op that there is not is named, with the calls that there are', () => {
    for (const op of ['drop', 'Evict', 'constructor', 7, null, ['evict']] as const)
      expect(refusal({ ...EVICT, op })).toContain(
        `There is no op ${JSON.stringify(op)}. Calls are {"op":"survey"}`,
      );
    expect(refusal({ from: 1, to: 2 })).toContain('Missing: op.');
  });

  it('EVT-05 what is missing is named', () => {
    expect(refusal({ op: 'evict' })).toContain('Missing: from, to.');
    expect(refusal({ op: 'evict', from: 3 })).toContain('Missing: to.');
  });

  it('EVT-05 a value of another type is named with what it is', () => {
    for (const from of ['3', 3.5, -1, null, [3], 1e300])
      expect(refusal({ ...EVICT, from })).toContain(
        `from must be the number of an item, such as 12, and is ${JSON.stringify(from)}`,
      );
    expect(refusal({ ...EVICT, to: '#9' })).toContain('to must be');
    expect(refusal({ ...EVICT, note: ['x'] })).toContain('note must be a text, and is ["x"]');
    for (const args of ['survey', null, 3, [], [EVICT]] as const)
      expect(refusal(args)).toContain('takes an object');
  });

  it('EVT-05 a refusal stays short, however long what it is about', () => {
    const long = 'x'.repeat(5_000_000);
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`${at}${'y'.repeat(100)}`, 1]));
    for (const args of [
      { op: long },
      { ...EVICT, [long]: 1 },
      { ...EVICT, from: long },
      { ...EVICT, ...many },
    ])
      expect(refusal(args).length).toBeLessThan(1_000);
  });
});
