import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { costText, dollars } from '../../../src/cli/money.ts';

describe('CST-01 money for people', () => {
  it('CST-01 shows every micro-dollar, however large the sum', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (microUsd) => {
        const shown = dollars(microUsd);
        expect(shown).toMatch(/^\$(?:0|[1-9]\d*)\.\d{6}$/u);
        expect(BigInt(shown.replace(/[$.]/gu, ''))).toBe(BigInt(microUsd));
      }),
    );
    // Divided as a number it would round up to a whole dollar.
    expect(dollars(9_007_199_253_999_999)).toBe('$9007199253.999999');
    expect(dollars(1)).toBe('$0.000001');
  });

  it('CST-01 never shows a sum that leaves calls out as if it were all', () => {
    const text = (cost_status: Parameters<typeof costText>[0]['cost_status']) =>
      costText({ cost_micro_usd: 1_500_000, cost_status });
    expect(text('priced')).toBe('$1.500000');
    expect(text('partial')).toMatch(/^\$1\.500000 .*partial/u);
    expect(text('unpriced')).toMatch(/^unpriced/u);
    expect(text('unpriced')).not.toContain('$');
  });
});
