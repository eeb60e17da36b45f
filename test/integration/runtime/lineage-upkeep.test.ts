/** What upkeep makes of sessions that go on from others, on Postgres: verified, made anew, archived, collected. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SessionRef, SessionState } from '../../../src/db/contract.ts';
import { blake3Hex, envelopeDigest } from '../../../src/ledger/chain.ts';
import { brokenLaw } from '../../../src/ledger/invariants.ts';
import { canonicalJson } from '../../../src/ledger/json.ts';
import { RENDERED_KINDS } from '../../../src/ledger/view.ts';
import { MACHINES } from '../../../src/machines/registry.ts';
import { clearSession } from '../../../src/runtime/clear.ts';
import { forkSession } from '../../../src/runtime/fork.ts';
import { importSession } from '../../../src/runtime/imported-history.ts';
import { rebuildSession } from '../../../src/runtime/rebuild.ts';
import { archiveSession } from '../../../src/runtime/sessions.ts';
import { verifySession } from '../../../src/runtime/verify-session.ts';
import { recordsOf } from '../../support/lineage.ts';
import { openTestStack, type TestStack } from '../../support/stack.ts';
import { sayingTool } from '../../support/tools.ts';

const LONG_TEXT = 'The tide turns at noon. '.repeat(3_000);
const TABLES = ['sessions', 'heads', 'turns', 'evidence', 'segments', 'evictions', 'edges', 'accepted_keys'];
const CONFIG = {
  leg: 'sim-large',
  policy: { name: 'plan', options: {} },
  tools: null,
  system: '',
  metadata: {},
} as const;

describe('sessions that go on from others', () => {
  let stack: TestStack;
  beforeAll(async () => {
    const almanac = sayingTool('almanac', 'Says the tides.', LONG_TEXT);
    stack = await openTestStack({ backend: 'postgres', tools: [almanac] });
    await stack.worker({ pools: ['turn', 'step', 'tool', 'summary', 'probe', 'intent'] });
  });
  afterAll(() => stack.close());

  const engine = () => stack.producer.engine;
  const store = () => stack.producer.store;
  const fork = async (from: SessionRef): Promise<SessionRef> => {
    const child = { tenant: from.tenant, session: randomUUID() };
    await forkSession(engine(), from, { session: child.session, head: randomUUID() });
    return child;
  };
  const imported = async (): Promise<SessionRef> => {
    const ref = { tenant: stack.tenant, session: randomUUID() };
    const messages = ['heron', 'plover', 'curlew'].flatMap((word) => [
      { role: 'user' as const, content: [{ type: 'text' as const, text: `My word is ${word}, of a.txt.` }] },
      { role: 'assistant' as const, content: [{ type: 'text' as const, text: `It is ${word}.` }] },
    ]);
    const opening = { head: randomUUID(), config: { ...CONFIG, tools: null }, messages, newId: randomUUID };
    await importSession(engine(), ref, opening);
    return ref;
  };
  const rebuild = (ref: SessionRef) =>
    rebuildSession({ store: store(), upkeep: stack.producer.upkeep, registry: MACHINES }, ref);
  const verify = (ref: SessionRef) => verifySession({ store: store(), registry: MACHINES }, ref);
  const state = async (ref: SessionRef): Promise<SessionState> => {
    const found = await store().sessionState(ref);
    if (found === null) throw new Error(`there is no session ${ref.session}`);
    return { ...found, events: found.events.map((event) => ({ ...event, receivedInMs: 0 })), calls: [] };
  };
  /** As the owner of the tables: no role of the program may. */
  const tamper = async (statement: string, values: readonly unknown[], table = 'records') => {
    await stack.sql(`ALTER TABLE turnwright.${table} DISABLE TRIGGER USER`);
    await stack.sql(statement, values);
    await stack.sql(`ALTER TABLE turnwright.${table} ENABLE TRIGGER USER`);
  };

  /** Imported, forked, forked again, cleared, and the clear's fork: each of them answered. */
  async function lineage(): Promise<readonly SessionRef[]> {
    const first = await imported();
    await stack.ask(first, 'Good morning.');
    const child = await fork(first);
    await stack.ask(child, 'Call the almanac tool.');
    const grandchild = await fork(child);
    await stack.ask(grandchild, 'Good evening.');
    await clearSession(engine(), child);
    await stack.ask(child, 'Good night.');
    const other = await fork(child);
    await stack.ask(other, 'Good day.');
    await clearSession(engine(), other);
    return [first, child, grandchild, other];
  }

  it('LED-03 LIN-01 LIN-02 LIN-04 verify as they were written, and are the projections of their records', async () => {
    for (const ref of await lineage()) {
      expect(await verify(ref)).toMatchObject({ chain: { ok: true }, broken: null });
      expect(await rebuild(ref)).toEqual({ differences: [], restored: false });
      expect(brokenLaw({ session: ref.session, records: await recordsOf(store(), ref) })).toBeNull();
    }
  });

  it('LED-03 LIN-01 LIN-02 LIN-04 come back whole from records when every row of them is gone', async () => {
    const line = await lineage();
    const before = await Promise.all(line.map(state));
    for (const { session } of line)
      for (const table of TABLES)
        await stack.sql(`DELETE FROM turnwright.${table} WHERE session_id = $1`, [session]);
    for (const ref of line) expect((await rebuild(ref)).restored).toBe(true);
    expect(await Promise.all(line.map(state))).toEqual(before);
    for (const ref of line) expect(await verify(ref)).toMatchObject({ chain: { ok: true }, broken: null });
    for (const ref of line) expect(await stack.ask(ref, 'Again?')).toMatchObject({ outcome: 'completed' });
  });

  it.each([
    ['segments', 'UPDATE turnwright.segments SET to_seq = to_seq - 1'],
    ['segments', 'DELETE FROM turnwright.segments'],
    ['heads', 'UPDATE turnwright.heads SET first_turn = 1'],
    ['sessions', 'UPDATE turnwright.sessions SET next_item = next_item + 1'],
  ])('LED-03 LIN-01 a wrong row of %s of a fork is named, and mended (%s)', async (table, statement) => {
    const first = await imported();
    const child = await fork(first);
    const before = await state(child);
    await stack.sql(`${statement} WHERE session_id = $1`, [child.session]);
    expect((await verify(child))?.broken).toMatch(/^20: /u);
    expect(new Set((await rebuild(child)).differences.map((one) => one.table))).toEqual(new Set([table]));
    expect(await state(child)).toEqual(before);
  });

  it('LED-02 LIN-01 a fork whose ancestor lost what it ends with verifies as dangling, and names the record', async () => {
    const first = await imported();
    const child = await fork(first);
    const last = (await recordsOf(store(), first)).length;
    const names = `21: record ${last} of session ${first.session}: `;
    const altered = `UPDATE turnwright.records SET body = replace(body, 'curlew', 'raven') WHERE session_id = $1 AND seq = $2`;
    await tamper(altered, [first.session, last]);
    expect(await verify(child)).toMatchObject({ chain: { ok: true } });
    expect((await verify(child))?.broken).toBe(
      `${names}its body is not the one that was recorded: the digests differ`,
    );
    await tamper('DELETE FROM turnwright.records WHERE session_id = $1 AND seq = $2', [first.session, last]);
    expect((await verify(child))?.broken).toBe(`${names}it is missing`);
    await clearSession(engine(), child);
    expect((await verify(child))?.broken).toBeNull();
  });

  it('LED-02 LIN-01 a link that another program wrote late, or wrongly, refuses verification and a rebuild', async () => {
    const first = await imported();
    const child = await fork(first);
    const link = (await recordsOf(store(), child))[2];
    const before = await recordsOf(store(), first);
    await append(first, 'inherited', link?.body ?? '');
    const seq = before.length + 1;
    expect(await verify(first)).toMatchObject({
      chain: {
        ok: false,
        fault: { seq, kind: 'inherited', problem: expect.stringContaining('only record 3') },
      },
    });
    await expect(rebuild(first)).rejects.toMatchObject({ code: 'ledger_corrupt', details: { seq } });
  });

  it('LIN-01 an archived ancestor, its events folded and its orphans collected, keeps what a fork points at', async () => {
    const first = await stack.session({ tools: ['almanac', 'recall'] });
    await stack.ask(first, 'Call the almanac tool.');
    const child = await fork(first);
    await archiveSession(engine(), first);
    await tamper(`UPDATE turnwright.bodies SET created_at = created_at - interval '2 hours'`, [], 'bodies');
    await stack.sql(
      `INSERT INTO turnwright.bodies (tenant_id, session_id, digest, body, created_at) VALUES ($1, $2, decode($3, 'hex'), $4, now() - interval '2 hours')`,
      [first.tenant, first.session, blake3Hex('nobody'), 'nobody'],
    );
    await stack.producer.upkeep.compact(1_000);
    expect(await stack.producer.upkeep.collectBodies()).toBe(1);
    expect(await store().evidence(child, 1)).toBe(LONG_TEXT);
    const head = (await store().loadSession(child, null))?.session.liveHead ?? '';
    const [turn] = await store().history(child, head, { from: 1, to: 1 }, RENDERED_KINDS);
    expect(turn?.records.map(({ kind }) => kind)).toContain('tool-result');
    expect(await stack.ask(child, 'Good evening.')).toMatchObject({ outcome: 'completed' });
    expect(await stack.ask(await fork(child), 'Good night.')).toMatchObject({ outcome: 'completed' });
    for (const ref of [first, child]) expect(await verify(ref)).toMatchObject({ broken: null });
  });

  it('LIN-01 content that was erased on record fails no fork, and content that is lost does', async () => {
    const first = await imported();
    const { digest, seq } = await erase(first, 'plover');
    expect(await fork(first)).toMatchObject({ tenant: stack.tenant });
    const [lost] = (await recordsOf(store(), first)).filter(({ body }) => body?.includes('curlew'));
    await tamper('UPDATE turnwright.records SET body = NULL WHERE session_id = $1 AND seq = $2', [
      first.session,
      lost?.seq,
    ]);
    await expect(fork(first)).rejects.toMatchObject({
      code: 'ancestor_unreadable',
      details: { record: lost?.seq, reason: expect.stringContaining('no record says that it was erased') },
    });
    expect(digest).not.toBe(lost?.bodyDigest);
    expect(seq).toBeLessThan(lost?.seq ?? 0);
  });

  async function append(ref: SessionRef, kind: string, body: string): Promise<void> {
    const last = (await recordsOf(store(), ref)).at(-1);
    if (last === undefined) throw new Error('the session has no records');
    const seq = last.seq + 1;
    const bodyDigest = blake3Hex(body);
    const fields = { session: ref.session, seq, kind, turnId: null, headId: last.headId, bodyDigest };
    const digest = envelopeDigest({ ...fields, prevDigest: last.digest });
    await stack.sql(
      `INSERT INTO turnwright.records (tenant_id, session_id, seq, head_id, kind, class, body, bytes, body_digest, digest, prev_digest)
        VALUES ($1, $2, $3, $4, $5, 'protocol', $6, $7, decode($8, 'hex'), decode($9, 'hex'), decode($10, 'hex'))`,
      [
        ref.tenant,
        ref.session,
        seq,
        last.headId,
        kind,
        body,
        Buffer.byteLength(body),
        bodyDigest,
        digest,
        last.digest,
      ],
    );
    await stack.sql(
      `UPDATE turnwright.sessions SET next_seq = $2, last_digest = decode($3, 'hex') WHERE session_id = $1`,
      [ref.session, seq + 1, digest],
    );
  }

  /** The one change that originals see, in the order in which it is made. */
  async function erase(ref: SessionRef, word: string) {
    const [record] = (await recordsOf(store(), ref)).filter(
      ({ body, kind }) => kind === 'assistant-message' && body?.includes(word),
    );
    if (record === undefined) throw new Error(`no record holds ${word}`);
    const { seq, bodyDigest: digest } = record;
    await append(ref, 'erased', canonicalJson({ seq, digest }));
    await tamper('UPDATE turnwright.records SET body = NULL WHERE session_id = $1 AND seq = $2', [
      ref.session,
      seq,
    ]);
    return { seq, digest };
  }
});
