/** The limiter as plain arithmetic over plain maps: what the functions in the database are compared with. */
import type {
  RateAnswer,
  RateCause,
  RateLimitStore,
  RateRefusal,
  RateRequest,
  RateSettlement,
} from '../../src/db/rate-limits.ts';

const MINUTE_MS = 60_000;
const HALF_LIFE_MS = 30_000;
const SPACING_FLOOR_MS = 10;
const SMALLEST_FIRST_SPACING_MS = 20;
const LARGEST_FIRST_SPACING_MS = 2_000;
const LARGEST_SPACING_MS = 30_000;
const STALE_MS = 10_000;
const KEPT_MS = 2_000;
const PATIENCE_MS = 30_000;
const COUNTED_AHEAD = 1_000;
const FORGOTTEN_MS = 60_000;
const HELD_WEIGHT = 0.2;

export interface RateLimitModelOptions {
  readonly nowMs: () => number;
  /** Whether a worker's last sign of life is younger than the lease. */
  readonly alive?: (worker: string, leaseMs: number) => boolean;
  readonly onNotify?: (key: string) => void;
}

interface KeyState {
  requestsUntilMs: number;
  tokensUntilMs: number;
  pausedUntilMs: number;
  spacingMs: number;
  spacedAtMs: number;
  nextAtMs: number;
  refusedAtMs: number;
  heldMs: number;
  /** By tenant, then by call. */
  readonly lines: Map<string, Map<string, { readonly sinceMs: number; backAtMs: number }>>;
  readonly slots: Map<string, { readonly worker: string; readonly takenAtMs: number }>;
}

function burst(perMinute: number): number {
  return Math.max(1, Math.floor(perMinute / 10));
}

function paceMs(perMinute: number): number {
  return MINUTE_MS / (perMinute - burst(perMinute) + 1);
}

export class RateLimitModel implements RateLimitStore {
  readonly #options: RateLimitModelOptions;
  readonly #keys = new Map<string, KeyState>();

  constructor(options: RateLimitModelOptions) {
    this.#options = options;
  }

  async take(request: RateRequest): Promise<RateAnswer> {
    const nowMs = this.#options.nowMs();
    const configured =
      request.requestsPerMinute !== null || request.tokensPerMinute !== null || request.concurrent !== null;
    if (!configured && !this.#keys.has(request.key)) return { granted: true, waitMs: 0, limited: false };
    const state = this.#stateOf(request.key);
    const spacingMs = spacingNow(state, nowMs);
    const limited = configured || spacingMs > 0 || state.pausedUntilMs > nowMs;
    const waits = this.#waits(state, request, spacingMs, nowMs);
    const waitMs = Math.max(...waits.map((wait) => wait.waitMs));
    const line = state.lines.get(request.tenant) ?? new Map();
    const known = line.get(request.call);
    const sinceMs = known?.sinceMs ?? nowMs;
    const older = aheadIn(line, request.call, sinceMs, nowMs);
    const ahead = older.length;
    const yields = older.some(
      ({ backAtMs }) => backAtMs <= nowMs + request.inPlaceMs && backAtMs > nowMs - KEPT_MS,
    );
    if (!limited || (waitMs <= request.inPlaceMs && (ahead === 0 || (known !== undefined && !yields)))) {
      if (limited) this.#fill(state, request, nowMs, nowMs + waitMs + spacingMs);
      line.delete(request.call);
      return { granted: true, waitMs, limited };
    }
    const backMs = this.#backMs(state, request, { waits, waitMs, ahead, spacingMs }, nowMs);
    line.set(request.call, { sinceMs, backAtMs: nowMs + backMs });
    state.lines.set(request.tenant, line);
    const longest = [...waits].sort((a, b) => b.waitMs - a.waitMs)[0];
    const cause = longest === undefined || longest.waitMs === 0 ? 'line' : longest.cause;
    return { granted: false, waitMs: backMs, cause };
  }

  async settle({ key, call, worker, reservedTokens, usedTokens, tokensPerMinute }: RateSettlement) {
    const state = this.#keys.get(key);
    if (state === undefined) return;
    const slot = state.slots.get(call);
    if (slot?.worker === worker) {
      state.slots.delete(call);
      const heldMs = this.#options.nowMs() - slot.takenAtMs;
      state.heldMs = state.heldMs === 0 ? heldMs : (1 - HELD_WEIGHT) * state.heldMs + HELD_WEIGHT * heldMs;
    }
    if (tokensPerMinute !== null)
      state.tokensUntilMs += (usedTokens - reservedTokens) * paceMs(tokensPerMinute);
  }

  async penalise({ key, pauseMs, sentAgoMs, pacedMs }: RateRefusal) {
    const nowMs = this.#options.nowMs();
    const state = this.#stateOf(key);
    const spacingMs = spacingNow(state, nowMs);
    state.pausedUntilMs = Math.max(state.pausedUntilMs, nowMs + pauseMs);
    if (nowMs - sentAgoMs >= state.refusedAtMs) {
      const seen = 2 * Math.min(pauseMs, pacedMs ?? pauseMs);
      const first = Math.min(LARGEST_FIRST_SPACING_MS, Math.max(SMALLEST_FIRST_SPACING_MS, seen));
      state.spacingMs = spacingMs > 0 ? Math.min(LARGEST_SPACING_MS, 2 * spacingMs) : first;
      state.refusedAtMs = nowMs;
      state.spacedAtMs = state.pausedUntilMs;
    }
    state.nextAtMs = Math.max(state.nextAtMs, state.pausedUntilMs);
    this.#options.onNotify?.(key);
  }

  async limited(): Promise<readonly string[]> {
    const nowMs = this.#options.nowMs();
    for (const { lines } of this.#keys.values())
      for (const line of lines.values())
        for (const [call, { backAtMs }] of line) if (backAtMs < nowMs - FORGOTTEN_MS) line.delete(call);
    return [...this.#keys]
      .filter(([, state]) => state.pausedUntilMs > nowMs || spacingNow(state, nowMs) > 0)
      .map(([key]) => key)
      .sort();
  }

  #stateOf(key: string): KeyState {
    const known = this.#keys.get(key);
    if (known !== undefined) return known;
    const zero = { requestsUntilMs: 0, tokensUntilMs: 0, pausedUntilMs: 0, spacingMs: 0, spacedAtMs: 0 };
    const made: KeyState = {
      ...zero,
      nextAtMs: 0,
      refusedAtMs: 0,
      heldMs: 0,
      lines: new Map(),
      slots: new Map(),
    };
    this.#keys.set(key, made);
    return made;
  }

  #waits(state: KeyState, request: RateRequest, spacingMs: number, nowMs: number) {
    const { requestsPerMinute, tokensPerMinute, concurrent, inPlaceMs, leaseMs } = request;
    const bucket = (untilMs: number, cost: number, perMinute: number | null) =>
      perMinute === null
        ? 0
        : Math.max(0, untilMs - nowMs - Math.max(0, burst(perMinute) - cost) * paceMs(perMinute));
    const alive = this.#options.alive ?? (() => true);
    const busy = [...state.slots].filter(
      ([call, { worker }]) => call !== request.call && alive(worker, leaseMs),
    ).length;
    const full = concurrent !== null && busy >= concurrent;
    const wait = (cause: RateCause, waitMs: number) => ({ cause, waitMs });
    return [
      wait('pause', Math.max(0, state.pausedUntilMs - nowMs)),
      wait('spacing', spacingMs > 0 ? Math.max(0, state.nextAtMs - nowMs) : 0),
      wait('requests', bucket(state.requestsUntilMs, 1, requestsPerMinute)),
      wait('tokens', bucket(state.tokensUntilMs, request.tokens, tokensPerMinute)),
      wait('concurrent', full ? Math.max(state.heldMs / concurrent, 2 * inPlaceMs) : 0),
    ];
  }

  #fill(state: KeyState, request: RateRequest, nowMs: number, nextAtMs: number): void {
    const { requestsPerMinute, tokensPerMinute, concurrent, call, worker, tokens } = request;
    if (requestsPerMinute !== null)
      state.requestsUntilMs = Math.max(state.requestsUntilMs, nowMs) + paceMs(requestsPerMinute);
    if (tokensPerMinute !== null)
      state.tokensUntilMs = Math.max(state.tokensUntilMs, nowMs) + tokens * paceMs(tokensPerMinute);
    state.nextAtMs = nextAtMs;
    if (concurrent !== null) state.slots.set(call, { worker, takenAtMs: nowMs });
  }

