/** The link signal: which closed turns what is asked leads to, over files, threads, turns and what they serve. */
import type { LinkEdge, LinkGraph, LinkNode } from './graph.ts';

export { fileNames } from './file-names.ts';

const DECAY = 0.5;
/** Turns of the first step that the second goes on from. */
const BEAM = 8;
/** A node leads to its latest turns only. */
const MAX_TURNS_PER_NODE = 8;
/** A turn that touched more than this leads no further than by so many. */
const MAX_EDGES_PER_TURN = 64;

export interface Reached {
  /** Above 0, at most 1. */
  readonly value: number;
  /** Nodes from what is asked to the turn, by the strongest way. */
  readonly path: readonly string[];
}

/** Where a step starts: with how much, over which edges, and how it got there. */
interface Carrier {
  readonly position: number | null;
  readonly carried: number;
  readonly edges: readonly LinkEdge[];
  readonly path: readonly string[];
}

/** Turns from position `from` on that lie within two steps of the anchors, by position. */
export function walkLinks(
  graph: LinkGraph,
  anchors: readonly LinkEdge[],
  from: number,
): ReadonlyMap<number, Reached> {
  const reached = new Map<number, Reached>();
  stepFrom(graph, { position: null, carried: 1, edges: anchors, path: [] }, from, reached);
  const best = [...reached]
    .sort(([a, { value: one }], [b, { value: other }]) => other - one || b - a)
    .slice(0, BEAM);
  for (const [position, { value, path }] of best)
    stepFrom(
      graph,
      { position, carried: value * DECAY, edges: graph.edgesOf(position), path },
      from,
      reached,
    );
  return reached;
}

/** One carrier's step: ways to the same turn add up, never to more than was carried. */
function stepFrom(graph: LinkGraph, carrier: Carrier, from: number, reached: Map<number, Reached>): void {
  const sums = new Map<number, { value: number; strongest: number; node: LinkNode }>();
  for (const { node, weight } of carrier.edges.slice(0, MAX_EDGES_PER_TURN)) {
    const rarity = idf(node.turns.length, graph.count);
    for (
      let index = Math.max(0, node.turns.length - MAX_TURNS_PER_NODE);
      index < node.turns.length;
      index++
    ) {
      const position = node.turns[index] ?? 0;
      if (position < from || position === carrier.position) continue;
      const value = carrier.carried * weight * (node.weights[index] ?? 0) * rarity;
      const sum = sums.get(position);
      sums.set(position, {
        value: (sum?.value ?? 0) + value,
        strongest: Math.max(sum?.strongest ?? 0, value),
        node: sum === undefined || value > sum.strongest ? node : sum.node,
      });
    }
  }
  for (const [position, { value, node }] of sums) {
    const capped = Math.min(value, carrier.carried);
    if (capped > (reached.get(position)?.value ?? 0))
      reached.set(position, { value: capped, path: pathTo(graph.nameOf(position), node, carrier.path) });
  }
}

function pathTo(turn: string, node: LinkNode, before: readonly string[]): readonly string[] {
  return node.name === turn ? [...before, turn] : [...before, node.name, turn];
}

/** 1 for a node of one turn, near 0 for one that all turns share. */
function idf(turns: number, count: number): number {
  return Math.log(1 + count / turns) / Math.log(1 + count);
}
