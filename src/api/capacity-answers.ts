/** Legs, profiles and prices as the answers show them. Addresses and credentials of legs stay inside. Pure. */
import { z } from 'zod';
import { isLocalLeg } from '../context/capacity/due.ts';
import type { CapacityProfile, Rung } from '../context/capacity/profile.ts';
import type { Rate, TierRates } from '../context/pricing/rate.ts';
import type { ActorState } from '../db/contract.ts';
import type { Leg } from '../providers/contract.ts';
import type * as schemas from './capacity-schemas.ts';
import { snapshotOf } from './turn-state.ts';

type LegAnswer = z.infer<typeof schemas.leg>;
type ProfileAnswer = z.infer<typeof schemas.profile>;
type RungAnswer = z.infer<typeof schemas.rung>;

export function legAnswer(
  leg: Leg,
  {
    profile,
    rate,
    isDefault,
  }: { readonly profile: CapacityProfile; readonly rate: Rate | null; readonly isDefault: boolean },
): LegAnswer {
  return {
    name: leg.name,
    provider: leg.provider,
    model: leg.model,
    family: leg.family ?? null,
    local: isLocalLeg(leg),
    window_tokens: profile.declaredWindow,
    window_source: profile.windowSource,
    horizon_tokens: profile.horizon.tokens,
    horizon_confidence: profile.horizon.confidence,
    max_output_tokens: leg.maxOutputTokens ?? null,
    price: rate === null ? null : priceAnswer(rate),
    default: isDefault,
  };
}

export function profileAnswer(
  leg: string,
  profile: CapacityProfile,
  probe: ProfileAnswer['probe'],
): ProfileAnswer {
  const { horizon, provenance } = profile;
  return {
    leg,
    declared_window: profile.declaredWindow,
    window_source: profile.windowSource,
    verified_window: profile.verifiedWindow,
    horizon: {
      tokens: horizon.tokens,
      confidence: horizon.confidence,
      last_confirmed_at: timeAnswer(horizon.lastConfirmedMs),
    },
    tokens_per_byte: profile.tokensPerByte,
    prefill_tokens_per_second: profile.prefillTokensPerSecond,
    cache: profile.cache,
    max_output: profile.maxOutput,
    max_output_source: profile.maxOutputSource,
    largest_reply: profile.largestReply,
    output_reserve: profile.outputReserve,
    closed_turn_tokens: profile.closedTurnTokens,
    prefixes: [...profile.prefixes],
    needs_reprobe: profile.needsReprobe,
    probed_at: timeAnswer(provenance.probedAtMs),
    rungs: provenance.rungs.map(rungAnswer),
    signals: [...provenance.signals],
    metadata_digest: provenance.metadataDigest,
    probe,
  };
}

const climbed = z.object({ ladder: z.object({ rungs: z.array(z.custom<Rung>()) }) });

/** How far a probe is, read off its snapshot. */
export function askedAnswer({
  snapshot,
  status,
}: Pick<ActorState, 'snapshot' | 'status'>): ProfileAnswer['probe']['asked'] {
  const { phase, context } = snapshotOf(snapshot);
  const found = climbed.safeParse(context);
  return {
    phase,
    over: status !== 'active',
    rungs: found.success ? found.data.ladder.rungs.map(rungAnswer) : [],
  };
}

function rungAnswer({ kind, targetTokens, verdict, samples, agreed }: Rung): RungAnswer {
  return { kind, target_tokens: targetTokens, verdict, samples: samples ?? null, agreed: agreed ?? null };
}

function priceAnswer({ id, longPrompt, ...tier }: Rate): NonNullable<LegAnswer['price']> {
  return {
    rate_id: id,
    ...tierAnswer(tier),
    long_prompt:
      longPrompt === undefined ? null : { above_tokens: longPrompt.aboveTokens, ...tierAnswer(longPrompt) },
  };
}

function tierAnswer(tier: TierRates) {
  return {
    input_micro_usd_per_million: tier.inputMicroUsdPerMillion,
    cached_input_micro_usd_per_million: tier.cachedInputMicroUsdPerMillion,
    cache_write_micro_usd_per_million: tier.cacheWriteMicroUsdPerMillion,
    output_micro_usd_per_million: tier.outputMicroUsdPerMillion,
  };
}

/** 0 stands for never. */
function timeAnswer(ms: number): string | null {
  return ms === 0 ? null : new Date(ms).toISOString();
}
