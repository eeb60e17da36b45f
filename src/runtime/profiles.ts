/** Binds a leg to its profile: from memory, refreshed from the shared table now and then, never from a probe. */
import { applyRejection, type MetadataFacts, metadataProfile } from '../context/capacity/bind.ts';
import type { CapacityProfile } from '../context/capacity/profile.ts';
import type { ProfileKey, ProfileStore } from '../db/profiles.ts';
import { blake3Hex } from '../ledger/chain.ts';
import { canonicalJson } from '../ledger/json.ts';
import type { BodyOf } from '../ledger/kinds.ts';
import type { Leg, ModelMetadata } from '../providers/contract.ts';

/** How long a process trusts what it read of the shared table. */
const FRESH_MS = 5_000;

interface Known {
  readonly profile: CapacityProfile;
  readonly readAtMs: number;
}

export interface ProfilesOptions {
  readonly store: ProfileStore;
  readonly nowMs: () => number;
}

export class Profiles {
  readonly #options: ProfilesOptions;
  readonly #known = new Map<string, Known>();

  constructor(options: ProfilesOptions) {
    this.#options = options;
  }

  /** The profile a turn on this leg is sized by. */
  async bind(leg: Leg, rejections: readonly BodyOf<'capacity-feedback'>[]): Promise<CapacityProfile> {
    let profile = await this.#current(leg);
    for (const rejection of rejections)
      if (rejection.leg === leg.name) profile = applyRejection(profile, rejection);
    return profile;
  }

  /** Stores what the metadata rung found and returns the profile made of it. */
  async learn(leg: Leg, metadata: ModelMetadata): Promise<CapacityProfile> {
    const profile = metadataProfile({
      ...stated(leg),
      providerWindow: metadata.declaredWindow,
      providerMaxOutput: metadata.maxOutputTokens,
      metadataDigest: blake3Hex(canonicalJson(metadata)),
      probedAtMs: this.#options.nowMs(),
    });
    const key = { ...keyOf(leg), quantisation: metadata.quantisation ?? '' };
    const base = (await this.#options.store.read(key))?.version ?? 0;
    await this.#options.store.write(key, canonicalJson(profile), base);
    this.#remember(leg, profile);
    return profile;
  }

  async #current(leg: Leg): Promise<CapacityProfile> {
    const known = this.#known.get(leg.name);
    if (known !== undefined && this.#options.nowMs() - known.readAtMs < FRESH_MS) return known.profile;
    const row = await this.#options.store.read(keyOf(leg));
    const profile =
      row === null ? metadataProfile(stated(leg)) : (JSON.parse(row.profile) as CapacityProfile);
    this.#remember(leg, profile);
    return profile;
  }

  #remember(leg: Leg, profile: CapacityProfile): void {
    this.#known.set(leg.name, { profile, readAtMs: this.#options.nowMs() });
  }
}

function stated(leg: Leg): MetadataFacts {
  return {
    operatorWindow: leg.window ?? null,
    operatorMaxOutput: leg.maxOutputTokens ?? null,
    providerWindow: null,
    providerMaxOutput: null,
    metadataDigest: null,
    probedAtMs: 0,
  };
}

function keyOf(leg: Leg): Omit<ProfileKey, 'quantisation'> {
  return { provider: leg.provider, endpointDigest: blake3Hex(leg.baseUrl ?? ''), model: leg.model };
}
