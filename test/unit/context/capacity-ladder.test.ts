import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type LadderOptions,
  type LadderResult,
  type LadderState,
  ladderResult,
  nextSample,
  openLadder,
  type SampleAnswer,
  takeSample,
} from '../../../src/context/capacity/ladder.ts';
import { withLadder } from '../../../src/context/capacity/measured.ts';
import { type MetadataFacts, metadataProfile } from '../../../src/context/capacity/metadata.ts';
import type { CapacityProfile } from '../../../src/context/capacity/profile.ts';

type Model = (targetTokens: number, request: number) => SampleAnswer;

const DEFAULTS: LadderOptions = { window: 128_000, samples: 3, prefillTokensPerSecond: 0 };

interface Climb {
  readonly result: LadderResult;
  /** Targets of the requests, in order. */
  readonly asked: readonly number[];
  readonly states: readonly LadderState[];
}

function climb(model: Model, options: Partial<LadderOptions> = {}): Climb {
  const asked: number[] = [];
  const states = [openLadder({ ...DEFAULTS, ...options })];
  for (;;) {
    const state = states.at(-1);
    const next = state === undefined ? null : nextSample(state);
    if (state === undefined || next === null) break;
    asked.push(next.targetTokens);
    // What a machine keeps of it is JSON.
    states.push(takeSample(JSON.parse(JSON.stringify(state)), model(next.targetTokens, asked.length)));
  }
  return { result: ladderResult(states.at(-1) ?? openLadder(DEFAULTS)), asked, states };
}

function answer(verdict: SampleAnswer['verdict'], promptTokens: number | null): SampleAnswer {
  return { verdict, promptTokens };
}

function follower(horizon: number): Model {
  return (target) => answer(target <= horizon ? 'followed' : 'not-followed', target);
}

function targets(result: LadderResult): readonly (number | null)[] {
  return result.rungs.map(({ targetTokens }) => targetTokens);
}

