/** What a running turn's tools may read of the past: its own session's lineage, and the tenant's other sessions by search. */
import { searchTurns } from '../context/relevance/search.ts';
import { TurnIndex } from '../context/relevance/turn-index.ts';
import { cardLine } from '../context/turn-card.ts';
import type { Loaded, SessionRef, Store, TenantTurn } from '../db/contract.ts';
import type { Clock } from '../ledger/clock.ts';
import { ordinalOf } from '../ledger/ids.ts';
import { canonicalJson } from '../ledger/json.ts';
import { parseBody } from '../ledger/kinds.ts';
import type { FoundInSessions, FoundTurn, SessionMemory } from '../tools/contract.ts';
import type { HeadIndexes } from './head-index.ts';
import { recalledTurn } from './transcript/recalled-turn.ts';
import { sessionTranscript } from './transcript/session-transcript.ts';
import type { TurnCache } from './turn-cache.ts';

/** Turns of other sessions a search looks at, newest first, and how many it reads at a time. */
const SEARCHED_TURNS = 8_192;
const PAGE_TURNS = 1_024;

interface Remembering {
  readonly store: Store;
  readonly indexes: HeadIndexes;
  readonly turns: TurnCache;
  readonly clock: Pick<Clock, 'after'>;
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
    turn: (which) => recalledTurn(store, { ref, head, place }, which),
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
          const [carded] = await turns.cards(ref, { head, epoch: session.epoch }, number, number);
          return { number, line: carded?.line ?? '' };
        }),
      );
    },
    searchSessions: (query, limit) => searchSessions(store, ref, query, limit),
    transcript: sessionTranscript(deps, { ref, head, nextItem: session.nextItem }),
  };
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
