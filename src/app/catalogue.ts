/** What the shipped catalogue and the operator's words say of a leg. */
import { findModel } from '../context/catalogue/find.ts';
import { catalogueName } from '../context/catalogue/mapping.ts';
import type { Rate } from '../context/pricing/rate.ts';
import { resolveRate } from '../context/pricing/resolve.ts';
import type { Leg } from '../providers/contract.ts';
import type { CatalogueFacts } from '../runtime/profiles.ts';
import type { Config } from './config.ts';

export function catalogueFacts(
  { model }: Pick<Leg, 'model'>,
  mapping: Config['modelMapping'],
): CatalogueFacts {
  const found = findModel(catalogueName(model, mapping));
  return { window: found?.window ?? null, maxOutput: found?.maxOutput ?? null };
}

export function rates({
  pricing,
  modelMapping: mapping,
}: Pick<Config, 'pricing' | 'modelMapping'>): (leg: Leg, atUtc: string) => Rate | null {
  return (leg, atUtc) => resolveRate(leg, { pricing, mapping, atUtc });
}
