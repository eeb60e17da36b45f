/** Two processes that learn of one model, and meet in one row. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  applyRejection,
  observe,
  observeClosedTurn,
  observePrefix,
} from '../../../src/context/capacity/feedback.ts';
import { mergeProfiles } from '../../../src/context/capacity/merge.ts';
import { metadataProfile } from '../../../src/context/capacity/metadata.ts';
import { type CapacityProfile, MOST_PREFIXES } from '../../../src/context/capacity/profile.ts';
import { Tally } from '../ledger/sample.ts';

function probed(probedAtMs: number, horizon = 50_000): CapacityProfile {
  const profile = metadataProfile({
    operatorWindow: null,
    operatorMaxOutput: null,
    providerWindow: 100_000,
    providerMaxOutput: null,
    catalogueWindow: null,
    catalogueMaxOutput: null,
    metadataDigest: 'd',
    probedAtMs,
  });
  return { ...profile, horizon: { tokens: horizon, confidence: 0.9, lastConfirmedMs: probedAtMs } };
}

type Lesson = (profile: CapacityProfile) => CapacityProfile;

const call =
  (inputTokens: number, outputTokens: number): Lesson =>
  (profile) =>
    observe(profile, {
      usage: { inputTokens, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens },
      requestBytes: 10_000,
      firstTokenMs: 100,
      finishedByLength: false,
    });

const closed =
  (tokens: number): Lesson =>
  (profile) =>
    observeClosedTurn(profile, tokens);
const prefix =
  (n: number): Lesson =>
  (profile) =>
    observePrefix(profile, `p${n}`, 100 + n);
const refused =
  (rejectedTokens: number): Lesson =>
  (profile) =>
    applyRejection(profile, { rejectedTokens });

const lesson: fc.Arbitrary<Lesson> = fc.oneof(
  fc
    .tuple(fc.integer({ min: 1, max: 9_000 }), fc.integer({ min: 0, max: 4_000 }))
    .map(([i, o]) => call(i, o)),
  fc.integer({ min: 1, max: 5_000 }).map(closed),
  fc.integer({ min: 0, max: 12 }).map(prefix),
  fc.integer({ min: 1, max: 120_000 }).map(refused),
);

const learnt = (base: CapacityProfile) =>
  fc
    .array(lesson, { maxLength: 8 })
    .map((lessons) => lessons.reduce((profile, learn) => learn(profile), base));

const anyProfile = fc
  .record({ probedAtMs: fc.constantFrom(0, 5, 9), horizon: fc.integer({ min: 1_000, max: 100_000 }) })
  .chain(({ probedAtMs, horizon }) => learnt(probed(probedAtMs, horizon)));

const ofOneProbe = fc.tuple(learnt(probed(5)), learnt(probed(5)));

describe('two profiles of one model', () => {
  it('CAP-01 the same twice is the same', () => {
    fc.assert(
      fc.property(anyProfile, (one) => {
        expect(mergeProfiles(one, one)).toEqual(one);
      }),
    );
  });

  it('CAP-02 the later probe stands, whichever comes first', () => {
    const [older, newer] = [probed(5, 9_000), probed(9, 60_000)];
    for (const merged of [mergeProfiles(older, newer), mergeProfiles(newer, older)])
      expect(merged).toMatchObject({ horizon: { tokens: 60_000 }, provenance: { probedAtMs: 9 } });
  });

  it('CAP-07 between probes horizon and window only shrink, and a need to measure is not forgotten', () => {
    const tally = new Tally();
    fc.assert(
      fc.property(ofOneProbe, ([one, other]) => {
        for (const merged of [mergeProfiles(one, other), mergeProfiles(other, one)]) {
          expect(merged.horizon.tokens).toBe(Math.min(one.horizon.tokens, other.horizon.tokens));
          expect(merged.horizon.confidence).toBe(Math.min(one.horizon.confidence, other.horizon.confidence));
          expect(merged.needsReprobe).toBe(one.needsReprobe || other.needsReprobe);
          const windows = [one.verifiedWindow, other.verifiedWindow].flatMap((window) => window ?? []);
          expect(merged.verifiedWindow).toBe(windows.length === 0 ? null : Math.min(...windows));
        }
        tally.count({
          both: one.needsReprobe && other.needsReprobe,
          one: one.needsReprobe !== other.needsReprobe,
          none: !(one.needsReprobe || other.needsReprobe),
        });
      }),
      { numRuns: 300 },
    );
    tally.report('merges of one probe');
  });

  it('CAP-01 no process loses what it saw: means of the one that saw more, the largest reply, every prefix', () => {
    fc.assert(
      fc.property(anyProfile, anyProfile, (one, other) => {
        const merged = mergeProfiles(one, other);
        for (const mean of ['tokensPerByte', 'prefillTokensPerSecond', 'closedTurnTokens'] as const) {
          const most = Math.max(one[mean].samples, other[mean].samples);
          expect(merged[mean].samples).toBe(most);
          expect([one[mean], other[mean]]).toContainEqual(merged[mean]);
        }
        expect(merged.largestReply.tokens).toBe(Math.max(one.largestReply.tokens, other.largestReply.tokens));
        const digests = merged.prefixes.map(({ digest }) => digest);
        expect(new Set(digests).size).toBe(digests.length);
        expect(digests.length).toBe(
          Math.min(
            MOST_PREFIXES,
            new Set([...one.prefixes, ...other.prefixes].map(({ digest }) => digest)).size,
          ),
        );
      }),
    );
  });

  it('CAP-01 what was merged once changes nothing when it is merged again', () => {
    fc.assert(
      fc.property(anyProfile, anyProfile, (one, other) => {
        const merged = mergeProfiles(one, other);
        expect(mergeProfiles(one, merged)).toEqual(merged);
      }),
    );
  });
});
