/** The rows of a fork's lineage, from the record that links it to what it goes on from. */
import type { SegmentRow } from '../db/contract.ts';
import type { Segment } from '../ledger/items.ts';

const NONE = { from: 1, to: 0 } as const;

export function segmentRows(head: string, segments: readonly Segment[]): readonly SegmentRow[] {
  return segments.map(({ session, head: fromHead, afterSeq, toSeq, digest, turns, items }, ordinal) => {
    const [turn, item] = [turns ?? NONE, items ?? NONE];
    return {
      head,
      ordinal,
      fromSession: session,
      fromHead,
      afterSeq,
      toSeq,
      digest,
      firstTurn: turn.from,
      lastTurn: turn.to,
      firstItem: item.from,
      lastItem: item.to,
    };
  });
}
