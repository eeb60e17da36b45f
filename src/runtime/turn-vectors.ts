/**
 * Where an embedding leg is configured: closed turns are placed in its space, beside the turns, and a plan learns which
 * of them lie near the directive. Only a help. A turn that has no place yet, a leg that fails or is late: the plan is
 * made without. A crash loses nothing but time, as each close places what is still missing.
 *
 * A session rests, or its turns are being placed: then a turn that closes is remembered, and looked at when that is
 * done. A leg that failed is left alone for a while, by every session of this process.
 */
import { likenessOf, placedText, quantise, wordsOfCard } from '../context/relevance/vectors.ts';
import type { SessionRef } from '../db/contract.ts';
import type { TurnVectorStore } from '../db/turn-vectors.ts';
import { parseBody, type RecordDraft } from '../ledger/kinds.ts';
import { type TurnView, visibleText } from '../ledger/view.ts';
import type { ProviderFailure } from '../providers/contract.ts';
import type { Embedding, EmbeddingCalls } from './embedding-calls.ts';
import type { Engine } from './engine.ts';
import { commitToSession } from './session-commit.ts';
import { VectorIndexes } from './vector-index.ts';

/** A plan waits for the directive's place no longer. */
const DIRECTIVE_MS = 2_000;
const PLACING_MS = 10_000;
const TEXTS_A_REQUEST = 32;
/** Else a leg that hangs would hold up every plan, and be told of as often. */
const LEFT_ALONE_MS = 60_000;
/** A turn that waits for a packet, or is refused as too long, is planned again. */
const DIRECTIVES_KEPT = 256;

export interface TurnVectorsOptions {
  readonly engine: Engine;
  readonly store: TurnVectorStore;
  readonly calls: EmbeddingCalls;
  readonly onError: (error: unknown) => void;
}

/** A head whose turns up to `number` have closed. */
export interface ClosedUpTo {
  readonly ref: SessionRef;
  readonly head: string;
  readonly epoch: number;
  readonly number: number;
}

interface Owed {
  readonly ref: SessionRef;
  readonly head: string;
  readonly receipts: readonly RecordDraft[];
}

/** A call by the names that limits and receipts know it under. */
interface Named {
  readonly actor: string;
  readonly child: 'directive' | 'turns';
  readonly timeoutMs: number;
}

/** A closed turn, and what is placed of it. */
interface Said {
  readonly turn: string;
  readonly number: number;
  readonly words: string;
}

interface Placed {
  readonly turn: string;
  readonly number: number;
  /** Base64. */
  readonly vector: string;
}

export class TurnVectors {
  readonly #options: TurnVectorsOptions;
  readonly #placed: VectorIndexes;
  readonly #directives = new Map<string, Int8Array>();
  /** Receipts of directives' calls by session: written with the next places, so that no running turn races with them. */
  readonly #owed = new Map<string, Owed>();
  readonly #due = new Map<string, ClosedUpTo>();
  readonly #placing = new Map<string, Promise<void>>();
  readonly #stopping = new AbortController();
  #leftAloneUntilMs = Number.NEGATIVE_INFINITY;

  constructor(options: TurnVectorsOptions) {
    this.#options = options;
    this.#placed = new VectorIndexes(options.store, options.calls.leg.model);
  }

