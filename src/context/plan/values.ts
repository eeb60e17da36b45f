/** What speaks for each closed turn besides its age. */

import { fileNames } from '../links/file-names.ts';
import { type Reached, walkLinks } from '../links/walk.ts';
import { refersBack } from '../relevance/anaphora.ts';
import { askedPart, type QueryTerms, queryTerms } from '../relevance/terms.ts';
import { continuedTurn } from '../relevance/threads.ts';
import type { TurnIndex } from '../relevance/turn-index.ts';
import type { PlanInput, PlanQuery, Promotion } from './contract.ts';

/**
 * Below this a match of words, or a likeness, is noise: it makes no turn whole and moves none forward. Words
 * must also be enough of what is asked (`Scores.meant`), so that one plain word in common is not a match.
 */
export const RELEVANCE_FLOOR = 0.5;
/** A link below this runs over what most turns share, such as a file that is read every time. */
const LINK_FLOOR = 0.15;
const ANAPHORA_VALUE = 1;
/** Where more turns match, the best: a history of many that are alike would else fall into as many pieces. */
const MOST_PROMOTED = 16;

/** By position; nothing speaks for a turn of strength 0. */
export interface Signals {
  readonly strength: Float64Array;
  readonly by: (Promotion['by'] | undefined)[];
  /** What links led to, by position. */
  readonly reached: ReadonlyMap<number, Reached>;
  /** The turn that the directive points back at; -1 for none. */
  readonly pointedAt: number;
  readonly continues: number | null;
}

/** Turns before position `from` are not looked at. */
export function signalsOf(input: PlanInput<TurnIndex>, from: number): Signals {
  const { index, query, options } = input;
  const terms = queryTerms(query.text, query);
  const continues = continuedTurn(index, query, terms, from);
  const strength = new Float64Array(index.count);
  const by: (Promotion['by'] | undefined)[] = [];
  const raise = (position: number, value: number, signal: Promotion['by']) => {
    if (value <= (strength[position] ?? 0)) return;
    strength[position] = value;
    by[position] = signal;
  };

  const pointedAt = refersBack(query.request ?? query.text) ? pointedPosition(index, continues, from) : -1;
  if (pointedAt >= 0) raise(pointedAt, ANAPHORA_VALUE, 'anaphora');
  if (options.signals === 'minimal') return { strength, by, reached: new Map(), pointedAt, continues };

  const matches = relevanceOf(input, terms, from);
  for (let position = from; position < index.count; position++)
    raise(position, matches[position] ?? 0, 'relevance');
  const reached = linkedTurns(index, query, continues, from);
  for (const [position, { value }] of reached) if (value >= LINK_FLOOR) raise(position, value, 'link');
  keepBest(strength, from);
  return { strength, by, reached, pointedAt, continues };
}

/** What is pointed back at has the highest value there is, and the newest of equals stay. */
function keepBest(strength: Float64Array, from: number): void {
  const raised: number[] = [];
  for (let position = from; position < strength.length; position++)
    if ((strength[position] ?? 0) > 0) raised.push(position);
  if (raised.length <= MOST_PROMOTED) return;
  raised.sort((one, other) => (strength[other] ?? 0) - (strength[one] ?? 0) || other - one);
  for (const position of raised.slice(MOST_PROMOTED)) strength[position] = 0;
}

/** The end of the thread that goes on, else the last turn: also where another subject came in between. */
function pointedPosition(index: TurnIndex, continues: number | null, from: number): number {
  if (continues !== null) return index.positionOf(continues);
  return index.count > from ? index.count - 1 : -1;
}

function relevanceOf(input: PlanInput<TurnIndex>, terms: QueryTerms, from: number): Float64Array {
  const { index, likeness } = input;
  const { relevance, meant } = index.score(terms, from);
  for (let position = from; position < index.count; position++) {
    const words = meant[position] === 1 ? (relevance[position] ?? 0) : 0;
    const alike = likeness === undefined ? 0 : Math.min(1, likeness(index.numberAt(position)));
    const value = Math.max(words, alike);
    relevance[position] = value >= RELEVANCE_FLOOR ? value : 0;
  }
  return relevance;
}

function linkedTurns(
  index: TurnIndex,
  query: PlanQuery,
  continues: number | null,
  from: number,
): ReadonlyMap<number, Reached> {
  const thread = continues === null ? null : index.threads.threadAt(index.positionOf(continues));
  const anchors = new Map(
    fileNames(askedPart(query.text)).flatMap((name) =>
      index.graph.filesNamed(name).map(({ node, weight }) => [node, weight] as const),
    ),
  );
  for (const { node, weight } of index.graph.anchorsOf({ thread, links: query.links }))
    anchors.set(node, Math.max(weight, anchors.get(node) ?? 0));
  return walkLinks(
    index.graph,
    Array.from(anchors, ([node, weight]) => ({ node, weight })),
    from,
  );
}
