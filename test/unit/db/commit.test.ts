import { describe, expect, it } from 'vitest';
import { commitJson, INLINE_BODY_BYTES } from '../../../src/db/commit.ts';
import { GENESIS_DIGEST } from '../../../src/ledger/chain.ts';
import { CommitBuilder } from '../../../src/runtime/commit-builder.ts';

const HEAD = '01890000-0000-7000-8000-0000000000aa';

function builder(): CommitBuilder {
  return new CommitBuilder({
    tenant: HEAD,
    session: HEAD,
    status: 'open',
    leg: 'sim',
    liveHead: HEAD,
    nextSeq: 5,
    lastDigest: GENESIS_DIGEST,
    nextTurn: 2,
    nextEvidence: 3,
    nextPresentation: 4,
    nextItem: 5,
    profileAt: 0,
    prefix: null,
    epoch: 0,
    watched: false,
  });
}

/** A body of exactly so many bytes. */
function closing(bytes: number) {
  const frame = JSON.stringify({ outcome: 'failed', reason: '', steps: 0 }).length;
  const body = { outcome: 'failed' as const, reason: 'r'.repeat(bytes - frame), steps: 0 };
  return { kind: 'turn-closed' as const, turnId: null, body };
}

function wireOf(made: CommitBuilder): Record<string, unknown> {
  return JSON.parse(commitJson(made.build())) as Record<string, unknown>;
}

describe('a commit on its way to the database', () => {
  it('RUN-02 leaves out what it does not change', () => {
    const always = ['tenant', 'session', 'baseSeq', 'nextSeq', 'lastDigest', 'prefix', 'epoch', 'actors'];
    const numbers = ['nextTurn', 'nextEvidence', 'nextPresentation', 'nextItem', 'profileAt'];
    expect(Object.keys(wireOf(builder())).sort()).toEqual([...always, ...numbers].sort());
  });

  it('RUN-02 carries every list that holds something', () => {
    const made = builder();
    for (const list of Object.values(made.lists)) list.push({} as never);
    made.append(HEAD, closing(60));
    const wire = wireOf(made);
    for (const [name, list] of Object.entries(made.lists)) expect([name, wire[name]]).toEqual([name, list]);
    expect(wire.records).toHaveLength(1);
  });

  it('carries a body of up to 8 KiB in its record, and a larger one by digest alone', () => {
    expect(INLINE_BODY_BYTES).toBe(8_192);
    const made = builder();
    made.append(HEAD, closing(8_192));
    made.append(HEAD, closing(8_193));
    const { records } = wireOf(made) as { records: { body: string | null; bytes: number }[] };
    expect(records.map(({ body, bytes }) => [body?.length ?? null, bytes])).toEqual([
      [8_192, 8_192],
      [null, 8_193],
    ]);
  });

  it('keeps numbers without a gap over what it appends, and takes each name once', () => {
    const made = builder();
    expect([made.append(HEAD, closing(60)), made.append(HEAD, closing(60))]).toEqual([5, 6]);
    expect([made.takeTurnNumber(), made.takeTurnNumber(), made.takeEvidence()]).toEqual([2, 3, 3]);
    expect([made.nextPresentation, made.takePresentation(), made.nextPresentation]).toEqual([4, 4, 5]);
    const commit = made.build();
    expect(commit.records.map(({ seq }) => seq)).toEqual([5, 6]);
    expect([commit.baseSeq, commit.nextSeq, commit.nextTurn, commit.nextEvidence]).toEqual([5, 7, 4, 4]);
    expect(commit.nextPresentation).toBe(5);
    expect(commit.lastDigest).toBe(commit.records[1]?.digest);
    expect(builder().build()).toMatchObject({ nextSeq: 5, lastDigest: GENESIS_DIGEST, records: [] });
  });
});