describe('the ladder', () => {
  it('CAP-05 doubles from 4,000 to nine tenths of the window, and stops there when all is followed', () => {
    const { result } = climb(follower(1e9));
    expect(targets(result)).toEqual([4_000, 8_000, 16_000, 32_000, 64_000, 115_200]);
    expect(result).toMatchObject({ horizonTokens: 115_200, confidence: 0.9, complete: true });
    expect(result).toMatchObject({ verifiedWindow: null, needsReprobe: false });
  });

  it('CAP-05 halves the gap after the first failure until it is under a quarter', () => {
    const { result } = climb(follower(50_000));
    expect(targets(result)).toEqual([4_000, 8_000, 16_000, 32_000, 64_000, 48_000, 56_000]);
    expect(result).toMatchObject({ horizonTokens: 48_000, confidence: 0.9, complete: true });
  });

  it('CAP-05 finds a noiseless horizon within a quarter below it, and never above', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1_000, max: 400_000 }),
        fc.option(fc.integer({ min: 450_000, max: 2_000_000 })),
        fc.constantFrom(1, 3, 5, 7, 9),
        (horizon, window, samples) => {
          const { result } = climb(follower(horizon), { window, samples });
          expect(result.horizonTokens).toBeLessThanOrEqual(horizon);
          expect(result.horizonTokens).toBeGreaterThanOrEqual(0.75 * horizon);
        },
      ),
    );
  });

  it('CAP-05 tells phase, rung and sample, and each rung is asked with the same size until two agree', () => {
    const first = openLadder(DEFAULTS);
    expect(nextSample(first)).toEqual({ targetTokens: 4_000, rung: 1, sample: 1, phase: 'climbing' });
    const second = takeSample(first, answer('not-followed', 4_000));
    expect(nextSample(second)).toEqual({ targetTokens: 4_000, rung: 1, sample: 2, phase: 'climbing' });
    const next = takeSample(second, answer('not-followed', 4_000));
    expect(nextSample(next)).toEqual({ targetTokens: 2_000, rung: 2, sample: 1, phase: 'bisecting' });
    expect(climb(follower(1e9)).asked.slice(0, 4)).toEqual([4_000, 4_000, 8_000, 8_000]);
  });

  it('CAP-05 F7 no single answer decides a rung, and a split is asked on', () => {
    const votes = (...said: readonly SampleAnswer['verdict'][]) => {
      const model: Model = (target, request) => answer(said[request - 1] ?? 'not-followed', target);
      return climb(model).result.rungs[0];
    };
    const yes = 'followed';
    const no = 'not-followed';
    expect(votes(yes, yes)).toMatchObject({ verdict: 'followed', samples: 2, agreed: 2 });
    expect(votes(no, yes, yes, yes)).toMatchObject({ verdict: 'followed', samples: 4, agreed: 3 });
    expect(votes(yes, no, no, no)).toMatchObject({ verdict: 'not-followed', samples: 4, agreed: 3 });
    expect(votes(yes, no, no, yes, yes)).toMatchObject({ verdict: 'followed', samples: 5, agreed: 3 });
    expect(votes(yes, no, yes, no, no)).toMatchObject({ verdict: 'not-followed', samples: 5, agreed: 3 });
  });

  it('CAP-05 takes as many samples as are set: all of one when one is enough', () => {
    const asked = (samples: number) => climb(follower(1e9), { samples, window: 4_000 }).asked.length;
    expect([1, 3, 5, 7, 9].map(asked)).toEqual([1, 2, 3, 4, 5]);
  });

  it('CAP-05 a window below the first rung has one rung, at its cap', () => {
    const { result } = climb(follower(1e9), { window: 2_048 });
    expect(targets(result)).toEqual([1_843]);
    expect(result.horizonTokens).toBe(1_843);
  });

  it('CAP-05 without a stated window doubles until the first failure', () => {
    const { result } = climb(follower(300_000), { window: null });
    expect(targets(result).slice(0, 8)).toEqual([
      4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000, 512_000,
    ]);
    expect(result.horizonTokens).toBe(256_000);
    expect(climb(follower(1e12), { window: null }).result.complete).toBe(true);
  });

  it('CAP-05 a model that never follows is given 4,000 tokens, or its window where that is smaller', () => {
    const never = climb(follower(0));
    expect(never.result).toMatchObject({ horizonTokens: 4_000, confidence: 0.3, complete: true });
    expect(targets(never.result)).toEqual([4_000, 2_000, 1_000]);
    expect(climb(follower(0), { window: 3_000 }).result.horizonTokens).toBe(3_000);
    expect(climb(follower(0), { window: null }).result.horizonTokens).toBe(4_000);
  });

  it('CAP-05 takes no answer once it is over', () => {
    const { states } = climb(follower(1e9));
    expect(() => takeSample(states.at(-1) ?? openLadder(DEFAULTS), answer('followed', 1))).toThrow(
      RangeError,
    );
  });

  it('CAP-05 its state stays under 3 KiB, whatever happens', () => {
    const verdicts: readonly SampleAnswer['verdict'][] = ['followed', 'not-followed', 'rejected'];
    fc.assert(
      fc.property(
        fc.option(fc.integer({ min: 1, max: 1_000_000_000 })),
        fc.constantFrom(1, 3, 9),
        fc.infiniteStream(fc.tuple(fc.constantFrom(0, 0, 0, 0, 1, 2), fc.boolean())),
        (window, samples, stream) => {
          const answers = stream[Symbol.iterator]();
          const model: Model = (target) => {
            const [which, whole] = answers.next().value as [number, boolean];
            return answer(verdicts[which] ?? 'failed', whole ? target : Math.floor(0.8 * target));
          };
          const { states } = climb(model, { window, samples });
          for (const state of states) expect(JSON.stringify(state).length).toBeLessThan(3 * 1_024);
        },
      ),
    );
    const highest = climb(follower(1e9 - 1e8), { window: 1_000_000_000, samples: 9 }).states.at(-1);
    expect(JSON.stringify(highest).length).toBeLessThan(3 * 1_024);
  });
});