  #backMs(
    state: KeyState,
    request: RateRequest,
    found: {
      readonly waits: readonly { readonly waitMs: number }[];
      readonly waitMs: number;
      readonly ahead: number;
      readonly spacingMs: number;
    },
    nowMs: number,
  ): number {
    const { requestsPerMinute, tokensPerMinute, concurrent, tokens, inPlaceMs, tenant } = request;
    const others = [...state.lines].filter(
      ([other, line]) =>
        other !== tenant && [...line.values()].some(({ backAtMs }) => backAtMs > nowMs - STALE_MS),
    );
    const eachMs = Math.max(
      1,
      found.spacingMs,
      requestsPerMinute === null ? 0 : paceMs(requestsPerMinute),
      tokensPerMinute === null ? 0 : tokens * paceMs(tokensPerMinute),
      concurrent === null ? 0 : state.heldMs / concurrent,
    );
    const whole = found.waitMs + found.ahead * (others.length + 1) * eachMs;
    const told = whole > PATIENCE_MS ? Math.max(PATIENCE_MS, whole / 2, found.waits[0]?.waitMs ?? 0) : whole;
    return Math.max(told, inPlaceMs);
  }
}

interface Wait {
  readonly sinceMs: number;
  readonly backAtMs: number;
}

/** Those before a call in its tenant's line, oldest first. */
function aheadIn(
  line: ReadonlyMap<string, Wait>,
  call: string,
  sinceMs: number,
  nowMs: number,
): readonly Wait[] {
  return [...line]
    .filter(
      ([other, wait]) =>
        (wait.sinceMs < sinceMs || (wait.sinceMs === sinceMs && other < call)) &&
        wait.backAtMs > nowMs - STALE_MS,
    )
    .sort(([a, one], [b, other]) => one.sinceMs - other.sinceMs || (a < b ? -1 : 1))
    .slice(0, COUNTED_AHEAD)
    .map(([, wait]) => wait);
}

function spacingNow({ spacingMs, spacedAtMs }: KeyState, nowMs: number): number {
  const left = spacingMs * 0.5 ** Math.min(60, Math.max(0, nowMs - spacedAtMs) / HALF_LIFE_MS);
  return left >= SPACING_FLOOR_MS ? left : 0;
}
