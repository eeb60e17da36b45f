/**
 * A fork goes on from a head of another session by reference: its third record links it to the records it goes on from,
 * and none of them is copied. The lineage is flattened, so that nothing ever walks a chain: a part is named by the
 * session that recorded it first. Numbers of turns, items, evidence and presentations go on from where they stood.
 */
import type { Commit, ForkSource, SegmentRow, SessionRef } from '../db/contract.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import type { Segment } from '../ledger/items.ts';
import { parseBody } from '../ledger/kinds.ts';
import { checkAncestors } from './ancestors.ts';
import type { Engine } from './engine.ts';
import { segmentRows } from './segment-rows.ts';
import { openingOf, type SessionConfig } from './sessions.ts';

export interface NewFork {
  /** Of the fork. */
  readonly session: string;
  readonly head: string;
}

export interface ForkRequest extends NewFork {
  /** Of the session it goes on from; the live head unless given. */
  readonly from?: string;
  /** The fork's settings, from those of the session it goes on from, which it has unless given. */
  readonly settings?: (from: SessionConfig) => SessionConfig;
}

/**
 * What it goes on from may be running or archived, and is not written to.
 *
 * @throws TurnwrightError `session_not_found`, `head_not_found`, or `ancestor_unreadable` naming the record that is
 * missing or altered; nothing is written then.
 */
export async function forkSession(engine: Engine, ref: SessionRef, request: ForkRequest): Promise<void> {
  const { store } = engine;
  const source = await store.forkSource(ref, request.from ?? null);
  if (source === null) throw await missing(engine, ref, request);
  await checkAncestors(store, ref.tenant, lineageOf(source));
  // Whoever made what it goes on from has no claim on it.
  const { delegated: _, ...config } = parseBody('session-created', JSON.parse(source.config));
  const result = await engine.commit(forkCommit(source, request, request.settings?.(config) ?? config));
  if (result !== 'applied') throw new Error(`session ${request.session} could not be forked: ${result}`);
}

/** The whole of a fork: one commit, of three records. */
export function forkCommit(source: ForkSource, { session, head }: NewFork, config: SessionConfig): Commit {
  const { session: from } = source;
  const { tenant, nextTurn, nextItem, nextEvidence, nextPresentation } = from;
  const numbers = { nextTurn, nextItem, nextEvidence, nextPresentation };
  const builder = openingOf({ tenant, session }, head, config, numbers);
  const segments = [...lineageOf(source)];
  const next = {
    turn: nextTurn,
    item: nextItem,
    evidence: nextEvidence,
    presentation: nextPresentation,
  };
  const inherited = { session: from.session, head: source.head, segments, next };
  builder.append(head, { kind: 'inherited', turnId: null, body: inherited });
  builder.lists.segments.push(...segmentRows(head, segments));
  return builder.build();
}

/** What the head goes on from, and then what it recorded itself, up to its newest record. */
export function lineageOf({
  session: from,
  head,
  segments,
  clearedSeq,
  turns,
  items,
}: ForkSource): readonly Segment[] {
  const own: Segment = {
    session: from.session,
    head,
    afterSeq: clearedSeq,
    toSeq: from.nextSeq - 1,
    digest: from.lastDigest,
    turns,
    items,
  };
  return [...segments.map(segmentOf), own];
}

function segmentOf(row: SegmentRow): Segment {
  const { fromSession: session, fromHead: head, afterSeq, toSeq, digest } = row;
  const turns = rangeOf(row.firstTurn, row.lastTurn);
  const items = rangeOf(row.firstItem, row.lastItem);
  return { session, head, afterSeq, toSeq, digest, turns, items };
}

function rangeOf(from: number, to: number): Segment['turns'] {
  return to < from ? null : { from, to };
}

async function missing({ store }: Engine, ref: SessionRef, { from }: ForkRequest): Promise<TurnwrightError> {
  const known = from === undefined ? null : await store.loadSession(ref, null);
  if (known === null)
    return new TurnwrightError(
      'session_not_found',
      `There is no session ${ref.session} to go on from. GET /v1/sessions lists those there are.`,
    );
  return new TurnwrightError(
    'head_not_found',
    `Session ${ref.session} has no head ${from}. Its live head is ${known.session.liveHead}.`,
  );
}
