import { MODELS } from './models.ts';
import type { CatalogueModel, DatedPrice } from './row.ts';

/**
 * A snapshot's date, as Anthropic writes it: https://platform.claude.com/docs/zh-CN/models/haiku-4-5/overview.md.
 * Dates with dashes stay: snapshots of gpt-4o were sold at prices of their own
 * (https://www.openrouter.ai/openai/gpt-4o-2024-05-13), so each has to be an alias or stay unknown.
 */
const SNAPSHOT = /-\d{8}$/u;

const BY_NAME: ReadonlyMap<string, CatalogueModel> = new Map(
  MODELS.flatMap((row) => [row.model, ...(row.aliases ?? [])].map((name) => [name.toLowerCase(), row])),
);

/** By name or alias, in any case: the last part of a path, and without a snapshot's date. */
export function findModel(name: string): CatalogueModel | null {
  const last = name.slice(name.lastIndexOf('/') + 1);
  return BY_NAME.get(last.toLowerCase().replace(SNAPSHOT, '')) ?? null;
}

/** The price in force; null before the first. `atUtc` is ISO 8601 in UTC, a day at least. */
export function priceAt(model: CatalogueModel, atUtc: string): DatedPrice | null {
  return model.prices.findLast(({ effectiveFrom }) => effectiveFrom <= atUtc) ?? null;
}
