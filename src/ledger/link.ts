/**
 * What holds of the record that links a fork to what it goes on from. It is the third of its session and there is no
 * other; its parts stand in the order in which they were recorded, none inside another; and the numbers that the fork
 * gives out are above all of theirs. A link that breaks this was not written by this program.
 */
import type { Segment } from './items.ts';
import type { BodyOf } from './kinds.ts';

/** Behind the records that open a session and its head. */
export const LINK_SEQ = 3;

type Link = BodyOf<'inherited'>;
type Range = NonNullable<Segment['turns']>;

/** Why record `seq` of `session` is no link as a fork has it; null for a good one. */
export function linkProblem(session: string, seq: number, link: Link): string | null {
  if (seq !== LINK_SEQ) return `only record ${LINK_SEQ} may link a session to another, once`;
  const { segments, next } = link;
  if (segments.some((segment) => segment.session === session)) return 'it links the session to itself';
  const last = segments.at(-1);
  if (last?.session !== link.session || last.head !== link.head)
    return 'its last part is not of the head it goes on from';
  if (segments.some(({ afterSeq, toSeq }) => afterSeq > toSeq))
    return 'one of its parts ends before it begins';
  const names = segments.map((segment) => `${segment.session}/${segment.head}`);
  if (new Set(names).size < names.length) return 'two of its parts are of the same head';
  return (
    unordered('turns', rangesOf(segments, 'turns'), next.turn) ??
    unordered('items', rangesOf(segments, 'items'), next.item)
  );
}

function rangesOf(segments: readonly Segment[], what: 'turns' | 'items'): readonly Range[] {
  return segments.flatMap((segment) => segment[what] ?? []);
}

function unordered(what: string, ranges: readonly Range[], next: number): string | null {
  let before = 0;
  for (const { from, to } of ranges) {
    if (from <= before || to < from) return `its ${what} ${from} to ${to} come after ${before}`;
    before = to;
  }
  return before < next ? null : `its ${what} reach ${before}, and the next would be ${next}`;
}
