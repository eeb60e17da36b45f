/** How long a provider asks to be left alone, from whichever of its headers says so. */

/** A wait longer than a day is a defect of the sender; the side call's own policy decides beyond it. */
const MAX_RETRY_AFTER_MS = 86_400_000;

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** RFC 3339, or the date of HTTP. */
const INSTANT =
  /^\s*(?:\d{4}-\d{2}-\d{2}T|[A-Za-z]{3,9},? \d{2}[ -][A-Za-z]{3}[ -]\d{2,4} )\d{2}:\d{2}:\d{2}/;

/** One bucket of a rate limit: what is left of it, and when it is full again. */
interface Bucket {
  readonly remaining: string;
  readonly reset: string;
}

// https://platform.openai.com/docs/guides/rate-limits#rate-limits-in-headers: durations such as 6m0s or 12ms.
const OPENAI_BUCKETS: readonly Bucket[] = ['requests', 'tokens'].map((name) => ({
  remaining: `x-ratelimit-remaining-${name}`,
  reset: `x-ratelimit-reset-${name}`,
}));

// https://docs.claude.com/en/api/rate-limits#response-headers: RFC 3339 instants.
const ANTHROPIC_BUCKETS: readonly Bucket[] = ['requests', 'tokens', 'input-tokens', 'output-tokens'].map(
  (name) => ({
    remaining: `anthropic-ratelimit-${name}-remaining`,
    reset: `anthropic-ratelimit-${name}-reset`,
  }),
);

/** `Retry-After` in its three spellings; undefined when absent or unreadable. */
export function retryAfterMs(headers: Headers, nowMs: number): number | undefined {
  return (
    bounded(plainNumber(headers.get('retry-after-ms'))) ??
    bounded(scaled(plainNumber(headers.get('retry-after')), 1_000)) ??
    bounded(untilInstant(headers.get('retry-after'), nowMs))
  );
}

/** As above, else the reset of the buckets that are empty, else the latest reset named. */
export function rateLimitWaitMs(headers: Headers, nowMs: number): number | undefined {
  return retryAfterMs(headers, nowMs) ?? resetMs(headers, nowMs);
}

/** A wait stated as a duration such as `34.07s`; undefined when absent or unreadable. */
export function statedWaitMs(value: string | null): number | undefined {
  return bounded(durationMs(value));
}

function resetMs(headers: Headers, nowMs: number): number | undefined {
  const waits: { readonly empty: boolean; readonly waitMs: number }[] = [];
  for (const bucket of [...OPENAI_BUCKETS, ...ANTHROPIC_BUCKETS]) {
    const value = headers.get(bucket.reset);
    const waitMs = bounded(durationMs(value) ?? untilInstant(value, nowMs));
    if (waitMs !== undefined) waits.push({ empty: headers.get(bucket.remaining)?.trim() === '0', waitMs });
  }
  const empty = waits.filter((wait) => wait.empty);
  const relevant = empty.length > 0 ? empty : waits;
  return relevant.length === 0 ? undefined : Math.max(...relevant.map((wait) => wait.waitMs));
}

function bounded(waitMs: number | null): number | undefined {
  return waitMs === null ? undefined : Math.round(Math.min(Math.max(waitMs, 0), MAX_RETRY_AFTER_MS));
}

function plainNumber(value: string | null): number | null {
  return value !== null && /^\s*\d+(?:\.\d+)?\s*$/.test(value) ? Number(value) : null;
}

function scaled(value: number | null, factor: number): number | null {
  return value === null ? null : value * factor;
}

/** `1h2m3.5s`, `250ms`, or a bare number of seconds. */
function durationMs(value: string | null): number | null {
  const seconds = plainNumber(value);
  if (seconds !== null) return seconds * 1_000;
  const trimmed = (value ?? '').trim();
  if (!/^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/.test(trimmed)) return null;
  let totalMs = 0;
  for (const [, amount, unit] of trimmed.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)) {
    totalMs += Number(amount) * (UNIT_MS[unit ?? ''] ?? 0);
  }
  return totalMs;
}

function untilInstant(value: string | null, nowMs: number): number | null {
  // Date.parse takes nearly anything for a date: "-5" is a month.
  if (value === null || !INSTANT.test(value)) return null;
  const instantMs = Date.parse(value);
  return Number.isNaN(instantMs) ? null : instantMs - nowMs;
}
