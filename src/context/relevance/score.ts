/** How well turns match what is asked, in one scan over their terms. */
import { BLOCK_TURNS, type TermBlock } from './term-block.ts';
import type { QueryTerms } from './terms.ts';

const SATURATION = 1.2;
const LENGTH_SHARE = 0.75;
/** Fixed, so that a turn's match does not change as others are added. */
const AVERAGE_LENGTH = 100;
/** Of what is asked, a turn must share this much to be meant by it, unless something in it is telling. */
const SHARED_PART = 0.5;
/** A word that more than half of the turns have (and more than 4) singles none of them out. */
const COMMON_PART = 0.5;
const COMMON_TURNS = 4;

/** By position. */
export interface Scores {
  /** 0 to 1: the best match is 1. */
  readonly relevance: Float64Array;
  /** 1 where a turn shares half of the subject words, or a name, a figure, a quotation or a pair of words. */
  readonly meant: Uint8Array;
}

/** Occurrences of query terms, three figures each, positions ascending. */
class Hits {
  figures = new Int32Array(3_072);
  length = 0;

  add(position: number, term: number, count: number): void {
    if (this.length + 3 > this.figures.length) {
      const wider = new Int32Array(this.figures.length * 2);
      wider.set(this.figures);
      this.figures = wider;
    }
    this.figures[this.length] = position;
    this.figures[this.length + 1] = term;
    this.figures[this.length + 2] = count;
    this.length += 3;
  }
}

/** `lengths`: words of each turn. Turns before `from` are left out, and count for nothing. */
export function scoreTurns(
  blocks: readonly TermBlock[],
  lengths: readonly number[],
  query: QueryTerms,
  from: number,
): Scores {
  const count = lengths.length;
  const hits = findHits(blocks, query, from);
  const turnsWith = new Float64Array(query.hashes.length);
  for (let hit = 0; hit < hits.length; hit += 3) {
    const term = hits.figures[hit + 1] ?? 0;
    turnsWith[term] = (turnsWith[term] ?? 0) + 1;
  }
  const idfs = turnsWith.map((turns) => Math.log(1 + (count - from - turns + 0.5) / (turns + 0.5)));
  const commonFrom = Math.max(COMMON_TURNS, (count - from) * COMMON_PART);
  const isCommon = (term: number) => (turnsWith[term] ?? 0) > commonFrom;
  let subjects = 0;
  for (let term = 0; term < query.subjects; term++) subjects += isCommon(term) ? 0 : 1;

  const relevance = new Float64Array(count);
  const shared = new Uint16Array(count);
  const meant = new Uint8Array(count);
  let best = 0;
  for (let hit = 0; hit < hits.length; hit += 3) {
    const position = hits.figures[hit] ?? 0;
    const term = hits.figures[hit + 1] ?? 0;
    const occurrences = hits.figures[hit + 2] ?? 0;
    const norm = 1 - LENGTH_SHARE + (LENGTH_SHARE * (lengths[position] ?? 0)) / AVERAGE_LENGTH;
    const frequency = (occurrences * (SATURATION + 1)) / (occurrences + SATURATION * norm);
    const score = (relevance[position] ?? 0) + (query.weights[term] ?? 0) * (idfs[term] ?? 0) * frequency;
    relevance[position] = score;
    if (score > best) best = score;
    if (isCommon(term)) continue;
    if (term < query.subjects) shared[position] = (shared[position] ?? 0) + 1;
    if (query.telling[term] === 1 || (shared[position] ?? 0) >= Math.max(1, subjects * SHARED_PART))
      meant[position] = 1;
  }
  if (best > 0)
    for (let position = from; position < count; position++)
      relevance[position] = (relevance[position] ?? 0) / best;
  return { relevance, meant };
}

const SLOTS = 4_096;

function findHits(blocks: readonly TermBlock[], query: QueryTerms, from: number): Hits {
  const hits = new Hits();
  if (query.hashes.length === 0) return hits;
  const wanted = Int32Array.from(query.hashes);
  const slots = slotsOf(wanted);
  for (let at = Math.floor(from / BLOCK_TURNS); at < blocks.length; at++) {
    const block = blocks[at];
    if (block !== undefined) scanBlock(block, at * BLOCK_TURNS, from, wanted, slots, hits);
  }
  return hits;
}

/** Most terms of a turn are not asked for: an empty slot says so at one look. */
function scanBlock(
  { hashes, counts, offsets, turns }: TermBlock,
  first: number,
  from: number,
  wanted: Int32Array,
  slots: Int16Array,
  hits: Hits,
): void {
  for (let turn = Math.max(0, from - first); turn < turns; turn++) {
    const end = offsets[turn + 1] ?? 0;
    for (let index = offsets[turn] ?? 0; index < end; index++) {
      const hash = hashes[index] ?? 0;
      let slot = (hash >>> 1) & (SLOTS - 1);
      for (let term = slots[slot] ?? -1; term >= 0; term = slots[slot] ?? -1) {
        if (wanted[term] === hash) {
          hits.add(first + turn, term, counts[index] ?? 0);
          break;
        }
        slot = (slot + 1) & (SLOTS - 1);
      }
    }
  }
}

/** Open addressing by the bits above the lowest; a query has far fewer terms than there are slots. */
function slotsOf(hashes: Int32Array): Int16Array {
  const slots = new Int16Array(SLOTS).fill(-1);
  for (const [term, hash] of hashes.entries()) {
    let slot = (hash >>> 1) & (SLOTS - 1);
    while ((slots[slot] ?? -1) >= 0) slot = (slot + 1) & (SLOTS - 1);
    slots[slot] = term;
  }
  return slots;
}
