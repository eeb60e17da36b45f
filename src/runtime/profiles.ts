/**
 * Binds a leg to its profile: from memory, refreshed from the shared table now and then, never from a probe. What calls
 * teach is taken in at once and shared in the background.
 */
import {
  applyRejection,
  type CallSample,
  drifted,
  observe,
  observeClosedTurn,
  type Rejection,
  tighten,
} from '../context/capacity/feedback.ts';
import { mergeProfiles } from '../context/capacity/merge.ts';
import { metadataProfile, type WindowWarning, windowWarning } from '../context/capacity/metadata.ts';
import type { CapacityProfile } from '../context/capacity/profile.ts';
import type { ModelKey } from '../db/probe-flights.ts';
import type { ProfileRow, ProfileStore } from '../db/profiles.ts';
import { blake3Hex } from '../ledger/chain.ts';
import type { Clock } from '../ledger/clock.ts';
import { canonicalJson } from '../ledger/json.ts';
import type { OverLength } from '../ledger/view.ts';
import type { Leg, ModelMetadata } from '../providers/contract.ts';

/** How long a process trusts what it read of the shared table. */
const FRESH_MS = 5_000;
const SHARE_MS = 1_000;
/** Others write the same row: a write that lost to one of them is made anew. */
const SHARE_TRIES = 5;
/**
 * Any model takes a prompt of this size. That a smaller one is refused counts for the turn that met it; it would size
 * the requests of every session from then on, and only a probe raises what calls have lowered.
 */
const LEAST_REFUSED_TOKENS = 2_000;

interface Known {
  readonly profile: CapacityProfile;
  readonly readAtMs: number;
}

/** What the catalogue says of a leg's model; null where it says nothing. */
export interface CatalogueFacts {
  readonly window: number | null;
  readonly maxOutput: number | null;
}

export interface ProfilesOptions {
  readonly store: ProfileStore;
  readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs'>;
  readonly catalogue: (leg: Leg) => CatalogueFacts;
  readonly onWarning: (warning: WindowWarning) => void;
  readonly onError: (error: unknown) => void;
}

/** Legs to one model at one address share what is known of it. */
export function modelKey(leg: Pick<Leg, 'provider' | 'baseUrl' | 'model'>): ModelKey {
  return { provider: leg.provider, endpointDigest: blake3Hex(leg.baseUrl ?? ''), model: leg.model };
}

/** The key as one text. */
export function modelName({ provider, endpointDigest, model }: ModelKey): string {
  return `${provider}/${endpointDigest}/${model}`;
}

function metadataDigest(metadata: ModelMetadata): string {
  return blake3Hex(canonicalJson(metadata));
}

export class Profiles {
  readonly #options: ProfilesOptions;
  readonly #known = new Map<string, Known>();
  readonly #sharedAtMs = new Map<string, number>();
  readonly #warned = new Set<string>();

  constructor(options: ProfilesOptions) {
    this.#options = options;
  }

  /** The profile a turn on this leg is sized by; `rejections` are those the turn met. */
  async bind(leg: Leg, rejections: readonly OverLength[] = []): Promise<CapacityProfile> {
    let profile = await this.current(leg);
    for (const rejection of rejections)
      if (rejection.leg === leg.name) profile = applyRejection(profile, rejection);
    this.#warn(leg, profile);
    return profile;
  }

  async current(leg: Leg): Promise<CapacityProfile> {
    const known = this.#known.get(leg.name);
    if (known !== undefined && this.#options.clock.monotonicMs() - known.readAtMs < FRESH_MS)
      return known.profile;
    const row = await this.#read(leg);
    const stored = row === null ? this.stated(leg, null) : (JSON.parse(row.profile) as CapacityProfile);
    const profile = withOwnWindow(leg, known === undefined ? stored : mergeProfiles(known.profile, stored));
    this.#remember(leg, profile);
    return profile;
  }

  /** A table out of reach is one without the row: a turn is planned by what is known here. */
  async #read(leg: Leg): Promise<ProfileRow | null> {
    try {
      return await this.#options.store.read(modelKey(leg));
    } catch (error) {
      this.#options.onError(error);
      return null;
    }
  }

