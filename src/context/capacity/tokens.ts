import type { CapacityProfile } from './profile.ts';

/** Tokens that so many UTF-8 bytes cost on the bound model, rounded up. */
export function tokensOf(bytes: number, profile: Pick<CapacityProfile, 'tokensPerByte'>): number {
  return Math.ceil(bytes * profile.tokensPerByte.value);
}

/** What the provider counted of the prefix with that digest; null where it was not measured. */
export function countedPrefix(
  { prefixes }: Pick<CapacityProfile, 'prefixes'>,
  digest: string,
): number | null {
  return prefixes.find((prefix) => prefix.digest === digest)?.tokens ?? null;
}
