/** Forks through the handlers that production runs, over a store in memory, with a model that a test scripts. */
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../../src/context/request.ts';
import type { SessionRef } from '../../../src/db/contract.ts';
import { TurnwrightError } from '../../../src/ledger/errors.ts';
import { brokenLaw, callsAnswered } from '../../../src/ledger/invariants.ts';
import { canonicalJson } from '../../../src/ledger/json.ts';
import { POLICIES } from '../../../src/ledger/kinds.ts';
import { clearSession } from '../../../src/runtime/clear.ts';
import { forkSession } from '../../../src/runtime/fork.ts';
import { archiveSession } from '../../../src/runtime/sessions.ts';
import { call, configOf, type Lineage, openLineage, say, spoilt, textOf } from '../../support/lineage.ts';

const refusal = async (work: Promise<unknown>): Promise<TurnwrightError> => {
  const error = await work.then(
    () => null,
    (cause: unknown) => cause,
  );
  if (error instanceof TurnwrightError) return error;
  throw new Error('it was not refused by name', { cause: error });
};

/** Calls the report where that is the newest thing said. */
const callsWhenAsked = (request: ChatRequest) =>
  canonicalJson(request.messages.at(-1) ?? null).includes('Call it.') ? call('report') : say('That is it.');

const sound = async (lineage: Lineage, ...sessions: readonly SessionRef[]) => {
  for (const session of sessions) {
    const records = await lineage.records(session);
    expect(brokenLaw({ session: session.session, records })).toBeNull();
  }
  expect(lineage.process.errors).toEqual([]);
};

describe.each(POLICIES)('a fork under %s', (policy) => {
  it('LIN-01 goes on from what was said before it, and neither reads what the other says later', async () => {
    const lineage = await openLineage(configOf(policy));
    const { process, ref } = lineage;
    await process.ask(ref, 'What burns at station nine?');
    const child = await lineage.fork();
    const view = await process.ask(child, 'And at station ten?');
    expect(view).toMatchObject({ number: 2, item: 3 });
    expect(lineage.lastSent()).toContain('What burns at station nine?');
    expect(lineage.lastSent()).toContain('Answer 1.');
    expect((await process.ask(ref, 'And at station eleven?')).number).toBe(2);
    expect(lineage.lastSent()).not.toContain('station ten');
    await process.ask(child, 'And at station twelve?');
    expect(lineage.lastSent()).toContain('station ten');
    expect(lineage.lastSent()).not.toContain('station eleven');
    await sound(lineage, ref, child);
  });

  it('LIN-01 a fork of a fork of a fork reads what each of them said, and is resumed by another process', async () => {
    const lineage = await openLineage(configOf(policy));
    const line = [lineage.ref];
    for (const place of [1, 2, 3, 4]) {
      const session = line.at(-1) ?? lineage.ref;
      await lineage.process.ask(session, `What is word ${place}?`);
      line.push(await lineage.fork(session));
    }
    const other = lineage.another();
    const view = await other.ask(line.at(-1) ?? lineage.ref, 'What were the words?');
    expect(view).toMatchObject({ number: 5, closed: { outcome: 'completed' } });
    const sent = textOf(other.sent.at(-1));
    for (const place of [1, 2, 3, 4]) expect(sent).toContain(`What is word ${place}?`);
    await sound(lineage, ...line);
  });

  it('LIN-01 LIN-02 fault 18: numbers go on though the other was cleared and carries nothing', async () => {
    const lineage = await openLineage(configOf(policy));
    await lineage.process.ask(lineage.ref, 'What burns at station nine?');
    await clearSession(lineage.engine, lineage.ref);
    const child = await lineage.fork();
    expect(await lineage.process.ask(child, 'Good morning.')).toMatchObject({ number: 2, item: 3 });
    expect(lineage.lastSent()).not.toContain('station nine');
    const grandchild = await lineage.fork(child);
    expect(await lineage.process.ask(grandchild, 'Good evening.')).toMatchObject({ number: 3, item: 5 });
    await sound(lineage, lineage.ref, child, grandchild);
  });

  it('LIN-01 goes on from a session that was archived, which stays archived and as it was', async () => {
    const lineage = await openLineage(configOf(policy));
    const { process, ref, engine } = lineage;
    await process.ask(ref, 'What burns at station nine?');
    await archiveSession(engine, ref);
    const before = await lineage.records();
    const child = await lineage.fork();
    await process.ask(child, 'And at station ten?');
    expect(lineage.lastSent()).toContain('What burns at station nine?');
    expect(await lineage.records()).toEqual(before);
    expect((await refusal(process.accept(ref, 'Hello?'))).code).toBe('session_archived');
    await archiveSession(engine, child);
    expect(await process.ask(await lineage.fork(child), 'Still there?')).toMatchObject({ number: 3 });
  });

  it('LIN-01 fault 7: of a running session has no call without its result, though an edit follows the call', async () => {
    const lineage = await openLineage(configOf(policy), callsWhenAsked);
    const { process, ref } = lineage;
    await process.ask(ref, 'Good morning.');
    const open = await process.accept(ref, 'Call it.');
    await process.run(({ pool }) => pool === 'tool');
    await lineage.evict(ref, 1, 1);
    const child = await lineage.fork();
    const view = await process.ask(child, 'And now?');
    await process.run();
    expect(view).toMatchObject({ number: 3, closed: { outcome: 'completed' } });
    const asked = process.sent.filter((request) => textOf(request).includes('And now?'));
    expect(asked).not.toEqual([]);
    for (const request of asked) {
      expect(callsAnswered(request)).toBeNull();
      expect(textOf(request)).not.toContain('"tool_call"');
      expect(textOf(request)).not.toContain('burns oil');
    }
    expect((await process.view(ref, open)).closed?.outcome).toBe('completed');
    await process.ask(child, 'And then?');
    expect(lineage.lastSent()).not.toContain('burns oil');
    // A plan weighs turns that ended, and no others.
    expect(lineage.lastSent().includes('Call it.')).toBe(policy === 'evict');
    await sound(lineage, ref, child);
  });
});

