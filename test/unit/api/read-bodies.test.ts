import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { depthOf } from '../../../src/api/read-bodies.ts';

function deepest(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(deepest));
}

describe('the depth of a JSON text', () => {
  it('is that of the value it holds', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.constantFrom(0, 2), (value, indent) => {
        expect(depthOf(JSON.stringify(value, null, indent))).toBe(deepest(value));
      }),
    );
  });

  it('does not count brackets inside texts, nor quotes behind a backslash', () => {
    expect(depthOf('["[[[{{", "\\"[[[", "\\\\", {}]')).toBe(2);
  });

  it('ends on texts that are no JSON', () => {
    expect(depthOf(']]]]')).toBe(0);
    expect(depthOf('"never closed [[[')).toBe(0);
    expect(depthOf('['.repeat(100_000))).toBe(100_000);
  });
});
