/** How much of a list of lines a budget holds. */
import { countChars } from '../evidence/window.ts';
import { weigh } from './frame.ts';

/**
 * Lines are kept while they take at most `wantedBytes`, and beyond that while they are at most `leastChars`
 * characters; `mostBytes` is never exceeded. Line breaks count.
 */
export interface LineRoom {
  readonly wantedBytes: number;
  readonly leastChars: number;
  readonly mostBytes: number;
}

export interface FittedLines {
  /** In the order they came. */
  readonly kept: readonly string[];
  /** Lines before the first kept one. */
  readonly leftOut: number;
}

/**
 * Whole lines, from the newest (last) back, without a gap. A line that no such budget could hold gives way to
 * what `tooLong` says of it, so that one huge line does not hide all before it.
 */
export function fitLines(
  lines: readonly string[],
  room: LineRoom,
  tooLong: (bytes: number) => string,
): FittedLines {
  const holds = (bytes: number, chars: number): boolean =>
    bytes <= room.mostBytes && (bytes <= room.wantedBytes || chars <= room.leastChars);
  const kept: string[] = [];
  let bytes = 0;
  let chars = 0;
  for (const line of lines.toReversed()) {
    const own = weigh(line);
    const shown = holds(own, countChars(line) + 1) ? line : tooLong(own - 1);
    bytes += weigh(shown);
    chars += countChars(shown) + 1;
    if (!holds(bytes, chars)) break;
    kept.push(shown);
  }
  return { kept: kept.reverse(), leftOut: lines.length - kept.length };
}
