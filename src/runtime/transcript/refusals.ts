/** What a caller of the transcript is told when it cannot be answered: the state that was found, and what may be asked instead. */

import { ERASED } from './check-record.ts';
import type { Unreadable } from './contract.ts';

/** How a run is spelled: there is no other form for one. */
const RUN = { from: 12, to: 15 } as const;

/** `newest` is the highest number that was given; 0 before the first. */
export function neverRecorded(item: number, newest: number): string {
  const problem = `There is no item #${item}.`;
  return newest === 0
    ? `${problem} Nothing has been recorded in this session yet.`
    : `${problem} The newest is #${newest}.`;
}

export function stillOpen(item: number): string {
  return `Item #${item} is still open: its results are being recorded. Every other item is readable.`;
}

export function nothingToRead(): string {
  const { from, to } = RUN;
  const run = Array.from({ length: to - from + 1 }, (_, index) => from + index).join(', ');
  return `Nothing was requested: "items" is an empty list. Name each item; #${from} to #${to} are spelled "items": [${run}].`;
}

export function narrowedToNothing(): string {
  return 'An empty list is not all: "items" names nothing to search. Leave "items" out to search everything, or name items, such as "items": [12, 13].';
}

export function unreadableItem({ item, ...fault }: Unreadable): string {
  return unreadable(`Item #${item}`, fault, 'items');
}

export function unreadableTurn(turn: number, fault: Omit<Unreadable, 'item'>): string {
  return unreadable(`Turn ${turn}`, fault, 'turns');
}

/** What a search that passed turns over adds to its answer. */
export function passedOver(turns: number, first: Unreadable): string {
  const counted = turns === 1 ? '1 turn was' : `${turns} turns were`;
  return `${counted} passed over as unreadable, and the total counts nothing of them. ${turns === 1 ? '' : 'The first: '}${unreadableItem(first)}`;
}

function unreadable(
  what: string,
  { session, seq, problem }: Omit<Unreadable, 'item'>,
  others: string,
): string {
  const where = seq === 0 ? `in session ${session}` : `in record ${seq} of session ${session}`;
  const fault = `${what} cannot be read. The fault is ${where}: ${problem}.`;
  if (problem === ERASED) return `${fault} Nothing brings it back; other ${others} are readable.`;
  return `${fault} Likely causes: the row was edited, the database was restored or copied in part, or another version wrote it. Other ${others} are readable; session verify tells how far the fault goes.`;
}
