/** What holds of a record that takes items out of the requests: they were recorded before it. */
import type { BodyOf, RecordKind } from './kinds.ts';

/** The newest item once a record of this kind was read; `body` is null where its content was erased. */
export function newestItem(before: number, kind: RecordKind, body: unknown): number {
  switch (kind) {
    case 'turn-context':
    case 'assistant-message':
      return body === null ? before + 1 : Math.max(before, (body as BodyOf<'turn-context'>).item);
    case 'inherited':
      return body === null ? before : (body as BodyOf<'inherited'>).next.item - 1;
    default:
      return before;
  }
}

/** Why this is no eviction of a log whose newest item is `newest`; null for a good one. */
export function evictionProblem({ from, to }: BodyOf<'evicted'>, newest: number): string | null {
  if (from < 1 || to < from) return `it takes items from #${from} to #${to}`;
  return to <= newest ? null : `it takes item #${to}, and #${newest} was the newest`;
}
