/** Searches one turn: compares its records, folds them, and asks each line of the items that were asked for. */
import { byteLength } from '../../ledger/json.ts';
import { foldChecked } from './check-record.ts';
import type { GrepAsked, GrepHit, TurnText, Unreadable } from './contract.ts';
import type { LineSearch } from './line-search.ts';
import { itemsOf, type TranscriptItem } from './parts.ts';
import { searchedText } from './searched.ts';

/** Of a line that matches: enough to tell what it is, so that a hundred of them are one answer. */
export const HIT_BYTES = 200;

export type TurnFound =
  | { readonly kind: 'found'; readonly hits: readonly GrepHit[]; readonly total: number }
  | { readonly kind: 'unreadable'; readonly unreadable: Unreadable };

/** `room` bounds the hits, never the total. A turn none of whose items is asked for is not looked at. */
export function searchTurn(
  turn: TurnText,
  asked: { readonly search: LineSearch; readonly items: GrepAsked['items'] },
  room: number,
): TurnFound {
  const item = oldestAsked(turn, asked.items);
  if (item === null) return { kind: 'found', hits: [], total: 0 };
  const read = readItems(turn);
  if (!read.ok) {
    const { seq, problem } = read;
    return { kind: 'unreadable', unreadable: { item, session: turn.session, seq, problem } };
  }
  const hits: GrepHit[] = [];
  let total = 0;
  for (const shown of read.items) {
    if (!isAsked(shown.item, turn, asked.items)) continue;
    for (const hit of hitsIn(shown, turn.number, asked.search)) {
      total += 1;
      if (hits.length < room) hits.push(hit());
    }
  }
  return { kind: 'found', hits, total };
}

export type ItemsRead =
  | { readonly ok: true; readonly items: readonly TranscriptItem[] }
  | { readonly ok: false; readonly seq: number; readonly problem: string };

/** The digests say nothing of a record that is not there: the ends of the turn must be, and all that its close tells. */
export function readItems(turn: TurnText): ItemsRead {
  const checked = foldChecked(turn);
  if (!checked.ok) return checked;
  const items = itemsOf(checked.turn, checked.bodies);
  const here = new Set(items.map(({ item }) => item));
  const told = checked.turn.closed?.items?.map(({ item }) => item) ?? [];
  const missing = [turn.items.from, turn.items.to, ...told].find((item) => !here.has(item));
  if (missing === undefined) return { ok: true, items };
  return { ok: false, seq: 0, problem: `the record that opens item #${missing} is not here` };
}

function isAsked(item: number, { items: { from, to } }: TurnText, asked: GrepAsked['items']): boolean {
  return item >= from && item <= to && (asked === null || asked.has(item));
}

/** null where the search names none of the turn's. */
function oldestAsked(turn: TurnText, asked: GrepAsked['items']): number | null {
  if (asked === null) return turn.items.from;
  const named = [...asked].filter((item) => isAsked(item, turn, asked));
  return named.length === 0 ? null : Math.min(...named);
}

/** Hits are made only where there is room for them. */
function* hitsIn({ item, messages }: TranscriptItem, turn: number, search: LineSearch) {
  for (const [index, message] of messages.entries()) {
    for (const { number, text } of search.matching(searchedText(message))) {
      yield (): GrepHit => ({
        item,
        turn,
        message: index + 1,
        line: number,
        text: clipBytes(text, HIT_BYTES),
      });
    }
  }
}

/** As much of the text's beginning as fits, whole characters only. */
export function clipBytes(text: string, maxBytes: number): string {
  let bytes = 0;
  let end = 0;
  // No character has fewer bytes than code units.
  for (const char of text.slice(0, maxBytes)) {
    bytes += byteLength(char);
    if (bytes > maxBytes) break;
    end += char.length;
  }
  return text.slice(0, end);
}
