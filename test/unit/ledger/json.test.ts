import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { byteLength, canonicalJson, storableText } from '../../../src/ledger/json.ts';

/** JSON values as a parser gives them; -0 is left out, which JSON text cannot tell from 0. */
const value = fc.jsonValue().map((made) => JSON.parse(JSON.stringify(made)) as unknown);

/** The same data with the members of every object in another order. */
function shuffled(data: unknown, order: number): unknown {
  if (Array.isArray(data)) return data.map((item) => shuffled(item, order));
  if (typeof data !== 'object' || data === null) return data;
  const entries = Object.entries(data).map(([key, member]) => [key, shuffled(member, order)] as const);
  const at = entries.length === 0 ? 0 : order % entries.length;
  return Object.fromEntries([...entries.slice(at), ...entries.slice(0, at)].reverse());
}

/** Object keys of a text, in the order written, object by object. */
function keysInOrder(data: unknown): readonly (readonly string[])[] {
  if (Array.isArray(data)) return data.flatMap(keysInOrder);
  if (typeof data !== 'object' || data === null) return [];
  return [Object.keys(data), ...Object.values(data).flatMap(keysInOrder)];
}

describe('canonical JSON', () => {
  it('LED-01 gives equal data equal text, whatever the order of its members', () => {
    fc.assert(
      fc.property(value, fc.nat({ max: 20 }), (data, order) => {
        expect(canonicalJson(shuffled(data, order))).toBe(canonicalJson(data));
      }),
    );
  });

  it('gives different data different text', () => {
    fc.assert(
      fc.property(value, value, (left, right) => {
        expect(canonicalJson(left) === canonicalJson(right)).toBe(isDeepStrictEqual(left, right));
      }),
    );
  });

  it('comes back as the data it was made of', () => {
    fc.assert(
      fc.property(value, (data) => {
        expect(JSON.parse(canonicalJson(data))).toEqual(data);
        expect(canonicalJson(JSON.parse(canonicalJson(data)))).toBe(canonicalJson(data));
      }),
    );
  });

  it('writes keys in code-unit order and no white space', () => {
    expect(
      canonicalJson({ b: 1, a: [true, null, { z: 'é', 'a b': '' }], B: -0.5, é: 2, '\u{1F600}': 3 }),
    ).toBe('{"B":-0.5,"a":[true,null,{"a b":"","z":"é"}],"b":1,"é":2,"\u{1F600}":3}');
    fc.assert(
      fc.property(fc.array(fc.string({ minLength: 1 }), { minLength: 2 }), (keys) => {
        const named = keys.map((key) => `k${key}`);
        const text = canonicalJson(Object.fromEntries(named.map((key) => [key, null])));
        for (const written of keysInOrder(JSON.parse(text))) expect(written).toEqual([...written].sort());
      }),
    );
  });

  it('leaves out members that are undefined and writes null for such items', () => {
    expect(canonicalJson({ a: undefined, b: [undefined, 1] })).toBe('{"b":[null,1]}');
    expect(canonicalJson(Array.from({ length: 2 }))).toBe('[null,null]');
  });

  it('is valid UTF-8 even of text that is not', () => {
    const text = canonicalJson('\ud800');
    expect(text).toBe('"\\ud800"');
    expect(Buffer.from(text, 'utf8').toString('utf8')).toBe(text);
  });

  it('refuses what is not data, and says what it found', () => {
    for (const number of [Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => canonicalJson({ deep: [number] })).toThrow(String(number));
    expect(() => canonicalJson({ call: () => 1 })).toThrow(/function/u);
    expect(() => canonicalJson(1n)).toThrow(/bigint/u);
    expect(() => canonicalJson({ at: new Date(0) })).toThrow(/Date/u);
    expect(() => canonicalJson({ seen: new Map([['a', 1]]) })).toThrow(/Map/u);
  });
});

describe('text for the ledger', () => {
  it('is counted in UTF-8 bytes', () => {
    expect([byteLength(''), byteLength('a'), byteLength('é'), byteLength('😀')]).toEqual([0, 1, 2, 4]);
  });

  it('holds nothing a database column refuses, and is left alone when it holds nothing of that kind', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const stored = storableText(text);
        expect(stored.includes('\0')).toBe(false);
        expect(stored.isWellFormed()).toBe(true);
        expect(stored.length).toBe(text.length);
        if (text.isWellFormed() && !text.includes('\0')) expect(stored).toBe(text);
      }),
    );
    expect(storableText('a\0b\ud800')).toBe('a�b�');
  });
});
