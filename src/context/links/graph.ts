/**
 * Turns and what they touched: files, what they serve, their threads, and each other. Grows by turns and
 * never changes; a turn stands at a position, counted from 0, and each node knows its turns in order.
 */
import type { LinkKind, TurnLink } from '../../ledger/turn-card.ts';
import { lastSegment } from './file-names.ts';

const OWN_WEIGHT = 1;
const CONTINUED_THREAD_WEIGHT = 0.7;
/** How much a link says; a thread that is continued is weighed as a thread. */
const WEIGHTS: Readonly<Record<Exclude<LinkKind, 'continues'>, number>> = {
  wrote: 1,
  recalled: 1,
  read: 0.8,
  serves: 0.8,
  named: 0.8,
};
/** A bare name that many files have points at the ones touched last. */
const MAX_NODES_BY_NAME = 8;
/** What a node, an edge and its place in the node take, about, in bytes. */
const NODE_BYTES = 160;
const EDGE_BYTES = 56;

/** `name` is `turn:T5`, `thread:T3`, `file:src/a.ts` or `serves:NAME`. */
export interface LinkNode {
  readonly name: string;
  /** Positions of its turns, ascending. */
  readonly turns: readonly number[];
  /** Of the edges to those turns, in the same order. */
  readonly weights: readonly number[];
}

export interface LinkEdge {
  readonly node: LinkNode;
  readonly weight: number;
}

interface GrowingNode extends LinkNode {
  readonly turns: number[];
  readonly weights: number[];
}

/** What a turn is linked by. `thread` is the number of its thread's first turn; null for a thread of its own. */
export interface LinkedTurn {
  /** Null while the turn is open: nothing leads to it yet. */
  readonly number: number | null;
  readonly thread: number | null;
  readonly links: readonly TurnLink[];
}

export class LinkGraph {
  readonly #nodes = new Map<string, GrowingNode>();
  /** Of the files, by last segment in lower case, least recently touched first. */
  readonly #filesBySegment = new Map<string, Set<GrowingNode>>();
  readonly #edges: (readonly LinkEdge[])[] = [];
  readonly #names: string[] = [];
  #bytes = 0;

  get count(): number {
    return this.#edges.length;
  }

  get approximateBytes(): number {
    return this.#bytes;
  }

  append(turn: LinkedTurn & { readonly number: number }): void {
    const position = this.#edges.length;
    const edges: LinkEdge[] = [];
    for (const [name, weight] of weightedNames(turn)) {
      const node = this.#nodeOf(name);
      node.turns.push(position);
      node.weights.push(weight);
      edges.push({ node, weight });
    }
    this.#edges.push(edges);
    this.#names.push(`turn:T${turn.number}`);
    this.#bytes += edges.length * EDGE_BYTES;
  }

  edgesOf(position: number): readonly LinkEdge[] {
    return this.#edges[position] ?? [];
  }

  /** `turn:T5` of the turn at a position. */
  nameOf(position: number): string {
    return this.#names[position] ?? '';
  }

  /** Where the links of an open turn lead: only to nodes that closed turns have. */
  anchorsOf(turn: Omit<LinkedTurn, 'number'>): readonly LinkEdge[] {
    const anchors: LinkEdge[] = [];
    for (const [name, weight] of weightedNames({ ...turn, number: null })) {
      const node = this.#nodes.get(name);
      if (node !== undefined) anchors.push({ node, weight });
    }
    return anchors;
  }

  /** Files that a name means, by full path, by its end, or by last segment; the latest touched, at most 8. */
  filesNamed(name: string): readonly LinkEdge[] {
    const wanted = name.replace(/^\.?\//, '').toLowerCase();
    const found: LinkEdge[] = [];
    for (const node of [...(this.#filesBySegment.get(lastSegment(wanted)) ?? [])].reverse()) {
      const path = node.name.slice('file:'.length).toLowerCase();
      if (path === wanted || path.endsWith(`/${wanted}`)) found.push({ node, weight: WEIGHTS.named });
      if (found.length === MAX_NODES_BY_NAME) break;
    }
    return found;
  }

  #nodeOf(name: string): GrowingNode {
    const known = this.#nodes.get(name);
    const node = known ?? { name, turns: [], weights: [] };
    if (known === undefined) {
      this.#nodes.set(name, node);
      this.#bytes += NODE_BYTES + 2 * name.length;
    }
    if (name.startsWith('file:')) this.#touch(lastSegment(name.slice('file:'.length)).toLowerCase(), node);
    return node;
  }

  #touch(segment: string, node: GrowingNode): void {
    const files = this.#filesBySegment.get(segment);
    if (files === undefined) {
      this.#filesBySegment.set(segment, new Set([node]));
      return;
    }
    files.delete(node);
    files.add(node);
  }
}

/** Each node of a turn once, by its strongest link. */
function weightedNames({ number, thread, links }: LinkedTurn): ReadonlyMap<string, number> {
  const names = new Map<string, number>();
  if (number !== null) names.set(`turn:T${number}`, OWN_WEIGHT);
  const own = thread ?? number;
  if (own !== null) names.set(`thread:T${own}`, own === number ? OWN_WEIGHT : CONTINUED_THREAD_WEIGHT);
  for (const { kind, to } of links) {
    if (kind === 'continues') continue;
    const name = kind === 'recalled' ? `turn:${to}` : kind === 'serves' ? `serves:${to}` : `file:${to}`;
    names.set(name, Math.max(names.get(name) ?? 0, WEIGHTS[kind]));
  }
  return names;
}
