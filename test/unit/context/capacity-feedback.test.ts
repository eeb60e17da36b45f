import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  applyRejection,
  type CallSample,
  drifted,
  moved,
  observe,
  observeClosedTurn,
  observePrefix,
  tighten,
} from '../../../src/context/capacity/feedback.ts';
import { metadataProfile } from '../../../src/context/capacity/metadata.ts';
import { type CapacityProfile, MOST_PREFIXES } from '../../../src/context/capacity/profile.ts';

function fresh(window = 100_000): CapacityProfile {
  return metadataProfile({
    operatorWindow: window,
    operatorMaxOutput: null,
    providerWindow: null,
    providerMaxOutput: null,
    catalogueWindow: null,
    catalogueMaxOutput: null,
    metadataDigest: null,
    probedAtMs: 0,
  });
}

function sample(change: Partial<CallSample['usage']> & Partial<Omit<CallSample, 'usage'>> = {}): CallSample {
  const { requestBytes = 1_000, firstTokenMs = null, finishedByLength = false, ...usage } = change;
  return {
    usage: { inputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 0, ...usage },
    requestBytes,
    firstTokenMs,
    finishedByLength,
  };
}

describe('a settled call', () => {
  it('CAP-01 the first sample replaces the guess, later ones count three tenths', () => {
    expect(fresh().tokensPerByte).toEqual({ value: 0.25, samples: 0 });
    const once = observe(fresh(), sample({ inputTokens: 400 }));
    expect(once.tokensPerByte).toEqual({ value: 0.4, samples: 1 });
    const twice = observe(once, sample({ inputTokens: 500 }));
    expect(twice.tokensPerByte.value).toBeCloseTo(0.43, 10);
    expect(twice.tokensPerByte.samples).toBe(2);
  });

  it('CAP-01 F1 a prompt read from a cache weighs as much as a fresh one', () => {
    const usages = [
      { inputTokens: 400 },
      { inputTokens: 0, cacheReadTokens: 400 },
      { inputTokens: 10, cacheReadTokens: 300, cacheWriteTokens: 90 },
    ];
    for (const usage of usages) expect(observe(fresh(), sample(usage)).tokensPerByte.value).toBe(0.4);
  });

  it('CAP-01 F1 F2 ten calls of two percent noise give the ratio of all bytes sent within two percent', () => {
    const call = fc.record({
      requestBytes: fc.integer({ min: 10_000, max: 400_000 }),
      noise: fc.double({ min: -0.02, max: 0.02, noNaN: true }),
      cached: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    fc.assert(
      fc.property(
        fc.double({ min: 0.1, max: 0.6, noNaN: true }),
        fc.array(call, { minLength: 10, maxLength: 10 }),
        (truth, calls) => {
          let profile = fresh();
          for (const { requestBytes, noise, cached } of calls) {
            const prompt = truth * (1 + noise) * requestBytes;
            const usage = { inputTokens: (1 - cached) * prompt, cacheReadTokens: cached * prompt };
            profile = observe(profile, sample({ ...usage, requestBytes }));
          }
          expect(Math.abs(profile.tokensPerByte.value / truth - 1)).toBeLessThanOrEqual(0.02 + 1e-9);
          expect(profile.tokensPerByte.samples).toBe(10);
        },
      ),
    );
  });

  it('CAP-01 learns nothing from a report without tokens or bytes', () => {
    for (const change of [{ inputTokens: 10, requestBytes: 0 }, { inputTokens: 0 }])
      expect(observe(fresh(), sample(change))).toEqual(fresh());
  });

  it('CAP-01 measures prefill only where nothing came from a cache and a first token was timed', () => {
    const timed = observe(fresh(), sample({ inputTokens: 900, cacheWriteTokens: 100, firstTokenMs: 500 }));
    expect(timed.prefillTokensPerSecond).toEqual({ value: 2_000, samples: 1 });
    const later = observe(timed, sample({ inputTokens: 1_000, firstTokenMs: 1_000 }));
    expect(later.prefillTokensPerSecond.value).toBeCloseTo(1_700, 10);
    for (const change of [
      { cacheReadTokens: 1, firstTokenMs: 500 },
      { firstTokenMs: null },
      { firstTokenMs: 0 },
    ])
      expect(observe(timed, sample({ inputTokens: 1_000, ...change })).prefillTokensPerSecond).toEqual(
        timed.prefillTokensPerSecond,
      );
  });

  it('CAP-01 keeps the largest reply, and reserves that much once eight replies were seen', () => {
    let profile = fresh();
    for (const outputTokens of [300, 3_000, 200, 400, 500, 600, 700])
      profile = observe(profile, sample({ inputTokens: 400, outputTokens }));
    expect(profile.largestReply).toEqual({ tokens: 3_000, samples: 7 });
    expect(profile.outputReserve).toBe(2_000);
    expect(observe(profile, sample({ outputTokens: 5 })).outputReserve).toBe(3_000);
    expect(observe(profile, sample({ outputTokens: 0 })).largestReply.samples).toBe(7);
  });

  it('CAP-01 counts a reply cut by its limit double, so that the reserve can grow past it', () => {
    let profile = fresh();
    for (let call = 0; call < 8; call += 1)
      profile = observe(profile, sample({ outputTokens: 2_000, finishedByLength: call === 3 }));
    expect(profile.outputReserve).toBe(4_000);
  });

  it('F4 teaches the profile of its own leg alone', () => {
    const primary = Object.freeze(fresh());
    const fallback = observe(primary, sample({ inputTokens: 900, outputTokens: 5_000 }));
    expect(applyRejection(fallback, { rejectedTokens: 10 }).horizon.tokens).toBe(9);
    expect(primary).toEqual(fresh());
  });
});

describe('sizes seen', () => {
  it('CAP-01 a closed turn moves the size turns are expected to have', () => {
    const once = observeClosedTurn(fresh(), 1_000);
    expect(once.closedTurnTokens).toEqual({ value: 1_000, samples: 1 });
    expect(observeClosedTurn(once, 2_000).closedTurnTokens.value).toBeCloseTo(1_300, 10);
    expect(observeClosedTurn(once, 0)).toBe(once);
  });

  it('CAP-09 a prefix is known by its digest, and counted anew when it is seen again', () => {
    const two = observePrefix(observePrefix(fresh(), 'a', 100), 'b', 200);
    expect(observePrefix(two, 'a', 111).prefixes).toEqual([
      { digest: 'b', tokens: 200 },
      { digest: 'a', tokens: 111 },
    ]);
  });

  it('CAP-09 of too many prefixes the one not seen for longest is forgotten', () => {
    let profile = fresh();
    for (let at = 0; at < MOST_PREFIXES; at += 1) profile = observePrefix(profile, `d${at}`, 100);
    profile = observePrefix(observePrefix(profile, 'd0', 100), 'new', 7);
    expect(profile.prefixes.map(({ digest }) => digest)).toEqual([
      'd2',
      'd3',
      'd4',
      'd5',
      'd6',
      'd7',
      'd0',
      'new',
    ]);
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
          const before = fresh(window);
          const after = applyRejection(before, { rejectedTokens, limitTokens });
          expect(after.horizon.tokens).toBe(
            Math.max(1, Math.min(window, Math.floor(0.9 * rejectedTokens), limitTokens ?? window)),
          );
          expect(after.verifiedWindow).toBe(Math.max(1, rejectedTokens - 1));
          expect(after.horizon.confidence).toBe(0.6);
          expect(after.needsReprobe).toBe(true);
          expect(after.declaredWindow).toBe(limitTokens ?? window);
          expect(after.outputReserve).toBeLessThanOrEqual(Math.max(1, rejectedTokens - 1) / 2);
          const again = applyRejection(after, { rejectedTokens: rejectedTokens + 1_000 });
          expect(again.horizon.tokens).toBe(after.horizon.tokens);
          expect(again.verifiedWindow).toBe(after.verifiedWindow);
        },
      ),
    );
  });

  it('CAP-07 a limit the provider states is its window from then on', () => {
    expect(applyRejection(fresh(), { rejectedTokens: 60_000, limitTokens: 50_000 })).toMatchObject({
      declaredWindow: 50_000,
      windowSource: 'provider',
    });
    expect(applyRejection(fresh(), { rejectedTokens: 60_000 }).windowSource).toBe('operator');
  });
});

