/** What a running turn's tools may read of the past: its own session's lineage, and the tenant's other sessions by search. */
import { recordText } from '../context/assemble/record-text.ts';
import { searchTurns } from '../context/relevance/search.ts';
import { TurnIndex } from '../context/relevance/turn-index.ts';
import { cardLine } from '../context/turn-card.ts';
import type { Loaded, SessionRef, Store, TenantTurn, TurnPlace } from '../db/contract.ts';
import { ordinalOf } from '../ledger/ids.ts';
import { canonicalJson } from '../ledger/json.ts';
import { parseBody } from '../ledger/kinds.ts';
import type { FoundInSessions, FoundTurn, RememberedTurn, SessionMemory } from '../tools/contract.ts';
import type { HeadIndexes } from './head-index.ts';
import { foldRecords, type TurnCache } from './turn-cache.ts';

/** Turns of other sessions a search looks at, newest first, and how many it reads at a time. */
const SEARCHED_TURNS = 8_192;
const PAGE_TURNS = 1_024;

interface Remembering {
  readonly store: Store;
  readonly indexes: HeadIndexes;
  readonly turns: TurnCache;
}

export function sessionMemory(
  deps: Remembering,
  { session, turn: place }: Pick<Loaded, 'session' | 'turn'>,
): SessionMemory {
  const { store, turns } = deps;
  const ref: SessionRef = session;
  const head = place?.head ?? session.liveHead;
  const newest = (place?.number ?? session.nextTurn) - 1;
  return {
    evidence: (id) => byOrdinal('e', id, (ordinal) => store.evidence(ref, ordinal)),
    evidenceIds: (limit) => store.evidenceIds(ref, limit),
    newestTurn: () => Promise.resolve(newest),
    turn: async (which) => {
      const at =
        'id' in which
          ? { session: ref.session, turn: which.id }
          : await store.turnAt(ref, head, which.number);
      return at === null ? null : remembered(store, { ...ref, session: at.session }, at.turn, place);
    },
    presentation: (id) =>
      byOrdinal('p', id, async (ordinal) => {
        const body = await store.presentation(ref, ordinal);
        if (body === null) return null;
        const { type, title, payload } = parseBody('presentation', JSON.parse(body));
        return `${type} "${title}"\n${canonicalJson(payload)}`;
      }),
    search: async (query, limit) => {
      const { turns: index } = await deps.indexes.get(
        ref,
        { head, epoch: session.epoch, before: newest + 1 },
        null,
      );
      const found = searchTurns(index, query, limit);
      return Promise.all(
        found.map(async ({ number }): Promise<FoundTurn> => {
          const [carded] = await turns.cards(ref, head, number, number);
          return { number, line: carded?.line ?? '' };
        }),
      );
    },
    searchSessions: (query, limit) => searchSessions(store, ref, query, limit),
  };
}

/** A turn of another session is none of this one's: its records are not found under this session. */
async function remembered(
  store: Store,
  ref: SessionRef,
  id: string,
  open: TurnPlace | null,
): Promise<RememberedTurn | null> {
  const records = await store.turnRecords(ref, id);
  if (records.length === 0) return null;
  const view = foldRecords(records);
  if (view.closed === null) return view.number <= (open?.number ?? 0) ? { kind: 'open' } : null;
  return { kind: 'closed', text: recordText(view) };
}

function byOrdinal(
  letter: 'e' | 'p',
  id: string,
  read: (ordinal: number) => Promise<string | null>,
): Promise<string | null> {
  const ordinal = ordinalOf(letter, id);
  return ordinal === null ? Promise.resolve(null) : read(ordinal);
}

async function searchSessions(
  store: Store,
  ref: SessionRef,
  query: string,
  limit: number,
): Promise<FoundInSessions> {
  const index = new TurnIndex();
  const read: TenantTurn[] = [];
  let before: string | null = null;
  let complete = false;
  while (read.length < SEARCHED_TURNS && !complete) {
    const page: readonly TenantTurn[] = await store.tenantTurns(ref, before, PAGE_TURNS);
    for (const turn of page) {
      const terms = new Uint8Array(Buffer.from(turn.terms, 'base64'));
      index.append({ number: read.push(turn), fullBytes: 0, cardBytes: 0, terms, links: [] });
    }
    before = page.at(-1)?.turn ?? null;
    complete = page.length < PAGE_TURNS;
  }
  const found = searchTurns(index, query, limit).map(({ number }) => read[number - 1]);
  const lines = await Promise.all(
    found.flatMap((turn) => (turn === undefined ? [] : [elsewhere(store, ref, turn)])),
  );
  return { found: lines.flatMap((line) => line ?? []), searchedTurns: read.length, complete };
}

async function elsewhere(store: Store, { tenant }: SessionRef, turn: TenantTurn) {
  const { session, number, closedSeq, closedAt } = turn;
  const body = await store.recordBody({ tenant, session }, closedSeq);
  const card = body === null ? undefined : parseBody('turn-closed', JSON.parse(body)).card;
  return card === undefined ? null : { session, number, closedAt, line: cardLine(card) };
}
