/** What a worker adds to the hop that takes its result. */
import type { EvidenceRow } from '../db/contract.ts';
import type { RecordDraft } from '../ledger/kinds.ts';
import type { CommitBuilder } from './commit-builder.ts';

/** Records a worker brings with its result, made when the numbers of the hop are known. */
export interface Additions {
  readonly drafts: readonly RecordDraft[];
  /** `draft` is the index of the record that holds the whole result. */
  readonly evidence?: readonly (Omit<EvidenceRow, 'seq' | 'turn'> & { readonly draft: number })[];
  readonly packet?: {
    readonly from: number;
    readonly to: number;
    readonly bytes: number;
    readonly draft: number;
  };
}

export function addTo(builder: CommitBuilder, head: string, turn: string | null, additions: Additions): void {
  const seqs = additions.drafts.map((draft) => builder.append(head, draft));
  for (const { draft, ordinal, tool } of additions.evidence ?? []) {
    builder.lists.evidence.push({ ordinal, tool, seq: seqs[draft] ?? 0, turn: turn ?? '' });
  }
  const { packet } = additions;
  if (packet !== undefined)
    builder.lists.packets.push({
      head,
      from: packet.from,
      to: packet.to,
      bytes: packet.bytes,
      seq: seqs[packet.draft] ?? 0,
    });
}