describe('a missed instruction', () => {
  const horizon = 10_000;

  it('CAP-07 from 0.8 of the horizon on lowers it to the request, and asks for a probe', () => {
    const after = tighten(fresh(horizon), 8_000);
    expect(after.horizon).toEqual({ tokens: 8_000, confidence: 0.6, lastConfirmedMs: 0 });
    expect(after.needsReprobe).toBe(true);
  });

  it('CAP-07 F8 below 0.8 of the horizon changes nothing, and above it raises nothing', () => {
    const before = fresh(horizon);
    expect(tighten(before, 7_999)).toBe(before);
    expect(tighten(before, 5_000)).toBe(before);
    expect(tighten(before, 25_000).horizon.tokens).toBe(horizon);
    expect(drifted(before, 7_999)).toBe(before);
  });

  it('CAP-07 as drift lowers confidence and asks for a probe, and leaves the horizon', () => {
    const sure = { ...fresh(horizon), horizon: { tokens: horizon, confidence: 0.9, lastConfirmedMs: 3 } };
    const after = drifted(sure, 8_000);
    expect(after.horizon).toEqual({ tokens: horizon, confidence: 0.6, lastConfirmedMs: 3 });
    expect(after.needsReprobe).toBe(true);
    expect(drifted(fresh(horizon), 9_000).horizon.confidence).toBe(0.3);
  });

  it('CAP-07 F8 no order of feedback ever raises a horizon or a verified window', () => {
    const size = fc.integer({ min: 1, max: 200_000 });
    const step = fc.oneof(
      size.map((tokens) => (profile: CapacityProfile) => tighten(profile, tokens)),
      size.map((tokens) => (profile: CapacityProfile) => drifted(profile, tokens)),
      size.map((rejectedTokens) => (profile: CapacityProfile) => applyRejection(profile, { rejectedTokens })),
      size.map(
        (limit) => (profile: CapacityProfile) =>
          applyRejection(profile, { rejectedTokens: limit + 1, limitTokens: limit }),
      ),
      size.map((inputTokens) => (profile: CapacityProfile) => observe(profile, sample({ inputTokens }))),
      size.map((tokens) => (profile: CapacityProfile) => observeClosedTurn(profile, tokens)),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        let profile = fresh();
        for (const apply of steps) {
          const after = apply(profile);
          const unbounded = Number.POSITIVE_INFINITY;
          expect(after.horizon.tokens).toBeLessThanOrEqual(profile.horizon.tokens);
          expect(after.horizon.tokens).toBeGreaterThanOrEqual(1);
          expect(after.verifiedWindow ?? unbounded).toBeLessThanOrEqual(profile.verifiedWindow ?? unbounded);
          profile = after;
        }
      }),
    );
  });
});

