import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { legsText, profileText } from '../../../src/cli/profile-text.ts';
import type { LegInfo, Profile } from '../../../src/client/index.ts';

type Rung = Profile['rungs'][number];

const plain = (text: string): string => text;
const STYLE = { bold: plain, dim: plain, good: plain, bad: plain, note: plain };
const WIDTH = 100;

const rung = (target_tokens: number | null, verdict: Rung['verdict'], over: Partial<Rung> = {}): Rung => ({
  kind: 'horizon',
  target_tokens,
  verdict,
  samples: 3,
  agreed: 2,
  ...over,
});

const measured = (over: Partial<Profile> = {}): Profile => ({
  leg: 'local',
  declared_window: 32_768,
  window_source: 'provider',
  verified_window: 29_490,
  horizon: { tokens: 13_000, confidence: 0.9, last_confirmed_at: '2026-11-30T17:00:00.000Z' },
  tokens_per_byte: { value: 0.2714, samples: 12 },
  prefill_tokens_per_second: { value: 1_204.4, samples: 8 },
  cache: 'provider-reported',
  max_output: 8_192,
  max_output_source: 'catalogue',
  largest_reply: { tokens: 812, samples: 9 },
  output_reserve: 2_000,
  closed_turn_tokens: { value: 1_350.2, samples: 4 },
  prefixes: [{ digest: 'ab', tokens: 2_011 }],
  needs_reprobe: false,
  probed_at: '2026-11-30T17:00:00.000Z',
  rungs: [
    rung(null, 'read', { kind: 'metadata', samples: null, agreed: null }),
    rung(4_000, 'followed'),
    rung(8_000, 'followed'),
    rung(16_000, 'not-followed'),
    rung(29_491, 'rejected', { samples: 1, agreed: 1 }),
    rung(13_000, 'followed', { samples: 5, agreed: 4 }),
    rung(4_400, 'read', { kind: 'cache', samples: null, agreed: null }),
  ],
  signals: ['cache rung: first token after 900 ms, then after 40 ms'],
  metadata_digest: 'cd',
  probe: { state: 'idle', asked: null },
  ...over,
});

/** Lines of the picture: a size, a bar, words. */
const picture = (profile: Profile) =>
  profileText(profile, STYLE)
    .split('\n')
    .flatMap((line) => {
      const [, size, bar, words] = /^ *([\d,]+) {2}([█░·┤]+) +(.*)$/u.exec(line) ?? [];
      return size === undefined
        ? []
        : { tokens: Number(size.replaceAll(',', '')), chars: bar?.length ?? 0, words: words ?? '' };
    });

