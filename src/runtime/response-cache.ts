/**
 * Replies kept by the key of their request: a hit is a call that is not made. It is looked for in this process first,
 * then, where the settings say so, in the store that all processes share. A store that fails is a store without replies.
 */

import type { ChatReply, FinishReason } from '../context/request.ts';
import type { RequestKey } from '../context/request-key.ts';
import type { ResponseStore } from '../db/response-cache.ts';
import type { Clock } from '../ledger/clock.ts';
import { byteLength, canonicalJson } from '../ledger/json.ts';

/** `write-only` keeps and never looks. `strict` only looks: a miss must not become a call. */
export const CACHE_MODES = ['off', 'read-write', 'write-only', 'strict'] as const;
export type CacheMode = (typeof CACHE_MODES)[number];

/** `store` has the process before it. */
export const CACHE_LAYERS = ['process', 'store'] as const;
export type CacheLayer = (typeof CACHE_LAYERS)[number];

export interface ResponseCacheSettings {
  readonly mode: CacheMode;
  readonly layer: CacheLayer;
  readonly ttlMs: number;
}

export const RESPONSE_CACHE_DEFAULTS: ResponseCacheSettings = {
  mode: 'off',
  layer: 'process',
  ttlMs: 7 * 24 * 60 * 60 * 1_000,
};

const PROCESS_LIMIT_BYTES = 64 * 1024 * 1024;
/** A reply that was cut or filtered may come out whole the next time. */
const KEPT_FINISHES: readonly FinishReason[] = ['stop', 'tool_calls'];

/**
 * A reply as it is kept: without timings, which were those of one call, and without the provider's name for it, which
 * the provider forgets sooner. `usage` is what it once cost; a hit costs nothing.
 */
export type KeptReply = Omit<ChatReply, 'responseId' | 'firstTokenMs' | 'totalMs'>;

/** `hit` is the layer that answered; on a miss, `mayCall` is false where only kept replies are wanted. */
export type CacheLookup =
  | { readonly hit: CacheLayer; readonly reply: KeptReply }
  | { readonly hit: null; readonly looked: readonly CacheLayer[]; readonly mayCall: boolean }
  | 'not-looked';

export interface ResponseCacheOptions {
  readonly settings: ResponseCacheSettings;
  readonly store: ResponseStore;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  readonly onError: (error: unknown) => void;
  /** Of the replies this process holds. */
  readonly limitBytes?: number;
}

export class ResponseCache {
  readonly #options: ResponseCacheOptions;
  readonly #process: ProcessLayer;

  constructor(options: ResponseCacheOptions) {
    this.#options = options;
    this.#process = new ProcessLayer(options.clock, options.limitBytes ?? PROCESS_LIMIT_BYTES);
  }

  /** Nothing is looked for, and nothing kept. */
  get isOff(): boolean {
    return this.#options.settings.mode === 'off';
  }

  async lookup(key: RequestKey): Promise<CacheLookup> {
    const { mode, layer } = this.#options.settings;
    if (mode === 'off' || mode === 'write-only') return 'not-looked';
    const held = this.#process.get(key.digest);
    if (held !== null) return { hit: 'process', reply: JSON.parse(held) as KeptReply };
    const mayCall = mode !== 'strict';
    if (layer === 'process') return { hit: null, looked: ['process'], mayCall };
    const reply = await this.#stored(key);
    return reply === null ? { hit: null, looked: ['process', 'store'], mayCall } : { hit: 'store', reply };
  }

  /** Keeps a whole reply, unless one is kept already. */
  async keep(key: RequestKey, { content, finish, usage, model }: ChatReply): Promise<void> {
    const { store, settings, onError } = this.#options;
    if (settings.mode === 'off' || settings.mode === 'strict' || !KEPT_FINISHES.includes(finish)) return;
    const kept: KeptReply = { content, finish, usage, model };
    const text = canonicalJson(kept);
    this.#process.put(key.digest, text, settings.ttlMs);
    if (settings.layer === 'store') await store.keep(key, text, settings.ttlMs).catch(onError);
  }

  async #stored(key: RequestKey): Promise<KeptReply | null> {
    try {
      const row = await this.#options.store.read(key);
      if (row === null) return null;
      const reply = JSON.parse(row.reply) as KeptReply;
      this.#process.put(key.digest, row.reply, row.leftMs);
      return reply;
    } catch (error) {
      this.#options.onError(error);
      return null;
    }
  }
}

/** How one request fared, as its receipt says it. Requests that passed the cache by have `none`. */
export interface CacheProbe {
  readonly request: 'hit' | 'miss' | 'none';
  /** The layers that were looked in. */
  readonly layers: { readonly [L in CacheLayer]?: 'hit' | 'miss' };
}

export function probeOf(lookup: CacheLookup): CacheProbe {
  if (lookup === 'not-looked') return { request: 'none', layers: {} };
  switch (lookup.hit) {
    case 'process':
      return { request: 'hit', layers: { process: 'hit' } };
    case 'store':
      return { request: 'hit', layers: { process: 'miss', store: 'hit' } };
    case null:
      return { request: 'miss', layers: Object.fromEntries(lookup.looked.map((layer) => [layer, 'miss'])) };
  }
}

/** `rate` is hits over lookups; null without a lookup. */
export interface HitRate {
  readonly hits: number;
  readonly misses: number;
  readonly rate: number | null;
}

/** A request counts once, whichever layer hit, and once below for each layer that was looked in. */
export function hitRates(
  probes: readonly CacheProbe[],
): HitRate & { readonly byLayer: Readonly<Record<CacheLayer, HitRate>> } {
  const byLayer = {
    process: hitRate(probes.map(({ layers }) => layers.process)),
    store: hitRate(probes.map(({ layers }) => layers.store)),
  };
  return { ...hitRate(probes.map(({ request }) => request)), byLayer };
}

function hitRate(results: readonly (CacheProbe['request'] | undefined)[]): HitRate {
  const hits = results.filter((result) => result === 'hit').length;
  const misses = results.filter((result) => result === 'miss').length;
  return { hits, misses, rate: hits + misses === 0 ? null : hits / (hits + misses) };
}

interface Held {
  readonly text: string;
  readonly bytes: number;
  readonly untilMs: number;
}

/** Replies as text, so that no two hits share an object. The least recently used goes first. */
class ProcessLayer {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  readonly #limitBytes: number;
  readonly #held = new Map<string, Held>();
  #bytes = 0;

  constructor(clock: Pick<Clock, 'monotonicMs'>, limitBytes: number) {
    this.#clock = clock;
    this.#limitBytes = limitBytes;
  }

  get(digest: string): string | null {
    const held = this.#held.get(digest);
    if (held === undefined) return null;
    this.#remove(digest, held);
    if (held.untilMs <= this.#clock.monotonicMs()) return null;
    this.#add(digest, held);
    return held.text;
  }

  put(digest: string, text: string, leftMs: number): void {
    const bytes = byteLength(text);
    if (bytes > this.#limitBytes || this.get(digest) !== null) return;
    this.#add(digest, { text, bytes, untilMs: this.#clock.monotonicMs() + leftMs });
    for (const [oldest, held] of this.#held) {
      if (this.#bytes <= this.#limitBytes) return;
      this.#remove(oldest, held);
    }
  }

  #add(digest: string, held: Held): void {
    this.#held.set(digest, held);
    this.#bytes += held.bytes;
  }

  #remove(digest: string, held: Held): void {
    this.#held.delete(digest);
    this.#bytes -= held.bytes;
  }
}
