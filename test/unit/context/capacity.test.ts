import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type MetadataFacts,
  metadataProfile,
  windowWarning,
} from '../../../src/context/capacity/metadata.ts';
import { outputReserve, type ReserveParts } from '../../../src/context/capacity/reserve.ts';
import { tokensOf } from '../../../src/context/capacity/tokens.ts';
import { mappedModel } from '../../../src/context/catalogue/mapping.ts';
import { promptCeiling } from '../../../src/context/plan/budget.ts';

const NOTHING: MetadataFacts = {
  operatorWindow: null,
  operatorMaxOutput: null,
  providerWindow: null,
  providerMaxOutput: null,
  catalogueWindow: null,
  catalogueMaxOutput: null,
  metadataDigest: null,
  probedAtMs: 0,
};

describe('a profile made of metadata', () => {
  it('CAP-02 takes the whole window for the horizon, with low confidence', () => {
    const profile = metadataProfile({
      ...NOTHING,
      providerWindow: 32_768,
      metadataDigest: 'd1',
      probedAtMs: 7,
    });
    expect(profile.horizon).toEqual({ tokens: 32_768, confidence: 0.3, lastConfirmedMs: 7 });
    expect(profile).toMatchObject({ verifiedWindow: null, cache: 'unknown', needsReprobe: false });
    expect(profile.provenance).toEqual({
      probedAtMs: 7,
      rungs: [{ kind: 'metadata', targetTokens: null, verdict: 'read' }],
      signals: [],
      metadataDigest: 'd1',
    });
    expect(metadataProfile(NOTHING).provenance.rungs).toEqual([]);
  });

  it('CAP-04 believes the operator, then the provider, then the catalogue, then 128,000', () => {
    const all = { ...NOTHING, operatorWindow: 8_000, providerWindow: 32_768, catalogueWindow: 200_000 };
    const seen = [
      all,
      { ...all, operatorWindow: null },
      { ...NOTHING, catalogueWindow: 200_000 },
      NOTHING,
    ].map((facts) => {
      const { declaredWindow, windowSource } = metadataProfile(facts);
      return [declaredWindow, windowSource];
    });
    expect(seen).toEqual([
      [8_000, 'operator'],
      [32_768, 'provider'],
      [200_000, 'catalogue'],
      [128_000, 'fallback'],
    ]);
  });

  it('CAP-04 takes no window and no reply limit that is below 1 or not whole', () => {
    const wrong = fc.oneof(
      fc.integer({ max: 0 }),
      fc.double({ min: 0.01, max: 1e6 }).filter((value) => !Number.isInteger(value)),
      fc.constantFrom(Number.NaN, Number.POSITIVE_INFINITY),
    );
    fc.assert(
      fc.property(wrong, wrong, (operatorWindow, operatorMaxOutput) => {
        const facts = { ...NOTHING, operatorWindow, operatorMaxOutput };
        const stated = { catalogueWindow: 9_000, catalogueMaxOutput: 700 };
        expect(metadataProfile(facts)).toEqual(metadataProfile(NOTHING));
        expect(metadataProfile({ ...facts, ...stated })).toEqual(metadataProfile({ ...NOTHING, ...stated }));
      }),
    );
  });

  it('CAP-04 says who states the reply limit', () => {
    const all = { ...NOTHING, operatorMaxOutput: 1_000, providerMaxOutput: 2_000, catalogueMaxOutput: 3_000 };
    const seen = [
      all,
      { ...all, operatorMaxOutput: null },
      { ...NOTHING, catalogueMaxOutput: 3_000 },
      NOTHING,
    ].map((facts) => {
      const { maxOutput, maxOutputSource } = metadataProfile(facts);
      return [maxOutput, maxOutputSource];
    });
    expect(seen).toEqual([
      [1_000, 'operator'],
      [2_000, 'provider'],
      [3_000, 'catalogue'],
      [null, null],
    ]);
  });

  it('CAP-04 warns of an assumed window with the model and both settings, and of no other', () => {
    const leg = { name: 'main', model: 'gemma4' };
    const warning = windowWarning(metadataProfile(NOTHING), leg);
    expect(warning).toMatchObject({
      code: 'window_assumed',
      model: 'gemma4',
      tokens: 128_000,
      fields: ['legs[].window', 'policy.options.contextWindow'],
    });
    for (const part of ['gemma4', 'main', '128000', 'legs[].window', 'policy.options.contextWindow'])
      expect(warning?.message).toContain(part);
    for (const stated of ['operatorWindow', 'providerWindow', 'catalogueWindow'] as const)
      expect(windowWarning(metadataProfile({ ...NOTHING, [stated]: 128_000 }), leg)).toBeNull();
  });
});

