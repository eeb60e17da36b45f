/** A commit as the `apply` function reads it: members that change nothing are left out. */
import type { Commit } from './contract.ts';

/** Bodies larger than this stand in `bodies`, by digest. */
export const INLINE_BODY_BYTES = 8 * 1024;

const LISTS = [
  'events',
  'calls',
  'outbox',
  'cancels',
  'timers',
  'clearedTimers',
  'turns',
  'keys',
  'turnChanges',
  'heads',
  'packets',
  'evidence',
  'edges',
  'retractedEdges',
  'presentations',
  'prefixes',
  'vectors',
  'usage',
  'resets',
  'evictions',
  'segments',
  'cleared',
] as const;

export function commitJson(commit: Commit): string {
  const wire: Record<string, unknown> = {
    tenant: commit.tenant,
    session: commit.session,
    baseSeq: commit.baseSeq,
    nextSeq: commit.nextSeq,
    lastDigest: commit.lastDigest,
    nextTurn: commit.nextTurn,
    nextEvidence: commit.nextEvidence,
    nextPresentation: commit.nextPresentation,
    nextItem: commit.nextItem,
    prefix: commit.prefix,
    epoch: commit.epoch,
    profileAt: commit.profileAt,
    actors: commit.actors,
  };
  if (commit.create !== undefined) wire.create = commit.create;
  if (commit.newHead !== undefined) wire.newHead = commit.newHead;
  if (commit.liveHead !== undefined) wire.liveHead = commit.liveHead;
  if (commit.status !== undefined) wire.status = commit.status;
  if (commit.settle !== undefined) wire.settle = commit.settle;
  if (commit.records.length > 0) wire.records = commit.records.map(recordWire);
  const large = commit.records.filter((record) => record.bytes > INLINE_BODY_BYTES);
  if (large.length > 0) wire.largeBodies = large.map((record) => record.bodyDigest);
  for (const list of LISTS) if (commit[list].length > 0) wire[list] = commit[list];
  return JSON.stringify(wire);
}

function recordWire(record: Commit['records'][number]) {
  return {
    seq: record.seq,
    head: record.headId,
    turn: record.turnId,
    kind: record.kind,
    class: record.class,
    body: record.bytes > INLINE_BODY_BYTES ? null : record.body,
    bytes: record.bytes,
    bodyDigest: record.bodyDigest,
    digest: record.digest,
    prev: record.prevDigest,
  };
}
