import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { applyRejection, metadataProfile, observeRatio } from '../../../src/context/capacity/bind.ts';
import { tokensOf } from '../../../src/context/capacity/tokens.ts';
import { promptCeiling } from '../../../src/context/plan/budget.ts';

const NOTHING = {
  operatorWindow: null,
  operatorMaxOutput: null,
  providerWindow: null,
  providerMaxOutput: null,
  metadataDigest: null,
  probedAtMs: 0,
};

describe('a profile made of metadata', () => {
  it('CAP-02 takes the whole window for the horizon, with low confidence', () => {
    const profile = metadataProfile({ ...NOTHING, providerWindow: 32_768, probedAtMs: 7 });
    expect(profile.horizon).toEqual({ tokens: 32_768, confidence: 0.3, lastConfirmedMs: 7 });
    expect(profile).toMatchObject({ declaredWindow: 32_768, windowSource: 'provider', verifiedWindow: null });
    expect(profile.provenance.rungs).toEqual([{ kind: 'metadata', targetTokens: null, verdict: 'read' }]);
  });

  it('CAP-04 believes the operator before the provider, and says when it guesses', () => {
    const both = metadataProfile({ ...NOTHING, operatorWindow: 8_000, providerWindow: 32_768 });
    expect([both.declaredWindow, both.windowSource]).toEqual([8_000, 'operator']);
    const guessed = metadataProfile(NOTHING);
    expect([guessed.declaredWindow, guessed.windowSource]).toEqual([128_000, 'fallback']);
    expect(guessed.provenance.rungs).toEqual([]);
  });

  it('keeps the operator’s cap for the reply, 2,000 tokens when nobody states one, and never the whole window', () => {
    expect(metadataProfile({ ...NOTHING, operatorMaxOutput: 9_000 }).outputReserve).toBe(9_000);
    expect(metadataProfile(NOTHING).outputReserve).toBe(2_000);
    const tiny = metadataProfile({ ...NOTHING, operatorWindow: 1_000, operatorMaxOutput: 9_000 });
    expect(promptCeiling(tiny)).toBeGreaterThan(0);
  });
});

describe('a prompt refused as too long', () => {
  it('CAP-07 lowers window and horizon below it, asks for a probe, and never raises anything', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 2, max: 300_000 }),
        fc.integer({ min: 1, max: 300_000 }),
        fc.option(fc.integer({ min: 1, max: 300_000 }), { nil: undefined }),
        (window, rejectedTokens, limitTokens) => {
          const before = metadataProfile({ ...NOTHING, operatorWindow: window });
          const after = applyRejection(before, { rejectedTokens, limitTokens });
          expect(after.horizon.tokens).toBeLessThanOrEqual(before.horizon.tokens);
          expect(after.horizon.tokens).toBeLessThanOrEqual(Math.max(1, Math.floor(0.9 * rejectedTokens)));
          expect(after.horizon.tokens).toBeGreaterThanOrEqual(1);
          expect(after.verifiedWindow).toBeLessThanOrEqual(Math.max(1, rejectedTokens - 1));
          expect(after.horizon.confidence).toBe(0.6);
          expect(after.needsReprobe).toBe(true);
          expect(after.declaredWindow).toBe(limitTokens ?? window);
          const again = applyRejection(after, { rejectedTokens: rejectedTokens + 1_000 });
          expect(again.horizon.tokens).toBe(after.horizon.tokens);
          expect(again.verifiedWindow).toBe(after.verifiedWindow);
        },
      ),
    );
  });
});

describe('tokens by bytes', () => {
  it('CAP-01 the first sample replaces the guess, later ones count three tenths', () => {
    const fresh = metadataProfile(NOTHING);
    expect(fresh.tokensPerByte).toEqual({ value: 0.25, samples: 0 });
    const once = observeRatio(fresh, 400, 1_000);
    expect(once.tokensPerByte).toEqual({ value: 0.4, samples: 1 });
    const twice = observeRatio(once, 500, 1_000);
    expect(twice.tokensPerByte.value).toBeCloseTo(0.43, 10);
    expect(twice.tokensPerByte.samples).toBe(2);
  });

  it('CAP-01 learns nothing from a report without tokens or bytes', () => {
    const fresh = metadataProfile(NOTHING);
    for (const [tokens, bytes] of [
      [0, 10],
      [10, 0],
      [-1, 10],
    ] as const)
      expect(observeRatio(fresh, tokens, bytes)).toEqual(fresh);
  });

  it('rounds up, so that a plan never fits by a fraction', () => {
    const profile = { tokensPerByte: { value: 0.25, samples: 0 } };
    expect([0, 1, 4, 5].map((bytes) => tokensOf(bytes, profile))).toEqual([0, 1, 1, 2]);
  });
});