  /** The profile made of what is stated alone; `metadata` null while the provider was not asked. */
  stated(leg: Leg, metadata: ModelMetadata | null): CapacityProfile {
    const { window: catalogueWindow, maxOutput: catalogueMaxOutput } = this.#options.catalogue(leg);
    return metadataProfile({
      operatorWindow: leg.window ?? null,
      operatorMaxOutput: leg.maxOutputTokens ?? null,
      providerWindow: metadata?.declaredWindow ?? null,
      providerMaxOutput: metadata?.maxOutputTokens ?? null,
      catalogueWindow,
      catalogueMaxOutput,
      metadataDigest: metadata === null ? null : metadataDigest(metadata),
      probedAtMs: metadata === null ? 0 : Math.floor(this.#options.clock.nowMs()),
    });
  }

  /** Puts a probe's profile where every process binds it from; what calls taught meanwhile joins it. */
  async learn(leg: Leg, measured: CapacityProfile, quantisation: string | null): Promise<CapacityProfile> {
    const known = this.#known.get(leg.name);
    this.#remember(leg, known === undefined ? measured : mergeProfiles(known.profile, measured));
    return this.#share(leg, quantisation ?? '');
  }

  /** What a settled call taught, and the profile before and after it. */
  observe(
    leg: Leg,
    sample: CallSample,
  ): { readonly before: CapacityProfile; readonly after: CapacityProfile } | null {
    return this.#change(leg, (profile) => observe(profile, sample));
  }

  observeClosedTurn(leg: Leg, tokens: number): void {
    this.#change(leg, (profile) => observeClosedTurn(profile, tokens));
  }

  /** The model missed an instruction in a request of so many tokens; one that repeats itself is only doubted. */
  missed(leg: Leg, requestTokens: number, { drift }: { readonly drift: boolean }) {
    // Rare, like a refusal, and as much news to every process.
    this.#sharedAtMs.delete(leg.name);
    const change = drift ? drifted : tighten;
    return this.#change(leg, (profile) => change(profile, requestTokens));
  }

  /** The leg refused a prompt as too long. That is rare, and every process has to know: it is shared at once. */
  refuse(leg: Leg, rejection: Rejection): void {
    if (rejection.limitTokens === undefined && rejection.rejectedTokens < LEAST_REFUSED_TOKENS) return;
    this.#sharedAtMs.delete(leg.name);
    this.#change(leg, (profile) => applyRejection(profile, rejection));
  }

  #change(leg: Leg, change: (profile: CapacityProfile) => CapacityProfile) {
    const known = this.#known.get(leg.name);
    if (known === undefined) return null;
    const before = known.profile;
    const after = change(before);
    if (after === before) return null;
    this.#known.set(leg.name, { ...known, profile: after });
    this.#shareSoon(leg);
    return { before, after };
  }

  #shareSoon(leg: Leg): void {
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs - (this.#sharedAtMs.get(leg.name) ?? Number.NEGATIVE_INFINITY) < SHARE_MS) return;
    this.#sharedAtMs.set(leg.name, nowMs);
    this.#share(leg, null).catch(this.#options.onError);
  }

  /** Merges this process's profile into the row; `quantisation` null keeps the row's. */
  async #share(leg: Leg, quantisation: string | null): Promise<CapacityProfile> {
    const { store } = this.#options;
    for (let tries = 0; ; tries++) {
      const row = await store.read(modelKey(leg));
      const stored = row === null ? null : (JSON.parse(row.profile) as CapacityProfile);
      const mine = this.#known.get(leg.name)?.profile ?? this.stated(leg, null);
      const merged = stored === null ? mine : mergeProfiles(stored, mine);
      const named = quantisation ?? row?.quantisation ?? '';
      // Another build of the model is another key, and its row begins anew.
      const base = row !== null && row.quantisation === named ? row.version : 0;
      const written = await store.write(
        { ...modelKey(leg), quantisation: named },
        canonicalJson(merged),
        base,
      );
      if (!written && tries < SHARE_TRIES) continue;
      this.#remember(leg, withOwnWindow(leg, merged));
      return merged;
    }
  }

  #remember(leg: Leg, profile: CapacityProfile): void {
    this.#known.set(leg.name, { profile, readAtMs: this.#options.clock.monotonicMs() });
  }

  #warn(leg: Leg, profile: CapacityProfile): void {
    if (profile.windowSource !== 'fallback' || this.#warned.has(leg.model)) return;
    const warning = windowWarning(profile, leg);
    if (warning === null) return;
    this.#warned.add(leg.model);
    this.#options.onWarning(warning);
  }
}

/** A row may have been written by a process that was configured otherwise: the operator's word here stands here. */
function withOwnWindow(leg: Leg, profile: CapacityProfile): CapacityProfile {
  const { window } = leg;
  if (window === undefined || profile.declaredWindow === window) return profile;
  // A horizon that was only assumed moves with the window it was taken from.
  const assumed = profile.horizon.tokens === profile.declaredWindow;
  const tokens = assumed ? window : Math.min(profile.horizon.tokens, window);
  return {
    ...profile,
    declaredWindow: window,
    windowSource: 'operator',
    horizon: { ...profile.horizon, tokens },
  };
}