describe('a ladder that meets the window', () => {
  function windowed(window: number): Model {
    return (target) => (target > window ? answer('rejected', null) : answer('followed', target));
  }

  it('CAP-05 a refusal ends its rung at once and bounds the verified window', () => {
    const { result, asked } = climb(windowed(10_000));
    expect(asked.filter((target) => target === 16_000)).toHaveLength(1);
    expect(result.rungs[2]).toEqual({
      kind: 'horizon',
      targetTokens: 16_000,
      verdict: 'rejected',
      samples: 1,
      agreed: 1,
    });
    expect(targets(result)).toEqual([4_000, 8_000, 16_000, 12_000, 10_000]);
    expect(result).toMatchObject({ horizonTokens: 10_000, verifiedWindow: 11_999, complete: true });
  });

  it('CAP-05 finds a window that refuses more, within a quarter', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1_000, max: 100_000 }), (window) => {
        const { horizonTokens, verifiedWindow } = climb(windowed(window)).result;
        expect(horizonTokens).toBeLessThanOrEqual(window);
        expect(horizonTokens).toBeGreaterThanOrEqual(0.75 * window);
        expect(verifiedWindow).toBeGreaterThanOrEqual(window);
      }),
    );
  });

  it('CAP-05 a prompt read by less than three quarters was cut, whatever the model said of it', () => {
    const cutting: Model = (target) => answer('followed', target > 10_000 ? 5_002 : target);
    const { result, asked } = climb(cutting);
    expect(result.rungs[2]).toMatchObject({ targetTokens: 16_000, verdict: 'truncated', samples: 1 });
    expect(asked.filter((target) => target === 16_000)).toHaveLength(1);
    expect(result.horizonTokens).toBe(10_000);
    // What was read whole proves more than what the cut left over.
    expect(result.verifiedWindow).toBe(10_000);
    const kept: Model = (target) => answer('followed', Math.min(target, 5_000));
    expect(climb(kept).result.verifiedWindow).toBe(6_000);
    expect(climb(() => answer('followed', 700)).result).toMatchObject({
      horizonTokens: 700,
      verifiedWindow: 700,
    });
  });

  it('CAP-05 three quarters of the target count as read', () => {
    const share =
      (part: number): Model =>
      (target) =>
        answer('followed', part * target);
    expect(climb(share(0.75)).result.horizonTokens).toBe(115_200);
    expect(climb(share(0.74)).result.rungs.map(({ verdict }) => verdict)).not.toContain('followed');
  });

  it('CAP-05 without a stated window a rung counts only where the provider says what it read', () => {
    const silent: Model = () => answer('followed', null);
    expect(climb(silent, { window: null }).result).toMatchObject({
      horizonTokens: 4_000,
      confidence: 0.3,
      verifiedWindow: null,
    });
    expect(climb(silent).result.horizonTokens).toBe(115_200);
  });
});

describe('a ladder cut short', () => {
  const failingAt =
    (request: number, model: Model): Model =>
    (target, at) =>
      at === request ? answer('failed', null) : model(target, at);

  it('CAP-05 F7 ends at a failed request with what is confirmed, and wants another probe', () => {
    const { result, asked } = climb(failingAt(6, follower(1e9)));
    expect(asked).toHaveLength(6);
    expect(result).toMatchObject({
      horizonTokens: 8_000,
      confidence: 0.5,
      complete: false,
      needsReprobe: true,
    });
    expect(result.rungs.at(-1)).toMatchObject({ targetTokens: 16_000, verdict: 'failed', samples: 2 });
  });

  it('CAP-05 ends before a rung that would take over 45 s to read', () => {
    const { result } = climb(follower(1e9), { prefillTokensPerSecond: 700 });
    expect(result).toMatchObject({ horizonTokens: 16_000, confidence: 0.5, complete: false });
    expect(result.needsReprobe).toBe(false);
    const exact = climb(follower(1e9), { prefillTokensPerSecond: 32_000 / 45 });
    expect(exact.result.horizonTokens).toBe(32_000);
  });

  it('CAP-05 nothing followed is told apart from something followed', () => {
    const { result } = climb(failingAt(3, follower(0)));
    expect(result).toMatchObject({
      horizonTokens: 4_000,
      confidence: 0.3,
      complete: false,
      needsReprobe: true,
    });
  });

  it('CAP-05 may be read at any time: what is confirmed so far', () => {
    const { states } = climb(follower(50_000));
    const confirmed = states.map((state) => ladderResult(state).horizonTokens);
    expect(confirmed.at(4)).toBe(8_000);
    expect(ladderResult(states[4] ?? openLadder(DEFAULTS))).toMatchObject({
      confidence: 0.5,
      complete: false,
    });
  });
});