describe('a fork', () => {
  it('LIN-01 EVT-03 fault 6: has the evictions and the notes of the other as it had them, and makes its own', async () => {
    const lineage = await openLineage(configOf('evict'));
    const { process, ref } = lineage;
    await process.ask(ref, 'What burns at station nine?');
    await process.ask(ref, 'And at station ten?');
    await lineage.evict(ref, 1, 2, 'nine burns oil');
    const child = await lineage.fork();
    await lineage.evict(ref, 3, 4, 'of the other');
    await process.ask(child, 'And at station eleven?');
    expect(lineage.lastSent()).toContain('[evicted #1–#2');
    expect(lineage.lastSent()).toContain('nine burns oil');
    expect(lineage.lastSent()).not.toContain('What burns at station nine?');
    expect(lineage.lastSent()).toContain('And at station ten?');
    expect(lineage.lastSent()).not.toContain('of the other');
    await lineage.evict(child, 1, 4, 'of the fork');
    await process.ask(child, 'And at station twelve?');
    expect(lineage.lastSent()).toContain('[evicted #1–#4');
    expect(lineage.lastSent()).not.toContain('nine burns oil');
  });

  it('LIN-01 fault 8: is one commit of three records, whatever it goes on from, and copies none', async () => {
    const lineage = await openLineage(configOf('plan'));
    for (let turn = 0; turn < 5; turn++) await lineage.process.ask(lineage.ref, `What of ${turn}?`);
    const child = await lineage.fork();
    const records = await lineage.records(child);
    expect(records.map(({ kind }) => kind)).toEqual(['session-created', 'head-created', 'inherited']);
    const link = JSON.parse(records[2]?.body ?? '{}');
    const parent = await lineage.records();
    expect(link.segments).toMatchObject([
      { session: lineage.ref.session, toSeq: parent.length, digest: parent.at(-1)?.digest },
    ]);
    expect(records.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(2_000);
  });

  it('LIN-01 has the settings of the other unless they are replaced', async () => {
    const lineage = await openLineage({ ...configOf('plan'), system: 'Be brief.', locale: 'en-GB' });
    const same = await lineage.fork();
    const config = await lineage.engine.configs.get(lineage.ref);
    expect(await lineage.engine.configs.get(same)).toEqual(config);
    const other = await lineage.fork(lineage.ref, { settings: (from) => ({ ...from, system: 'Be long.' }) });
    expect(await lineage.engine.configs.get(other)).toEqual({ ...config, system: 'Be long.' });
    await lineage.process.ask(other, 'Good morning.');
    expect(lineage.process.sent.at(-1)?.system).toContain('Be long.');
  });

  it('LIN-01 a bad ancestor record fails it by name, and nothing is written', async () => {
    const lineage = await openLineage(configOf('plan'));
    await lineage.process.ask(lineage.ref, 'What burns at station nine?');
    const child = await lineage.fork();
    await lineage.process.ask(child, 'And at station ten?');
    const bad = spoilt(lineage.store, lineage.ref.session, (record) =>
      record.seq === 4 ? { ...record, body: (record.body ?? '').replace('a', 'b') } : record,
    );
    const id = { session: randomUUID(), head: randomUUID() };
    const engine = lineage.engineOver(bad);
    const error = await refusal(forkSession(engine, child, id));
    expect(error.code).toBe('ancestor_unreadable');
    expect(error.details).toMatchObject({ session: lineage.ref.session, record: 4 });
    expect(error.message).toContain(`Record 4 of session ${lineage.ref.session}`);
    expect(await lineage.store.loadSession({ ...child, session: id.session }, null)).toBeNull();
    await forkSession(lineage.engine, child, id);
  });

  it('LIN-01 of what is not there is refused by name: a session, a head, another tenant’s', async () => {
    const lineage = await openLineage(configOf('plan'));
    const id = () => ({ session: randomUUID(), head: randomUUID() });
    const of = (ref: SessionRef, from?: string) =>
      refusal(forkSession(lineage.engine, ref, { ...id(), ...(from === undefined ? {} : { from }) }));
    expect((await of({ ...lineage.ref, session: randomUUID() })).code).toBe('session_not_found');
    expect((await of({ ...lineage.ref, tenant: randomUUID() })).code).toBe('session_not_found');
    const head = await of(lineage.ref, randomUUID());
    expect(head.code).toBe('head_not_found');
    const state = await lineage.store.loadSession(lineage.ref, null);
    expect(head.message).toContain(state?.session.liveHead);
  });

  it('LIN-01 fault 23: under an id that is taken writes nothing: a link is never folded twice', async () => {
    const lineage = await openLineage(configOf('plan'));
    await lineage.process.ask(lineage.ref, 'Good morning.');
    const child = await lineage.fork();
    const before = await lineage.records(child);
    const id = { session: child.session, head: randomUUID() };
    await expect(forkSession(lineage.engine, lineage.ref, id)).rejects.toThrow();
    expect(await lineage.records(child)).toEqual(before);
  });

  it('LIN-01 recalls a turn that was open at the fork as far as it went then, not as it ended', async () => {
    const lineage = await openLineage(configOf('plan'), callsWhenAsked);
    const { process, ref } = lineage;
    await process.accept(ref, 'Call it.');
    await process.run(({ pool }) => pool === 'tool');
    const child = await lineage.fork();
    await process.run();
    const { turnId } = await process.ask(child, 'And now?');
    const recalled = await (await process.memory(child, turnId)).turn({ number: 1 });
    expect(recalled).toMatchObject({ kind: 'closed' });
    expect(JSON.stringify(recalled)).toContain('Call it.');
    expect(JSON.stringify(recalled)).not.toContain('burns oil');
  });
});
