/**
 * The items of a lineage as a list. Closed turns tell theirs in the record that closed them, so that no other record of
 * theirs is read; a turn that runs, or was cut off by a fork, is read whole.
 */
import type { EvictionRow, TranscriptTurn } from '../../db/contract.ts';
import type { ItemEntry } from '../../ledger/items.ts';
import { parseBody } from '../../ledger/kinds.ts';
import { IMPORTED_REASON } from '../imported-history.ts';
import type { IndexedItem, IndexPage, TranscriptIndex, UnlistedTurn } from './answers.ts';
import { type Standing, standing, type TranscriptPlace, type TranscriptStore } from './locate.ts';

/** Every turn and record of a session has a lower number. */
const BEYOND = 2_147_483_647;
const NO_TURN_AFTER = { turn: BEYOND, recordSeq: 0 };

export async function indexPage(
  store: TranscriptStore,
  place: TranscriptPlace,
  { after, limit }: IndexPage,
): Promise<TranscriptIndex> {
  const { evictions } = await store.toPlan(place.ref, place.head, NO_TURN_AFTER);
  const listing = new Listing(store, place, evictions);
  let [from, width] = [after + 1, limit];
  // Numbers have gaps where another head took some: a window that brings too little is followed by a wider one.
  while (listing.items.length <= limit && from < place.nextItem) {
    const to = Math.min(from + width, place.nextItem) - 1;
    await listing.add(from, to);
    [from, width] = [to + 1, width * 2];
  }
  const items = listing.items.slice(0, limit);
  const next = listing.items.length > limit ? (items.at(-1)?.item ?? null) : null;
  return {
    items,
    evictions: evictions
      .filter(({ to }) => to > after && to <= (next ?? BEYOND))
      .map(({ seq: _, ...span }) => span),
    unlisted: [...listing.unlisted.values()],
    open: listing.open,
    next,
  };
}

interface Told {
  readonly entries: readonly ItemEntry[];
  readonly imported: boolean;
}

/** What was read so far, window after window. */
class Listing {
  readonly items: IndexedItem[] = [];
  /** By number of the turn. */
  readonly unlisted = new Map<number, UnlistedTurn>();
  open: number | null = null;
  readonly #store: TranscriptStore;
  readonly #place: TranscriptPlace;
  readonly #evictions: readonly EvictionRow[];
  /** Turns that no closing tells of, as they were read once. */
  readonly #read = new Map<string, Standing>();

  constructor(store: TranscriptStore, place: TranscriptPlace, evictions: readonly EvictionRow[]) {
    this.#store = store;
    this.#place = place;
    this.#evictions = evictions;
  }

  /** The items `from` to `to`. */
  async add(from: number, to: number): Promise<void> {
    const { ref, head } = this.#place;
    const turns = await this.#store.transcriptTurns(ref, head, { from, to });
    const closed = await this.#closings(turns);
    for (const turn of turns) {
      const told = closed.get(turn.number) ?? (await this.#stands(turn));
      const kind = turn.session !== ref.session ? 'inherited' : told.imported ? 'import' : 'own';
      const shown = told.entries.flatMap((entry, place) =>
        entry.item >= from && entry.item <= to
          ? [this.#row(turn, entry, { kind, isPrompt: place === 0 })]
          : [],
      );
      this.items.push(...shown);
    }
  }

  /** Of closed turns, by their numbers, what their closings tell; without those that cannot be read. */
  async #closings(turns: readonly TranscriptTurn[]): Promise<ReadonlyMap<number, Told>> {
    const { ref, head } = this.#place;
    const numbers = turns.flatMap(({ items, number }) => (items === null ? [] : [number]));
    const [first, last] = [numbers[0], numbers.at(-1)];
    if (first === undefined || last === undefined) return new Map();
    const rows = await this.#store.closings(ref, head, first, last);
    return new Map(
      rows.flatMap(({ number, body }) => {
        const told = body === null ? null : toldBy(body);
        return told === null ? [] : [[number, told] as const];
      }),
    );
  }

  async #stands(turn: TranscriptTurn): Promise<Told> {
    const stands = this.#read.get(turn.turn) ?? (await standing(this.#store, this.#place.ref.tenant, turn));
    this.#read.set(turn.turn, stands);
    if (stands.fault === null) {
      this.open = stands.open ?? this.open;
      return stands;
    }
    this.unlisted.set(turn.number, { turn: turn.number, session: turn.session, ...stands.fault });
    return { entries: [], imported: false };
  }

  #row(
    turn: TranscriptTurn,
    { item, label, bytes }: ItemEntry,
    { kind, isPrompt }: Pick<IndexedItem, 'kind'> & { readonly isPrompt: boolean },
  ): IndexedItem {
    const left = this.#evictions.some(({ from, to }) => from <= item && item <= to);
    return {
      item,
      role: isPrompt ? 'user' : 'assistant',
      kind,
      label,
      bytes,
      held: left ? 'evicted' : 'resident',
      turn: turn.number,
      session: turn.session,
    };
  }
}

/** null where the body is not what a closing is. */
function toldBy(body: string): Told | null {
  try {
    const { items, reason } = parseBody('turn-closed', JSON.parse(body));
    return items === undefined ? null : { entries: items, imported: reason === IMPORTED_REASON };
  } catch {
    return null;
  }
}