describe('CAP-10 a profile as a picture', () => {
  it('CAP-10 has a line for each rung and limit, smallest first, with verdict and votes', () => {
    expect(picture(measured()).map(({ tokens, words }) => [tokens, words])).toEqual([
      [4_000, 'followed     2 of 3'],
      [8_000, 'followed     2 of 3'],
      [13_000, 'followed     4 of 5'],
      [13_000, 'horizon, 90 % sure'],
      [16_000, 'not followed 2 of 3'],
      [29_490, 'verified window'],
      [29_491, 'rejected     1 of 1'],
      [32_768, 'declared window (provider)'],
    ]);
  });

  it('CAP-10 draws bars on one scale: longer for more, as long for as much again, never too wide', () => {
    const size = fc.integer({ min: 1, max: 20_000_000 });
    const verdict = fc.constantFrom<Rung['verdict']>(
      'followed',
      'not-followed',
      'rejected',
      'truncated',
      'failed',
    );
    fc.assert(
      fc.property(
        fc.array(fc.tuple(size, verdict), { maxLength: 20 }),
        size,
        size,
        (rungs, window, tokens) => {
          const profile = measured({
            declared_window: window,
            verified_window: null,
            horizon: { tokens, confidence: 0.3, last_confirmed_at: null },
            rungs: rungs.map(([target, told]) => rung(target, told)),
          });
          const lines = picture(profile);
          expect(lines).toHaveLength(rungs.length + 2);
          for (const [at, line] of lines.entries()) {
            expect(line.chars).toBeGreaterThan(0);
            const next = lines[at + 1];
            if (next === undefined) continue;
            expect(next.tokens).toBeGreaterThanOrEqual(line.tokens);
            expect(next.chars).toBeGreaterThanOrEqual(line.chars);
          }
          for (const line of profileText(profile, STYLE).split('\n'))
            expect(Array.from(line).length).toBeLessThan(WIDTH);
        },
      ),
    );
    const doubling = measured({
      rungs: [4_000, 8_000, 16_000, 32_000].map((tokens) => rung(tokens, 'followed')),
    });
    const steps = picture(doubling)
      .filter(({ words }) => words.startsWith('followed'))
      .map(({ chars }, at, all) => chars - (all[at - 1]?.chars ?? chars));
    for (const step of steps.slice(1)) expect(Math.abs(step - (steps[1] ?? 0))).toBeLessThanOrEqual(1);
    expect(steps[1]).toBeGreaterThan(5);
  });

  it('CAP-10 tells the figures turns are sized by, and how many calls each stands on', () => {
    const text = profileText(measured(), STYLE);
    for (const line of [
      'local  measured 2026-11-30T17:00:00.000Z',
      'tokens    0.271 a byte, from 12 calls',
      'reading   1,204 tokens a second, from 8 calls',
      'cache     provider-reported',
      'reply     2,000 tokens kept free; at most 8,192 (catalogue); largest seen 812',
      'turns     1,350 tokens each, from 4 turns',
      'prefix    2,011 tokens, the newest of 1 counted',
      'asked     metadata read, cache read',
      '          cache rung: first token after 900 ms, then after 40 ms',
    ])
      expect(text.split('\n')).toContain(line);
  });

  it('CAP-10 says of an unmeasured model that its figures are only stated, and of an assumed window so', () => {
    const text = profileText(
      measured({ rungs: [], probed_at: null, window_source: 'fallback', verified_window: null }),
      STYLE,
    );
    expect(text).toContain('not measured: these are stated figures. `turnwright probe local` measures it');
    expect(text).toContain('declared window (assumed)');
    expect(text).not.toContain('verified window');
  });

  it('CAP-10 says when a model is being probed, or is to be', () => {
    const text = profileText(
      measured({ needs_reprobe: true, probe: { state: 'running', asked: null } }),
      STYLE,
    );
    expect(text).toContain('to be measured again; it is being probed now');
  });
});

describe('CAP-04 legs as a table', () => {
  it('CAP-04 shows windows, horizons and prices, and a dash where nobody states a price', () => {
    const leg: LegInfo = {
      name: 'near',
      provider: 'ollama',
      model: 'tiny',
      family: null,
      local: true,
      window_tokens: 8_192,
      window_source: 'provider',
      horizon_tokens: 6_000,
      horizon_confidence: 0.9,
      max_output_tokens: null,
      price: null,
      default: true,
    };
    const tier = {
      input_micro_usd_per_million: 3_000_000,
      cached_input_micro_usd_per_million: 300_000,
      cache_write_micro_usd_per_million: 3_750_000,
      output_micro_usd_per_million: 15_000_000,
    };
    const far: LegInfo = {
      ...leg,
      name: 'far',
      local: false,
      price: { rate_id: 'leg:far', ...tier, long_prompt: null },
    };
    const [, first, second] = legsText([leg, far], STYLE).split('\n');
    expect(first?.split(/ {2,}/u)).toEqual(['near', 'tiny', 'here', '8,192', '6,000', '90 %', '-', '-']);
    expect(second).toMatch(/^far .* hosted .*\$3\.000000 +\$15\.000000$/u);
  });
});
