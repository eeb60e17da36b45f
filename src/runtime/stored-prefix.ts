/** Prefixes as they were stored: they never change, so a process reads each of them once. */
import { type Prefix, prefixOf } from '../context/assemble/prefix.ts';
import type { SessionRef, Store } from '../db/contract.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import { parseBody } from '../ledger/kinds.ts';

/** Kept of each store, by the length of their text. The least recently used goes first. */
const KEPT_CHARS = 32 * 1024 * 1024;

type Reading = Pick<Store, 'prefix'>;

/** @throws TurnwrightError `ledger_corrupt` when the session does not hold it any more. */
export async function storedPrefix(store: Reading, ref: SessionRef, digest: string): Promise<Prefix> {
  const prefix = await findPrefix(store, ref, digest);
  if (prefix !== null) return prefix;
  throw new TurnwrightError('ledger_corrupt', `Session ${ref.session} does not hold the prefix ${digest}.`);
}

/** null where the session does not hold it. */
export async function findPrefix(store: Reading, ref: SessionRef, digest: string): Promise<Prefix | null> {
  const kept = keptOf(store);
  const key = `${ref.session}/${digest}`;
  const known = kept.get(key);
  if (known !== null) return known;
  const body = await store.prefix(ref, digest);
  if (body === null) return null;
  const { system, tools, ...held } = parseBody('prefix', JSON.parse(body));
  const prefix = prefixOf(system, tools, held);
  kept.put(key, prefix, body.length);
  return prefix;
}

class KeptPrefixes {
  readonly #entries = new Map<string, { readonly prefix: Prefix; readonly chars: number }>();
  #chars = 0;

  get(key: string): Prefix | null {
    const entry = this.#entries.get(key);
    if (entry === undefined) return null;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.prefix;
  }

  put(key: string, prefix: Prefix, chars: number): void {
    if (chars > KEPT_CHARS || this.#entries.has(key)) return;
    this.#entries.set(key, { prefix, chars });
    this.#chars += chars;
    for (const [oldest, entry] of this.#entries) {
      if (this.#chars <= KEPT_CHARS) return;
      this.#entries.delete(oldest);
      this.#chars -= entry.chars;
    }
  }
}

const keptByStore = new WeakMap<Reading, KeptPrefixes>();

function keptOf(store: Reading): KeptPrefixes {
  const known = keptByStore.get(store);
  if (known !== undefined) return known;
  const kept = new KeptPrefixes();
  keptByStore.set(store, kept);
  return kept;
}
