/**
 * What a directive brings rather than asks: code fences, logs, tables, quoted mail, and long prose in which nothing is
 * asked. It is set aside before the rest is read.
 */
import { type Line, linesOf, scannedEnds } from './lines.ts';
import type { Stretch } from './sentences.ts';
import type { Vocabulary } from './strand-words.ts';

/** More stretches than this become one where little stands between them. */
const MAX_STRETCHES = 8;
/** A run this long that asks nothing is material, even on a single line. */
const LONG_RUN_CHARS = 160;
const MIN_DATA_LINES = 2;
const WORD = /[\p{L}\p{N}]/u;

/** In order, at most 8, none touching another. */
export function pastedIn(text: string, vocabulary: Vocabulary): readonly Stretch[] {
  const { head, tail } = scannedEnds(text);
  const lines = [...linesOf(text, head, vocabulary), ...linesOf(text, tail, vocabulary)];
  const middle = head.to < tail.from ? [{ from: head.to, to: tail.from }] : [];
  const { fences, open } = fencesOf(lines);
  const certain = [...fences, ...middle, ...dataRuns(open)];
  const set = joined(text, [...certain, ...proseRuns(open)]);
  // With no word left to ask by, the prose is the request.
  return fewest(hasWord(text, set) ? set : joined(text, certain));
}

/** Each with the lines that open and close it, and the lines outside; one that is never closed goes on to the end. */
function fencesOf(lines: readonly Line[]): {
  readonly fences: readonly Stretch[];
  readonly open: readonly Line[];
} {
  const fences: Stretch[] = [];
  const open: Line[] = [];
  let opened: number | null = null;
  for (const line of lines) {
    if (line.kind !== 'fence' && opened === null) open.push(line);
    if (line.kind !== 'fence') continue;
    if (opened !== null) fences.push({ from: opened, to: line.to });
    opened = opened === null ? line.from : null;
  }
  const end = lines.at(-1)?.to;
  if (opened !== null && end !== undefined) fences.push({ from: opened, to: end });
  return { fences, open };
}

/** From the first to the last data line of a stretch that asks nothing. */
function dataRuns(lines: readonly Line[]): readonly Stretch[] {
  return groups(lines, ({ kind }) => kind === 'asks').flatMap((group) => {
    const data = group.filter(({ kind }) => kind === 'data');
    const [from, to] = [data[0]?.from ?? 0, data.at(-1)?.to ?? 0];
    return data.length >= MIN_DATA_LINES || to - from >= LONG_RUN_CHARS ? [{ from, to }] : [];
  });
}

/** Long paragraphs that ask nothing. */
function proseRuns(lines: readonly Line[]): readonly Stretch[] {
  return groups(lines, ({ kind }) => kind === 'blank' || kind === 'data').flatMap((paragraph) => {
    const [from, to] = [paragraph[0]?.from ?? 0, paragraph.at(-1)?.to ?? 0];
    const asks = paragraph.some(({ kind }) => kind === 'asks');
    return !asks && to - from >= LONG_RUN_CHARS ? [{ from, to }] : [];
  });
}

/** Lines in a row; one that `parts` is in no group, and what was taken out between two lines parts them as well. */
function groups(lines: readonly Line[], parts: (line: Line) => boolean): readonly (readonly Line[])[] {
  const all: Line[][] = [];
  let group: Line[] = [];
  for (const line of lines) {
    const isNext = group.at(-1)?.to === line.from && !line.apart;
    if (!isNext || parts(line)) {
      all.push(group);
      group = [];
    }
    if (!parts(line)) group.push(line);
  }
  return [...all, group];
}

/** In order; stretches with nothing but white space between them are one. */
function joined(text: string, stretches: readonly Stretch[]): readonly Stretch[] {
  const set: Stretch[] = [];
  for (const stretch of stretches.toSorted((left, right) => left.from - right.from)) {
    const last = set.at(-1);
    if (last === undefined || text.slice(last.to, stretch.from).trim() !== '') set.push(stretch);
    else set.splice(-1, 1, { from: last.from, to: Math.max(last.to, stretch.to) });
  }
  return set;
}

/** Joined over the smallest gaps until they are few enough. */
function fewest(stretches: readonly Stretch[]): readonly Stretch[] {
  if (stretches.length <= MAX_STRETCHES) return stretches;
  const gap = (index: number) => (stretches[index]?.from ?? 0) - (stretches[index - 1]?.to ?? 0);
  const widest = stretches
    .map((_, index) => index)
    .slice(1)
    .toSorted((left, right) => gap(right) - gap(left))
    .slice(0, MAX_STRETCHES - 1)
    .toSorted((left, right) => left - right);
  const starts = [0, ...widest];
  return starts.map((start, index) => ({
    from: stretches[start]?.from ?? 0,
    to: stretches[(starts[index + 1] ?? stretches.length) - 1]?.to ?? 0,
  }));
}

function hasWord(text: string, stretches: readonly Stretch[]): boolean {
  return besides(text, stretches).some(({ from, to }) => WORD.test(text.slice(from, to)));
}

/** What the stretches leave of the text, in order. */
export function besides(text: string, stretches: readonly Stretch[]): readonly Stretch[] {
  const starts = [0, ...stretches.map(({ to }) => to)];
  const ends = [...stretches.map(({ from }) => from), text.length];
  return starts
    .map((from, index) => ({ from, to: ends[index] ?? text.length }))
    .filter(({ from, to }) => from < to);
}
