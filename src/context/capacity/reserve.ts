/** The tokens kept free for a reply. */
import { type CapacityProfile, FALLBACK_OUTPUT_RESERVE_TOKENS } from './profile.ts';

/** Fewer replies than this say little of how long a reply may get. */
const ENOUGH_REPLIES = 8;
/** Replies so far were short; the next may not be. */
const LEAST_SEEN_RESERVE_TOKENS = 256;
/** More would leave less for the prompt than for its answer. */
const LARGEST_SHARE = 0.5;

export type ReserveParts = Pick<
  CapacityProfile,
  'declaredWindow' | 'verifiedWindow' | 'maxOutput' | 'maxOutputSource' | 'largestReply'
>;

/**
 * The operator's cap, else the largest reply seen, else the stated limit up to a modest size: a catalogue's maximum is
 * many times what replies take. At most half the window.
 */
export function outputReserve(parts: ReserveParts): number {
  const window = Math.min(parts.declaredWindow, parts.verifiedWindow ?? Number.POSITIVE_INFINITY);
  return Math.min(wantedReserve(parts), Math.floor(LARGEST_SHARE * window));
}

function wantedReserve({ maxOutput, maxOutputSource, largestReply }: ReserveParts): number {
  const limit = maxOutput ?? Number.POSITIVE_INFINITY;
  if (maxOutputSource === 'operator') return limit;
  const seen = largestReply.samples >= ENOUGH_REPLIES;
  const wanted = seen
    ? Math.max(LEAST_SEEN_RESERVE_TOKENS, largestReply.tokens)
    : FALLBACK_OUTPUT_RESERVE_TOKENS;
  return Math.min(wanted, limit);
}
