import { describe, expect, it } from 'vitest';
import { applyRejection } from '../../../src/context/capacity/feedback.ts';
import type { LadderResult } from '../../../src/context/capacity/ladder.ts';
import { metadataProfile } from '../../../src/context/capacity/metadata.ts';
import type { CapacityProfile, Rung } from '../../../src/context/capacity/profile.ts';
import { measuredProfile, NOTHING_FOUND } from '../../../src/runtime/measured-profile.ts';

const EARLIER_MS = 1_000_000;
const NOW_MS = 9_000_000;

function statedAt(probedAtMs: number, metadataDigest = 'd1'): CapacityProfile {
  return metadataProfile({
    operatorWindow: null,
    operatorMaxOutput: null,
    providerWindow: 131_072,
    providerMaxOutput: null,
    catalogueWindow: null,
    catalogueMaxOutput: null,
    metadataDigest,
    probedAtMs,
  });
}

const rung = (targetTokens: number, verdict: Rung['verdict']): Rung => ({
  kind: 'horizon',
  targetTokens,
  verdict,
  samples: 2,
  agreed: 2,
});

const LADDER: LadderResult = {
  horizonTokens: 16_000,
  confidence: 0.9,
  verifiedWindow: 60_000,
  needsReprobe: false,
  complete: true,
  rungs: [rung(8_000, 'followed'), rung(16_000, 'followed'), rung(20_000, 'not-followed')],
};
const UNANSWERED: LadderResult = {
  ...LADDER,
  horizonTokens: 4_000,
  confidence: 0.3,
  verifiedWindow: null,
  needsReprobe: true,
  complete: false,
  rungs: [rung(4_000, 'failed')],
};

/** A model that was measured before, and taught by calls since. */
function known(): CapacityProfile {
  const stated = statedAt(EARLIER_MS);
  return {
    ...stated,
    horizon: { tokens: 13_000, confidence: 0.9, lastConfirmedMs: EARLIER_MS },
    verifiedWindow: 40_000,
    tokensPerByte: { value: 0.31, samples: 12 },
    prefillTokensPerSecond: { value: 900, samples: 4 },
    closedTurnTokens: { value: 700, samples: 3 },
    largestReply: { tokens: 611, samples: 9 },
    prefixes: [{ digest: 'old', tokens: 900 }],
    cache: 'provider-reported',
    provenance: { ...stated.provenance, rungs: [...stated.provenance.rungs, rung(13_000, 'followed')] },
  };
}

const measure = (change: Partial<Parameters<typeof measuredProfile>[0]>) =>
  measuredProfile({
    current: known(),
    stated: statedAt(NOW_MS),
    nowMs: NOW_MS,
    found: NOTHING_FOUND,
    onLeg: null,
    ...change,
  });

