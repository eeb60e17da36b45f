import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rateLimitWaitMs, retryAfterMs } from '../../../src/providers/retry-after.ts';

const NOW_MS = Date.parse('2026-05-01T12:00:00Z');

describe('retryAfterMs', () => {
  it.each([
    [{ 'retry-after': '20' }, 20_000],
    [{ 'retry-after': '0.5' }, 500],
    [{ 'retry-after': '0' }, 0],
    [{ 'retry-after': 'Fri, 01 May 2026 12:00:30 GMT' }, 30_000],
    [{ 'retry-after': 'Fri, 01 May 2026 11:00:00 GMT' }, 0],
    [{ 'retry-after-ms': '1500', 'retry-after': '9' }, 1_500],
    [{ 'retry-after': '999999999' }, 86_400_000],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'retry-after': '-5' }, undefined],
    [{}, undefined],
  ])('reads %j as %s ms', (headers, waitMs) => {
    expect(retryAfterMs(new Headers(headers as Record<string, string>), NOW_MS)).toBe(waitMs);
  });

  it('is a whole number of milliseconds within a day, or undefined, for any header', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[ -~]{0,30}$/), (value) => {
        const waitMs = retryAfterMs(new Headers({ 'retry-after': value }), NOW_MS);
        if (waitMs === undefined) return;
        expect(Number.isInteger(waitMs)).toBe(true);
        expect(waitMs).toBeGreaterThanOrEqual(0);
        expect(waitMs).toBeLessThanOrEqual(86_400_000);
      }),
    );
  });
});

describe('rateLimitWaitMs', () => {
  it('prefers Retry-After to the reset headers', () => {
    const headers = new Headers({ 'retry-after': '1', 'x-ratelimit-reset-requests': '6m0s' });
    expect(rateLimitWaitMs(headers, NOW_MS)).toBe(1_000);
  });

  it.each([
    ['6m0s', 360_000],
    ['12ms', 12],
    ['1h2m3.5s', 3_723_500],
    ['1d', 86_400_000],
    ['20', 20_000],
    ['whenever', undefined],
    ['3s!', undefined],
  ])('reads the reset duration %s', (value, waitMs) => {
    expect(rateLimitWaitMs(new Headers({ 'x-ratelimit-reset-tokens': value }), NOW_MS)).toBe(waitMs);
  });

  it('waits for the bucket that is empty, not for the one that still has room', () => {
    const headers = new Headers({
      'x-ratelimit-remaining-requests': '4999',
      'x-ratelimit-reset-requests': '24h',
      'x-ratelimit-remaining-tokens': '0',
      'x-ratelimit-reset-tokens': '2s',
    });
    expect(rateLimitWaitMs(headers, NOW_MS)).toBe(2_000);
  });

  it('waits for the latest reset when no bucket says it is empty', () => {
    const headers = new Headers({
      'anthropic-ratelimit-requests-reset': '2026-05-01T12:00:10Z',
      'anthropic-ratelimit-input-tokens-reset': '2026-05-01T12:00:40Z',
    });
    expect(rateLimitWaitMs(headers, NOW_MS)).toBe(40_000);
  });
});