describe('a profile with a ladder', () => {
  const NOTHING: MetadataFacts = {
    operatorWindow: null,
    operatorMaxOutput: null,
    providerWindow: null,
    providerMaxOutput: null,
    catalogueWindow: null,
    catalogueMaxOutput: null,
    metadataDigest: 'd1',
    probedAtMs: 5,
  };

  function learned(facts: Partial<MetadataFacts> = {}): CapacityProfile {
    return {
      ...metadataProfile({ ...NOTHING, providerWindow: 128_000, ...facts }),
      tokensPerByte: { value: 0.31, samples: 9 },
      prefillTokensPerSecond: { value: 740, samples: 4 },
      closedTurnTokens: { value: 900, samples: 6 },
      prefixes: [{ digest: 'p', tokens: 400 }],
      needsReprobe: true,
    };
  }

  it('CAP-05 takes its horizon, keeps what calls taught, and lists its rungs after the metadata', () => {
    const before = learned();
    const { result } = climb(follower(50_000));
    const after = withLadder(before, result, { probedAtMs: 70 });
    expect(after.horizon).toEqual({ tokens: 48_000, confidence: 0.9, lastConfirmedMs: 70 });
    expect(after.needsReprobe).toBe(false);
    expect(after.provenance).toEqual({
      ...before.provenance,
      probedAtMs: 70,
      rungs: [...before.provenance.rungs, ...result.rungs],
    });
    const { tokensPerByte, prefillTokensPerSecond, closedTurnTokens, prefixes } = before;
    expect(after).toMatchObject({ tokensPerByte, prefillTokensPerSecond, closedTurnTokens, prefixes });
    const again = withLadder(after, result, { probedAtMs: 80 });
    expect(again.provenance.rungs).toEqual(after.provenance.rungs);
  });

  it('CAP-07 a probe, and it alone, raises a horizon', () => {
    const lowered = { ...learned(), horizon: { tokens: 5_000, confidence: 0.6, lastConfirmedMs: 6 } };
    const after = withLadder(lowered, climb(follower(50_000)).result, { probedAtMs: 70 });
    expect(after.horizon.tokens).toBe(48_000);
  });

  it('CAP-05 keeps the lower verified window, but never below what was followed', () => {
    const { result } = climb((target) => answer(target > 40_000 ? 'rejected' : 'followed', target));
    const verified = (known: number | null) =>
      withLadder({ ...learned(), verifiedWindow: known }, result, { probedAtMs: 70 }).verifiedWindow;
    expect(result).toMatchObject({ horizonTokens: 40_000, verifiedWindow: 47_999 });
    expect([null, 60_000, 45_000, 9_000].map(verified)).toEqual([47_999, 47_999, 45_000, 40_000]);
  });

  it('CAP-05 a horizon fits the window, and an assumed window grows to what was followed', () => {
    const { result } = climb(follower(300_000), { window: null });
    const stated = withLadder(learned(), result, { probedAtMs: 70 });
    expect([stated.declaredWindow, stated.horizon.tokens]).toEqual([128_000, 128_000]);
    const assumed = withLadder(learned({ providerWindow: null }), result, { probedAtMs: 70 });
    expect([assumed.declaredWindow, assumed.horizon.tokens]).toEqual([256_000, 256_000]);
  });

  it('CAP-05 F7 stays as it is when no rung was decided', () => {
    const before = learned();
    for (const result of [ladderResult(openLadder(DEFAULTS)), climb(() => answer('failed', null)).result])
      expect(withLadder(before, result, { probedAtMs: 70 })).toBe(before);
  });
});
