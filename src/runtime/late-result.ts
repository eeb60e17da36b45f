/** What is kept of a result that came too late: it changes nothing, and the ledger says that it came. */
import type { Claim } from '../db/contract.ts';
import { blake3Hex } from '../ledger/chain.ts';
import { byteLength, canonicalJson } from '../ledger/json.ts';
import type { RecordDraft } from '../ledger/kinds.ts';

/** Receipts are kept whole, for the bill. */
export function lateRecords(
  claim: Claim,
  reason: string,
  drafts: readonly RecordDraft[],
): readonly RecordDraft[] {
  const { child, fence, token } = claim.call;
  const turnId = claim.loaded.actor.turn;
  return drafts.flatMap((draft): RecordDraft[] => {
    if (draft.kind === 'work-receipt') return [draft];
    if (draft.kind !== 'assistant-message' && draft.kind !== 'tool-result') return [];
    const text = canonicalJson(draft.body);
    const body = { child, fence, token, reason, digest: blake3Hex(text), bytes: byteLength(text) };
    return [{ kind: 'late-result', turnId, body }];
  });
}
