/** Which thread an open turn goes on with. */
import type { PlanQuery } from '../plan/contract.ts';
import { refersBack } from './anaphora.ts';
import { actHash, type QueryTerms } from './terms.ts';
import { continuedNumber, type TurnIndex } from './turn-index.ts';

/** Older threads are not gone on with by words alone. */
const OPEN_THREADS = 12;
/** How far into a thread its words are looked for. */
const THREAD_TURNS = 4;

/**
 * Number of the last turn of the thread that is gone on with: the one that the open turn's links name, else
 * the latest of the same act that shares a subject word, else, where the directive points back, the latest
 * of the same act. Null for a new subject. Turns before position `from` are out of reach.
 */
export function continuedTurn(
  index: TurnIndex,
  query: PlanQuery,
  terms: QueryTerms,
  from: number,
): number | null {
  const linked = continuedNumber(query.links);
  if (linked !== null && index.positionOf(linked) >= from) return linked;
  const act = actHash(query.act);
  const ends = index.threads.latestEnds(OPEN_THREADS, from).filter((position) => index.holds(position, act));
  const subjects = terms.hashes.subarray(0, terms.subjects);
  const end =
    ends.find((position) => sharesWord(index, position, subjects, from)) ??
    (refersBack(query.request ?? query.text) ? ends[0] : undefined);
  return end === undefined ? null : index.numberAt(end);
}

function sharesWord(index: TurnIndex, end: number, subjects: Uint32Array, from: number): boolean {
  let position = end;
  for (let turns = 0; turns < THREAD_TURNS && position >= from; turns++) {
    for (const hash of subjects) if (index.holds(position, hash)) return true;
    position = index.threads.before(position);
  }
  return false;
}
