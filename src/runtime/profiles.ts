/** Binds a leg to its profile: from memory, refreshed from the shared table now and then, never from a probe. */
import {
  applyRejection,
  type MetadataFacts,
  metadataProfile,
  observeRatio,
} from '../context/capacity/bind.ts';
import type { CapacityProfile } from '../context/capacity/profile.ts';
import { promptTokens, type Usage } from '../context/request.ts';
import type { ProfileKey, ProfileStore } from '../db/profiles.ts';
import { blake3Hex } from '../ledger/chain.ts';
import type { Clock } from '../ledger/clock.ts';
import { canonicalJson } from '../ledger/json.ts';
import type { BodyOf } from '../ledger/kinds.ts';
import type { Leg, ModelMetadata } from '../providers/contract.ts';

/** How long a process trusts what it read of the shared table. */
const FRESH_MS = 5_000;
const SHARE_MS = 1_000;
const PROBE_SPACING_MS = 60_000;

interface Known {
  readonly profile: CapacityProfile;
  readonly readAtMs: number;
}

export interface ProfilesOptions {
  readonly store: ProfileStore;
  readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs'>;
  readonly onError: (error: unknown) => void;
}

export class Profiles {
  readonly #options: ProfilesOptions;
  readonly #known = new Map<string, Known>();
  readonly #sharedAtMs = new Map<string, number>();
  readonly #askedAtMs = new Map<string, number>();

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
    const fresh = metadataProfile({
      ...stated(leg),
      providerWindow: metadata.declaredWindow,
      providerMaxOutput: metadata.maxOutputTokens,
      metadataDigest: blake3Hex(canonicalJson(metadata)),
      probedAtMs: this.#options.clock.nowMs(),
    });
    const profile = withNewerRatio(fresh, this.#known.get(leg.name)?.profile);
    const key = { ...keyOf(leg), quantisation: metadata.quantisation ?? '' };
    const base = (await this.#options.store.read(key))?.version ?? 0;
    await this.#options.store.write(key, canonicalJson(profile), base);
    this.#remember(leg, profile);
    return profile;
  }

  /** What a settled call taught: tokens billed for bytes sent. Shared in the background, at most once a second. */
  observe(leg: Leg, usage: Usage | null, requestBytes: number): void {
    const known = this.#known.get(leg.name);
    if (usage === null || known === undefined) return;
    const profile = observeRatio(known.profile, promptTokens(usage), requestBytes);
    this.#known.set(leg.name, { ...known, profile });
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs - (this.#sharedAtMs.get(leg.name) ?? Number.NEGATIVE_INFINITY) < SHARE_MS) return;
    this.#sharedAtMs.set(leg.name, nowMs);
    this.#share(leg, profile).catch(this.#options.onError);
  }

  async #share(leg: Leg, profile: CapacityProfile): Promise<void> {
    const row = await this.#options.store.read(keyOf(leg));
    if (row === null) return;
    const key = { ...keyOf(leg), quantisation: row.quantisation };
    await this.#options.store.write(key, canonicalJson(profile), row.version);
  }

  /** True when nobody asked the provider yet, and this process has not for a minute. */
  takeProbe(leg: Leg, profile: CapacityProfile): boolean {
    const nowMs = this.#options.clock.monotonicMs();
    if (
      profile.provenance.rungs.length > 0 ||
      nowMs - (this.#askedAtMs.get(leg.name) ?? Number.NEGATIVE_INFINITY) < PROBE_SPACING_MS
    )
      return false;
    this.#askedAtMs.set(leg.name, nowMs);
    return true;
  }

  async #current(leg: Leg): Promise<CapacityProfile> {
    const known = this.#known.get(leg.name);
    if (known !== undefined && this.#options.clock.monotonicMs() - known.readAtMs < FRESH_MS)
      return known.profile;
    const row = await this.#options.store.read(keyOf(leg));
    const stored = row === null ? metadataProfile(stated(leg)) : (JSON.parse(row.profile) as CapacityProfile);
    const profile = withNewerRatio(stored, known?.profile);
    this.#remember(leg, profile);
    return profile;
  }

  #remember(leg: Leg, profile: CapacityProfile): void {
    this.#known.set(leg.name, { profile, readAtMs: this.#options.clock.monotonicMs() });
  }
}

/** What calls taught this process outlives what the provider states and what was shared before. */
function withNewerRatio(profile: CapacityProfile, known: CapacityProfile | undefined): CapacityProfile {
  if (known === undefined || known.tokensPerByte.samples <= profile.tokensPerByte.samples) return profile;
  return { ...profile, tokensPerByte: known.tokensPerByte };
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
