/** Measured profiles in memory. */
import type { ProfileKey, ProfileRow, ProfileStore } from '../../../src/db/profiles.ts';

interface StoredProfile extends ProfileKey, ProfileRow {
  readonly changedMs: number;
}

export class MemoryProfiles implements ProfileStore {
  readonly #rows: Map<string, StoredProfile>;
  readonly #nowMs: () => number;

  constructor(rows: Map<string, StoredProfile>, nowMs: () => number) {
    this.#rows = rows;
    this.#nowMs = nowMs;
  }

  async read({
    provider,
    endpointDigest,
    model,
  }: Omit<ProfileKey, 'quantisation'>): Promise<ProfileRow | null> {
    const [newest] = [...this.#rows.values()]
      .filter(
        (row) => row.provider === provider && row.endpointDigest === endpointDigest && row.model === model,
      )
      .sort((a, b) => b.changedMs - a.changedMs);
    if (newest === undefined) return null;
    const { profile, version, quantisation } = newest;
    return { profile, version, quantisation };
  }

  async write(key: ProfileKey, profile: string, base: number): Promise<boolean> {
    const name = [key.provider, key.endpointDigest, key.model, key.quantisation].join('\n');
    if (this.#rows.has(name) && this.#rows.get(name)?.version !== base) return false;
    this.#rows.set(name, { ...key, profile, version: base + 1, changedMs: this.#nowMs() });
    return true;
  }
}
