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
    readonly head: string;
    readonly from: number;
    readonly to: number;
    readonly bytes: number;
    readonly draft: number;
  };
  /** A reset of the head, by the index of its record. */
  readonly reset?: { readonly draft: number };
  /** The prefix from now on; `draft` is its record where it was not stored before. */
  readonly prefix?: { readonly digest: string; readonly draft: number | null };
}

export function addTo(builder: CommitBuilder, head: string, turn: string | null, additions: Additions): void {
  const seqs = additions.drafts.map((draft) => builder.append(head, draft));
  additions.drafts.forEach((draft, place) => {
    if (draft.kind === 'evicted')
      builder.lists.evictions.push({ head, seq: seqs[place] ?? 0, ...draft.body });
  });
  for (const { draft, ordinal, tool } of additions.evidence ?? []) {
    builder.lists.evidence.push({ ordinal, tool, seq: seqs[draft] ?? 0, turn: turn ?? '' });
  }
  const { packet } = additions;
  if (packet !== undefined)
    builder.lists.packets.push({
      head: packet.head,
      from: packet.from,
      to: packet.to,
      bytes: packet.bytes,
      seq: seqs[packet.draft] ?? 0,
      quality: 'model',
    });
  const { reset, prefix } = additions;
  if (reset !== undefined) builder.lists.resets.push({ head, seq: seqs[reset.draft] ?? 0 });
  if (prefix === undefined) return;
  builder.prefix = prefix.digest;
  if (prefix.draft !== null)
    builder.lists.prefixes.push({ digest: prefix.digest, seq: seqs[prefix.draft] ?? 0 });
}