  /** How like closed turns of the head are to what `open` asks, 0 to 1, by number; null where it cannot be told. */
  async likeness(
    ref: SessionRef,
    head: string,
    epoch: number,
    open: TurnView,
  ): Promise<((number: number) => number) | null> {
    const text = placedText(visibleText(open.input));
    if (text === '' || this.#isLeftAlone()) return null;
    const placed = await this.#placed.get(ref, head);
    if (placed.size === 0) return null;
    const directive = await this.#directive(ref, head, open.turnId, text).catch((error: unknown) => {
      this.#options.onError(error);
      return null;
    });
    // A turn that nobody asked does not close, and leaves its receipt to be written now.
    if (open.turnId === '') this.afterTurn({ ref, head, epoch, number: open.number - 1 });
    if (directive === null) return null;
    const near = new Map(Array.from(placed, ([number, place]) => [number, likenessOf(directive, place)]));
    return (number) => near.get(number) ?? 0;
  }

  /** Begins to place what has no place yet. Nobody waits for it. */
  afterTurn(closed: ClosedUpTo): void {
    const { session } = closed.ref;
    this.#due.set(session, closed);
    if (!this.#placing.has(session)) this.#placing.set(session, this.#placeDue(session));
  }

  /** Gives up what is under way, and writes what is owed. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all(this.#placing.values());
    for (const { ref, head } of [...this.#owed.values()])
      await this.#write(ref, head, []).catch(this.#options.onError);
  }

  async #placeDue(session: string): Promise<void> {
    for (let due = this.#due.get(session); due !== undefined; due = this.#due.get(session)) {
      this.#due.delete(session);
      await this.#place(due).catch(this.#options.onError);
    }
    this.#placing.delete(session);
  }

  async #place(closed: ClosedUpTo): Promise<void> {
    const { ref, head } = closed;
    const missing = this.#isLeftAlone() ? [] : await this.#missing(closed);
    const said = missing.filter(({ words }) => words !== '');
    const wordless = missing.filter(({ words }) => words === '');
    this.#placed.leaveOut(ref, head, wordless);
    await this.#write(ref, head, said.length === 0 ? [] : await this.#places(ref, head, said));
  }

  async #places(ref: SessionRef, head: string, said: readonly Said[]): Promise<readonly Placed[]> {
    const texts = said.map(({ words }) => words);
    const call = { actor: ref.session, child: 'turns', timeoutMs: PLACING_MS } as const;
    const embedded = await this.#embed(ref, head, texts, call);
    if (embedded === null) return [];
    if (!embedded.ok) {
      if (isRefusal(embedded.failure)) this.#placed.leaveOut(ref, head, said);
      return [];
    }
    return embedded.vectors.flatMap((vector, at) => {
      const row = said[at];
      return row === undefined ? [] : [{ turn: row.turn, number: row.number, vector: base64Of(vector) }];
    });
  }

  /** The newest closed turns without a place, as their closing records say them; as many as one request takes. */
  async #missing({ ref, head, epoch, number }: ClosedUpTo): Promise<readonly Said[]> {
    const { engine } = this.#options;
    const { turns } = await engine.indexes.get(ref, { head, epoch, before: number + 1 }, null);
    const placed = await this.#placed.get(ref, head);
    const numbers: number[] = [];
    for (let at = turns.count - 1; at >= 0 && numbers.length < TEXTS_A_REQUEST; at--) {
      const candidate = turns.numberAt(at);
      if (!placed.has(candidate)) numbers.push(candidate);
    }
    const said: Said[] = [];
    // One after the other: turns need the connections more.
    for (const { from, to } of rangesOf(numbers))
      for (const row of await engine.store.closings(ref, head, from, to))
        said.push({ turn: row.turn, number: row.number, words: wordsOf(row.body) });
    return said;
  }

  async #directive(ref: SessionRef, head: string, turnId: string, text: string): Promise<Int8Array | null> {
    const key = `${ref.session}/${text}`;
    const known = this.#directives.get(key);
    if (known !== undefined) return known;
    const actor = turnId === '' ? ref.session : turnId;
    const call = { actor, child: 'directive', timeoutMs: DIRECTIVE_MS } as const;
    const embedded = await this.#embed(ref, head, [text], call);
    const vector = embedded?.ok === true ? embedded.vectors[0] : undefined;
    if (vector === undefined) return null;
    const [oldest] = this.#directives.keys();
    if (oldest !== undefined && this.#directives.size >= DIRECTIVES_KEPT) this.#directives.delete(oldest);
    const directive = quantise(vector);
    this.#directives.set(key, directive);
    return directive;
  }

  async #embed(
    { tenant, session }: SessionRef,
    head: string,
    texts: readonly string[],
    { timeoutMs, ...named }: Named,
  ): Promise<Embedding | null> {
    const ref = { tenant, session, ...named, dispatch: 0 };
    const embedded = await this.#options.calls.make({ ref, texts, timeoutMs, signal: this.#stopping.signal });
    if (embedded.kind === 'not-made') return null;
    const { outcome, receipt } = embedded;
    const owed = this.#owed.get(session)?.receipts ?? [];
    this.#owed.set(session, { ref: { tenant, session }, head, receipts: [...owed, receipt] });
    if (!outcome.ok && outcome.failure.kind !== 'aborted') this.#leaveAlone(outcome.failure.message);
    return outcome;
  }

  #isLeftAlone(): boolean {
    return this.#options.engine.clock.monotonicMs() < this.#leftAloneUntilMs;
  }

  #leaveAlone(problem: string): void {
    const { engine, calls, onError } = this.#options;
    if (this.#isLeftAlone()) return;
    this.#leftAloneUntilMs = engine.clock.monotonicMs() + LEFT_ALONE_MS;
    const seconds = LEFT_ALONE_MS / 1_000;
    onError(
      new Error(
        `The embedding leg "${calls.leg.name}" failed, plans go without it for ${seconds} s: ${problem}`,
      ),
    );
  }

  /** One commit: the receipts that are owed, and the places that no other process stored meanwhile. */
  async #write(ref: SessionRef, head: string, made: readonly Placed[]): Promise<void> {
    const { model } = this.#placed;
    const owed = this.#owed.get(ref.session)?.receipts ?? [];
    if (owed.length + made.length === 0) return;
    await commitToSession(this.#options.engine, ref, async (builder) => {
      const stored = await this.#placed.get(ref, head);
      for (const receipt of owed) builder.append(head, receipt);
      for (const { number, turn, vector } of made) {
        if (stored.has(number)) continue;
        const body = { turn, model, vector };
        const seq = builder.append(head, { kind: 'turn-vector', turnId: null, body });
        builder.lists.vectors.push({ ...body, seq });
      }
      return { value: null };
    });
    const left = (this.#owed.get(ref.session)?.receipts ?? []).slice(owed.length);
    if (left.length === 0) this.#owed.delete(ref.session);
    else this.#owed.set(ref.session, { ref, head, receipts: left });
  }
}

function wordsOf(closing: string | null): string {
  const card = closing === null ? undefined : parseBody('turn-closed', JSON.parse(closing)).card;
  return card === undefined ? '' : wordsOfCard(card);
}

/** The leg has no fault to find with itself: the same texts would be refused again. */
function isRefusal({ kind }: ProviderFailure): boolean {
  return kind === 'bad_request' || kind === 'over_length' || kind === 'content';
}

function base64Of(vector: readonly number[]): string {
  return Buffer.from(quantise(vector).buffer).toString('base64');
}

/** Neighbours in one range; `numbers` descend. */
function rangesOf(numbers: readonly number[]): readonly { readonly from: number; readonly to: number }[] {
  const ranges: { from: number; to: number }[] = [];
  for (const number of numbers) {
    const last = ranges.at(-1);
    if (last !== undefined && last.from === number + 1) last.from = number;
    else ranges.push({ from: number, to: number });
  }
  return ranges;
}
