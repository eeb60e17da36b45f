/**
 * What leaves by force when an eviction is due: the older half of a history, as one span. Work in hand is no candidate by
 * construction, not because a budget happens to spare it: the newest item, the open one, and the prompts they answer.
 */
import type { ItemTable, Piece, Span } from './contract.ts';
import { historyBytes, piecesOf } from './pieces.ts';
import { residueBytes } from './residue.ts';
import { isPrompt, lastAnswerAt, partedPrompt, promptAt, type Run, spanOver } from './survivors.ts';

/** The part of a history that an eviction leaves is one of so many. */
const KEPT_PART = 2;

/** Places of what never leaves by force. */
interface InHand {
  /** Where the work in hand begins: what stands before it may leave whole. */
  readonly begins: number;
  /** The newest prompt: what stands between it and `live` may leave. */
  readonly prompt: number;
  /** The first of the open and the newest item. */
  readonly live: number;
  readonly all: ReadonlySet<number>;
}

/**
 * The span to evict, or null where none would make the history smaller. `prompt` is the number of the prompt in hand:
 * the newest one while a turn runs or is about to be sent, null at rest.
 */
export function planSpan(table: ItemTable, prompt: number | null): Span | null {
  const pieces = piecesOf(table);
  const hand = inHand(pieces, table.open, prompt);
  if (hand === null) return null;
  const cut = cutAt(pieces, hand);
  if (cut === null) return null;
  const run = [...runsBefore(pieces, hand, cut), ...runsAfter(hand, cut)].find(
    (candidate) => !holdsAny(candidate, hand.all) && freedBytes(pieces, candidate) > 0,
  );
  return run === undefined ? null : spanOver(pieces, run);
}

function inHand(pieces: readonly Piece[], open: number | null, prompt: number | null): InHand | null {
  const placeOf = (item: number | null): number =>
    item === null ? -1 : pieces.findIndex((piece) => piece.kind === 'item' && piece.row.item === item);
  const newest = pieces.findLastIndex((piece) => piece.kind === 'item');
  if (newest === -1) return null;
  const answered = promptAt(pieces, newest) ?? newest;
  const held = [newest, answered, placeOf(prompt), placeOf(open)].filter((place) => place !== -1);
  const live = Math.min(newest, ...[placeOf(open)].filter((place) => place !== -1));
  return { begins: Math.min(...held), prompt: answered, live, all: new Set(held) };
}

/** The first piece, from the newest on back, that the half to be kept has no room for. What stays is paid first. */
function cutAt(pieces: readonly Piece[], { all }: InHand): number | null {
  const keep = Math.floor(historyBytes(pieces) / KEPT_PART);
  let spent = historyBytes(pieces.filter((_, place) => all.has(place)));
  for (let place = pieces.length - 1; place >= 0; place--) {
    if (all.has(place)) continue;
    spent += pieces[place]?.bytes ?? 0;
    if (spent > keep) return place;
  }
  return null;
}

/**
 * Runs before the work in hand, the best first. A cut through a prompt takes all its answers. Where the cut parts a prompt
 * from its answers, the heavier side of that prompt leaves. What takes nothing so goes on through one more prompt's answers.
 */
function runsBefore(pieces: readonly Piece[], { begins }: InHand, cut: number): readonly Run[] {
  if (cut > begins) return [{ first: 0, last: begins - 1 }];
  const run = { first: 0, last: isPrompt(pieces[cut]) ? lastAnswerAt(pieces, cut) : cut };
  const parted = partedPrompt(pieces, run);
  const whole = { first: 0, last: lastAnswerAt(pieces, parted?.at ?? nextItemAt(pieces, run.last)) };
  if (parted === null) return [run, whole];
  const older = { first: 0, last: parted.at - 1 };
  const newer = { first: parted.at + 1, last: run.last };
  return freedBytes(pieces, older) >= freedBytes(pieces, newer)
    ? [older, newer, whole]
    : [newer, older, whole];
}

function nextItemAt(pieces: readonly Piece[], place: number): number {
  const next = pieces.findIndex((piece, at) => at > place && piece.kind === 'item');
  return next === -1 ? place : next;
}

/** Runs strictly after the newest prompt: where nothing before it could leave, its own older answers do. */
function runsAfter({ prompt, live }: InHand, cut: number): readonly Run[] {
  const all = { first: prompt + 1, last: live - 1 };
  return cut > prompt ? [{ ...all, last: Math.min(cut, all.last) }, all] : [all];
}

function holdsAny({ first, last }: Run, places: ReadonlySet<number>): boolean {
  return [...places].some((place) => first <= place && place <= last);
}

/** By how much the history gets smaller; nothing where a run has no item. */
function freedBytes(pieces: readonly Piece[], run: Run): number {
  const span = spanOver(pieces, run);
  if (span === null) return 0;
  const left = historyBytes(pieces.slice(run.first, run.last + 1));
  return left - residueBytes({ ...span, note: null });
}
