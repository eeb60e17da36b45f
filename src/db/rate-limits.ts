/** The shared limiter of calls to providers: one row a key, one statement a question, the database's clock. */
import type pg from 'pg';
import { run } from './pool.ts';

/** Says which key refusals limit from now on; an empty payload means that some of them may have been missed. */
export const LIMITS_CHANNEL = 'turnwright_limits';

/** null where there is no such limit. */
export interface RateAllowance {
  readonly requestsPerMinute: number | null;
  readonly tokensPerMinute: number | null;
  readonly concurrent: number | null;
}

export interface RateRequest extends RateAllowance {
  readonly key: string;
  readonly tenant: string;
  /** `<actor>~<child>`: the same each time the call comes back. */
  readonly call: string;
  readonly worker: string;
  /** Prompt and reply, estimated: taken from the bucket when the call is let through. */
  readonly tokens: number;
  /** A wait of at most so long counts as let through; the caller sits it out. */
  readonly inPlaceMs: number;
  /** A worker silent for longer holds no place. */
  readonly leaseMs: number;
}

/** `line`: nothing but that others of its tenant came before it. */
export type RateCause = 'pause' | 'spacing' | 'requests' | 'tokens' | 'concurrent' | 'line';

export type RateAnswer =
  | {
      readonly granted: true;
      readonly waitMs: number;
      /** False: nothing limits the key, and the next call need not ask. */
      readonly limited: boolean;
    }
  /** Not let through: ask again in `waitMs`. */
  | { readonly granted: false; readonly waitMs: number; readonly cause: RateCause };

export interface RateSettlement {
  readonly key: string;
  readonly call: string;
  readonly worker: string;
  readonly reservedTokens: number;
  readonly usedTokens: number;
  readonly tokensPerMinute: number | null;
}

export interface RateRefusal {
  readonly key: string;
  /** Nobody calls for so long. */
  readonly pauseMs: number;
  /** How long before the refusal the call was sent. */
  readonly sentAgoMs: number;
  /** How far apart this process was answered lately, on average; null when it was not. */
  readonly pacedMs: number | null;
}

export interface RateLimitStore {
  take(request: RateRequest): Promise<RateAnswer>;
  settle(settlement: RateSettlement): Promise<void>;
  /** Tells every process over `LIMITS_CHANNEL`. */
  penalise(refusal: RateRefusal): Promise<void>;
  /** Keys that refusals limit now. */
  limited(): Promise<readonly string[]>;
}

export class PostgresRateLimits implements RateLimitStore {
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  take(request: RateRequest): Promise<RateAnswer> {
    const { key, tenant, call, worker, tokens, requestsPerMinute, tokensPerMinute, concurrent } = request;
    return this.#value(
      'rate_take',
      'SELECT turnwright.rate_take($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) AS value',
      [
        key,
        tenant,
        call,
        worker,
        tokens,
        requestsPerMinute,
        tokensPerMinute,
        concurrent,
        request.inPlaceMs,
        request.leaseMs,
      ],
    );
  }

  async settle(settlement: RateSettlement): Promise<void> {
    const { key, call, worker, reservedTokens, usedTokens, tokensPerMinute } = settlement;
    await this.#value('rate_settle', 'SELECT turnwright.rate_settle($1, $2, $3, $4, $5, $6) AS value', [
      key,
      call,
      worker,
      reservedTokens,
      usedTokens,
      tokensPerMinute,
    ]);
  }

  async penalise({ key, pauseMs, sentAgoMs, pacedMs }: RateRefusal): Promise<void> {
    const values = [key, pauseMs, sentAgoMs, pacedMs];
    await this.#value('rate_penalise', 'SELECT turnwright.rate_penalise($1, $2, $3, $4) AS value', values);
  }

  limited(): Promise<readonly string[]> {
    return this.#value('rate_limited', 'SELECT turnwright.rate_limited() AS value', []);
  }

  async #value<T>(name: string, text: string, values: readonly unknown[]): Promise<T> {
    const rows = await run<{ readonly value: T }>(this.#pool, { name, text, values });
    return rows[0]?.value as T;
  }
}
