/** Whose price a leg pays: its own, the configuration's for its model, the catalogue's at that time, nobody's. */
import { findModel, priceAt } from '../catalogue/find.ts';
import { catalogueName } from '../catalogue/mapping.ts';
import type { CatalogueModel } from '../catalogue/row.ts';
import { type ListPrice, type Rate, rateOf } from './rate.ts';

export interface PricedLeg {
  readonly name: string;
  readonly model: string;
  readonly price?: ListPrice;
}

export interface Pricing {
  /** By the leg's model name, or by the name it is mapped to. */
  readonly pricing?: Readonly<Record<string, ListPrice>>;
  readonly mapping?: Readonly<Record<string, string>>;
  /** ISO 8601 in UTC, a day at least. */
  readonly atUtc: string;
}

/** null when nobody states a price. Throws on a price below 0, and on a mapping that does not end. */
export function resolveRate(leg: PricedLeg, { pricing, mapping, atUtc }: Pricing): Rate | null {
  if (leg.price !== undefined) return rateOf(`leg:${leg.name}`, leg.price);
  const mapped = catalogueName(leg.model, mapping);
  for (const model of [leg.model, mapped]) {
    const price = pricing?.[model];
    if (price !== undefined) return rateOf(`config:${model}`, price);
  }
  const found = findModel(mapped);
  return found === null ? null : rateAt(found, atUtc);
}

export function rateAt(model: CatalogueModel, atUtc: string): Rate | null {
  const dated = priceAt(model, atUtc);
  if (dated === null || dated.price === null) return null;
  return rateOf(`catalogue:${model.model}@${dated.effectiveFrom}`, dated.price);
}

/** The leg whose input and output rates sum to the least, the first of equals; null when none has a price. */
export function cheapestOf<L extends PricedLeg>(legs: readonly L[], pricing: Pricing): L | null {
  let cheapest: { readonly leg: L; readonly sum: number } | null = null;
  for (const leg of legs) {
    const rate = resolveRate(leg, pricing);
    if (rate === null) continue;
    const sum = rate.inputMicroUsdPerMillion + rate.outputMicroUsdPerMillion;
    if (cheapest === null || sum < cheapest.sum) cheapest = { leg, sum };
  }
  return cheapest?.leg ?? null;
}