describe('what is kept free for the reply', () => {
  const parts: ReserveParts = {
    declaredWindow: 100_000,
    verifiedWindow: null,
    maxOutput: null,
    maxOutputSource: null,
    largestReply: { tokens: 0, samples: 0 },
  };
  const provider = { maxOutput: 64_000, maxOutputSource: 'provider' } as const;

  it('is the operator’s cap, whatever was seen', () => {
    const capped = { ...parts, maxOutput: 9_000, maxOutputSource: 'operator' } as const;
    expect(outputReserve(capped)).toBe(9_000);
    expect(outputReserve({ ...capped, largestReply: { tokens: 400, samples: 50 } })).toBe(9_000);
  });

  it('F3 is never a stated maximum, but at most 2,000 until eight replies were seen', () => {
    expect(outputReserve({ ...parts, ...provider })).toBe(2_000);
    expect(outputReserve({ ...parts, ...provider, maxOutput: 900 })).toBe(900);
    expect(outputReserve(parts)).toBe(2_000);
    expect(outputReserve({ ...parts, largestReply: { tokens: 700, samples: 7 } })).toBe(2_000);
  });

  it('is the largest of eight replies, at least 256 and at most what a reply may have', () => {
    const seen = (tokens: number) => ({ ...parts, ...provider, largestReply: { tokens, samples: 8 } });
    expect([5_000, 700, 3].map((tokens) => outputReserve(seen(tokens)))).toEqual([5_000, 700, 256]);
    expect(outputReserve({ ...seen(5_000), maxOutput: 4_096 })).toBe(4_096);
    expect(outputReserve({ ...seen(5_000), maxOutput: 100 })).toBe(100);
  });

  it('is never more than half the window, declared or verified', () => {
    const capped = { ...parts, maxOutput: 90_000, maxOutputSource: 'operator' } as const;
    expect(outputReserve(capped)).toBe(50_000);
    expect(outputReserve({ ...capped, verifiedWindow: 3_001 })).toBe(1_500);
    const tiny = metadataProfile({ ...NOTHING, operatorWindow: 1_000, operatorMaxOutput: 9_000 });
    expect(promptCeiling(tiny)).toBe(500);
  });
});

describe('model mappings', () => {
  it('CAP-04 are followed to their end', () => {
    const mapping = { fast: 'small', small: 'gemma4:e2b' };
    expect(mappedModel('fast', mapping)).toEqual({ ok: true, model: 'gemma4:e2b' });
    expect(mappedModel('gemma4:e2b', mapping)).toEqual({ ok: true, model: 'gemma4:e2b' });
    expect(mappedModel('constructor', mapping)).toEqual({ ok: true, model: 'constructor' });
  });

  it('CAP-04 that form a cycle are an error that names the way round', () => {
    const mapping = { a: 'b', b: 'c', c: 'b', self: 'self' };
    const cycle = mappedModel('a', mapping);
    expect(cycle).toMatchObject({ ok: false, code: 'model_mapping_cycle', path: ['a', 'b', 'c', 'b'] });
    expect(cycle).toHaveProperty('message', expect.stringContaining('a → b → c → b'));
    expect(mappedModel('self', mapping)).toMatchObject({ ok: false, path: ['self', 'self'] });
  });

  it('CAP-04 of more than ten steps are an error', () => {
    const chain = Object.fromEntries(Array.from({ length: 11 }, (_, at) => [`m${at}`, `m${at + 1}`]));
    expect(mappedModel('m1', chain)).toEqual({ ok: true, model: 'm11' });
    expect(mappedModel('m0', chain)).toMatchObject({ ok: false, code: 'model_mapping_too_deep' });
  });
});

describe('tokens of bytes', () => {
  it('round up, so that a plan never fits by a fraction', () => {
    const profile = { tokensPerByte: { value: 0.25, samples: 0 } };
    expect([0, 1, 4, 5].map((bytes) => tokensOf(bytes, profile))).toEqual([0, 1, 1, 2]);
  });
});
