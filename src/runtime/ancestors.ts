/**
 * Whether what a fork goes on from is what was recorded. Each part of a lineage is named by the digest of its last
 * record, and the chain behind that digest names all the others: from the last record backwards nothing can be
 * missing, altered or exchanged without being seen.
 */
import type { Store } from '../db/contract.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import type { Segment } from '../ledger/items.ts';
import type { BodyOf } from '../ledger/kinds.ts';
import type { StoredRecord } from '../ledger/verify.ts';
import { ERASED, recordFault } from './transcript/check-record.ts';

/** Turns, the newest first, whose records are compared one by one; of what is older, the last record of its part. */
const CHECKED_TURNS = 64;

type Reading = Pick<Store, 'records' | 'turnAt' | 'turnRecords'>;

/** Where a part ends, by its record and digest. */
type Anchor = Pick<Segment, 'session' | 'toSeq' | 'digest'>;

/** The first record that is not what was recorded. */
export interface AncestorFault {
  readonly session: string;
  readonly record: number;
  readonly reason: string;
}

/** @throws TurnwrightError `ancestor_unreadable` naming the session, the record and what is wrong with it. */
export async function checkAncestors(
  store: Reading,
  tenant: string,
  segments: readonly Segment[],
): Promise<void> {
  let left = CHECKED_TURNS;
  for (const segment of segments.toReversed()) {
    const { turns } = segment;
    const after = await checkedAfter(store, tenant, segment, left);
    left = Math.max(0, left - (turns === null ? 0 : turns.to - turns.from + 1));
    const fault = await faultBetween(store, tenant, after, segment);
    if (fault !== null) throw unreadable(fault);
  }
}

/** Where a part of a lineage does not end with the record that its link names; null where all do. */
export async function anchorFault(
  store: Reading,
  tenant: string,
  anchors: readonly Anchor[],
): Promise<AncestorFault | null> {
  for (const anchor of anchors) {
    const fault = await faultBetween(store, tenant, anchor.toSeq - 1, anchor);
    if (fault !== null) return fault;
  }
  return null;
}

/** The record before the oldest of the part's newest `left` turns; with no turn to check, the one before its last. */
async function checkedAfter(store: Reading, tenant: string, segment: Segment, left: number): Promise<number> {
  const { session, head, turns, afterSeq, toSeq } = segment;
  if (turns === null || left === 0) return toSeq - 1;
  const oldest = turns.to - left + 1;
  if (oldest <= turns.from) return afterSeq;
  const ref = { tenant, session };
  const at = await store.turnAt(ref, head, oldest);
  const [first] = at?.session === session ? await store.turnRecords(ref, at.turn) : [];
  return first === undefined ? afterSeq : Math.max(afterSeq, first.seq - 1);
}

/** Compares the records after `after` up to the anchor. */
async function faultBetween(
  store: Reading,
  tenant: string,
  after: number,
  { session, toSeq: to, digest }: Anchor,
): Promise<AncestorFault | null> {
  const bodiless = new Map<number, string>();
  let before: StoredRecord | null = null;
  for await (const record of store.records({ tenant, session }, { after, to })) {
    const seq: number = (before?.seq ?? after) + 1;
    if (record.seq !== seq) return { session, record: seq, reason: 'it is missing' };
    if (before !== null && record.prevDigest !== before.digest)
      return { session, record: seq, reason: 'it does not follow the record before it' };
    const reason = recordFault(record, session, seq === to ? digest : undefined);
    if (reason !== null && reason !== ERASED) return { session, record: seq, reason };
    if (record.body === null) bodiless.set(seq, record.bodyDigest);
    before = record;
  }
  const last = before?.seq ?? after;
  if (last < to) return { session, record: last + 1, reason: 'it is missing' };
  return bodiless.size === 0 ? null : lostBody(store, tenant, { session, after, bodiless });
}

/** A body that is gone was erased if a later record says so, and is lost if none does. */
async function lostBody(
  store: Reading,
  tenant: string,
  {
    session,
    after,
    bodiless,
  }: { readonly session: string; readonly after: number; readonly bodiless: Map<number, string> },
): Promise<AncestorFault | null> {
  for await (const { kind, body } of store.records({ tenant, session }, { after })) {
    if (kind !== 'erased' || body === null) continue;
    const { seq, digest } = JSON.parse(body) as BodyOf<'erased'>;
    if (bodiless.get(seq) === digest) bodiless.delete(seq);
  }
  const [record] = bodiless.keys();
  if (record === undefined) return null;
  return { session, record, reason: 'its content is gone, and no record says that it was erased' };
}

function unreadable({ session, record, reason }: AncestorFault): TurnwrightError {
  return new TurnwrightError(
    'ancestor_unreadable',
    `Record ${record} of session ${session} cannot be gone on from: ${reason}. Run \`turnwright session verify ${session}\`.`,
    { details: { session, record, reason } },
  );
}
