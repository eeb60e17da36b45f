/** Whose thinking a request may give back. */
import type { ThinkingBlock } from '../ledger/blocks.ts';
import type { ProviderKind } from './contract.ts';

/** Blocks written before the signer was recorded can only be from here. */
const UNNAMED_SIGNER: ProviderKind = 'anthropic';

/** A signature is read by the kind that made it, and refused by every other. */
export function isReplayable(
  block: ThinkingBlock,
  kind: ProviderKind,
): block is ThinkingBlock & { readonly signature: string } {
  return block.signature !== undefined && (block.signedBy ?? UNNAMED_SIGNER) === kind;
}
