import type { CapacityProfile } from './profile.ts';

/** Tokens that so many UTF-8 bytes cost on the bound model, rounded up. */
export function tokensOf(bytes: number, profile: Pick<CapacityProfile, 'tokensPerByte'>): number {
  return Math.ceil(bytes * profile.tokensPerByte.value);
}