describe('what a probe found', () => {
  it('CAP-01 takes the place of what an earlier ladder found, and keeps what calls taught', () => {
    const found = { ...NOTHING_FOUND, ladder: LADDER, prefix: { digest: 'new', tokens: 1_234 } };
    const after = measure({ found });
    expect(after).toMatchObject({
      horizon: { tokens: 16_000, confidence: 0.9, lastConfirmedMs: NOW_MS },
      verifiedWindow: 60_000,
      tokensPerByte: { value: 0.31, samples: 12 },
      prefillTokensPerSecond: { value: 900, samples: 4 },
      closedTurnTokens: { value: 700, samples: 3 },
      largestReply: { tokens: 611, samples: 9 },
      outputReserve: 611,
    });
    expect(after.provenance).toMatchObject({ probedAtMs: NOW_MS, metadataDigest: 'd1' });
    const targets = after.provenance.rungs.filter(({ kind }) => kind === 'horizon');
    expect(targets.map(({ targetTokens }) => targetTokens)).toEqual([8_000, 16_000, 20_000]);
  });

  it('CAP-09 the prefix it counted joins those that are known', () => {
    const { prefixes } = measure({
      found: { ...NOTHING_FOUND, ladder: LADDER, prefix: { digest: 'new', tokens: 1_234 } },
    });
    expect(prefixes).toEqual([
      { digest: 'old', tokens: 900 },
      { digest: 'new', tokens: 1_234 },
    ]);
  });

  it('CAP-06 two requests for the cache are judged; one says nothing', () => {
    const seen = (cacheReadTokens: number) => ({ cacheReadTokens, firstTokenMs: 20, failed: false });
    const both = measure({ found: { ...NOTHING_FOUND, ladder: LADDER, cache: [seen(0), seen(0)] } });
    expect(both.cache).toBe('none');
    expect(both.provenance.rungs.at(-1)).toMatchObject({ kind: 'cache', verdict: 'read' });
    expect(both.provenance.signals.join()).toContain('cache rung');
    const one = measure({ found: { ...NOTHING_FOUND, ladder: LADDER, cache: [seen(0)] } });
    expect(one.cache).toBe('provider-reported');
    expect(one.provenance.rungs.some(({ kind }) => kind === 'cache')).toBe(false);
  });

  it('CAP-08 says which leg of the family its ladder ran on', () => {
    expect(
      measure({ found: { ...NOTHING_FOUND, ladder: LADDER }, onLeg: 'cheap' }).provenance.signals.join(),
    ).toContain('cheap');
    expect(measure({ found: { ...NOTHING_FOUND, ladder: LADDER } }).provenance.signals).toEqual([]);
  });

  it('CAP-08 metadata alone leave an earlier ladder standing, with its date', () => {
    const after = measure({});
    expect(after.horizon).toEqual(known().horizon);
    expect(after).toMatchObject({ verifiedWindow: 40_000, provenance: { probedAtMs: EARLIER_MS } });
  });

  it('CAP-07 F8 metadata alone raise nothing that a refusal lowered', () => {
    const lowered = applyRejection(statedAt(0), { rejectedTokens: 20_000 });
    const unasked = { ...lowered, provenance: { ...lowered.provenance, metadataDigest: null } };
    expect(measure({ current: unasked })).toMatchObject({
      horizon: { tokens: 18_000, confidence: 0.6 },
      verifiedWindow: 19_999,
      needsReprobe: true,
      provenance: { probedAtMs: NOW_MS, rungs: [{ kind: 'metadata' }] },
    });
    expect(measure({ current: unasked, found: { ...NOTHING_FOUND, ladder: LADDER } }).horizon.tokens).toBe(
      16_000,
    );
  });

  it('CAP-05 another description of the model does away with an earlier ladder', () => {
    const after = measure({ stated: statedAt(NOW_MS, 'd2') });
    expect(after).toMatchObject({
      horizon: { tokens: 131_072, confidence: 0.3 },
      verifiedWindow: null,
      tokensPerByte: { value: 0.31, samples: 12 },
      provenance: { probedAtMs: NOW_MS, metadataDigest: 'd2' },
    });
  });

  it('CAP-05 F7 a ladder without a single verdict takes nothing from the one before, and does not outrank it', () => {
    const after = measure({ found: { ...NOTHING_FOUND, ladder: UNANSWERED } });
    expect(after.horizon).toEqual(known().horizon);
    expect(after).toMatchObject({ verifiedWindow: 40_000, provenance: { probedAtMs: EARLIER_MS } });
  });

  it('CAP-05 a ladder cut short is a lower bound, to be measured again', () => {
    const short = { ...LADDER, horizonTokens: 8_000, confidence: 0.5, needsReprobe: true, complete: false };
    const rungs = [rung(8_000, 'followed'), rung(16_000, 'failed')];
    const after = measure({ found: { ...NOTHING_FOUND, ladder: { ...short, rungs, verifiedWindow: null } } });
    expect(after).toMatchObject({ horizon: { tokens: 8_000, confidence: 0.5 }, needsReprobe: true });
  });
});