describe('what is worth a record', () => {
  const before = { ...fresh(), tokensPerByte: { value: 0.4, samples: 3 }, verifiedWindow: 50_000 };

  it('CAP-07 is a horizon that changed at all', () => {
    const tokens = before.horizon.tokens - 1;
    expect(moved(before, { ...before, horizon: { ...before.horizon, tokens } })).toBe(true);
  });

  it('CAP-07 is a measure that moved by more than a twentieth, up or down', () => {
    const ratio = (value: number) => moved(before, { ...before, tokensPerByte: { value, samples: 4 } });
    expect([0.4, 0.415, 0.385, 0.43, 0.37].map(ratio)).toEqual([false, false, false, true, true]);
    const changes: readonly Partial<CapacityProfile>[] = [
      { prefillTokensPerSecond: { value: 700, samples: 1 } },
      { closedTurnTokens: { value: 700, samples: 1 } },
      { largestReply: { tokens: 700, samples: 1 } },
      { outputReserve: 1_000 },
      { declaredWindow: 90_000 },
      { verifiedWindow: 40_000 },
      { maxOutput: 4_096 },
      { horizon: { ...before.horizon, confidence: 0.6 } },
    ];
    for (const change of changes) expect(moved(before, { ...before, ...change })).toBe(true);
  });

  it('CAP-07 is no count of samples', () => {
    const counted = { ...before, largestReply: { tokens: 0, samples: 9 } };
    expect(moved(before, { ...counted, tokensPerByte: { value: 0.4, samples: 40 } })).toBe(false);
  });
});
