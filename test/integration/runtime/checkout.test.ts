/** Heads of a session: back to an earlier turn, and to a head that there is, over either store. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PostgresProfiles } from '../../../src/db/profiles.ts';
import { PostgresStore } from '../../../src/db/store.ts';
import { PostgresUpkeep } from '../../../src/db/upkeep.ts';
import { POLICIES } from '../../../src/ledger/kinds.ts';
import { MACHINES } from '../../../src/machines/registry.ts';
import { type Anchor, checkOut } from '../../../src/runtime/checkout.ts';
import { clearSession } from '../../../src/runtime/clear.ts';
import { verifySession } from '../../../src/runtime/verify-session.ts';
import { openConversation } from '../../support/conversation.ts';
import { call, configOf, recordsOf, say, textOf } from '../../support/lineage.ts';
import { memoryParts, openProcess, type ProcessOptions, type Scripted } from '../../support/one-process.ts';
import { sayingTool } from '../../support/tools.ts';
import { migratedDatabase } from '../db/migrated.ts';

type Parts = Pick<ProcessOptions, 'store' | 'upkeep' | 'profiles'>;
interface Under {
  readonly parts: Parts;
  readonly newTenant: () => Promise<string>;
  readonly close: () => Promise<void>;
}

const STORES: Readonly<Record<string, () => Promise<Under>>> = {
  memory: () =>
    Promise.resolve({
      parts: memoryParts(),
      newTenant: () => Promise.resolve(randomUUID()),
      close: () => Promise.resolve(),
    }),
  Postgres: async () => {
    const { app, upkeep, newTenant, close } = await migratedDatabase();
    const parts = {
      store: new PostgresStore(app),
      upkeep: new PostgresUpkeep(upkeep),
      profiles: new PostgresProfiles(app),
    };
    return { parts, newTenant, close };
  },
};
const CASES = Object.keys(STORES).flatMap((store) => POLICIES.map((policy) => ({ store, policy })));

describe.each(CASES)('heads over $store, under $policy', ({ store: name, policy }) => {
  let under: Under;
  beforeAll(async () => {
    under = (await (STORES[name] ?? STORES['memory'])?.()) as Under;
  });
  afterAll(() => under.close());

  async function open(reply: (at: number) => Scripted = (at) => say(`Answer ${at}.`)) {
    const options: ProcessOptions = {
      ...under.parts,
      reply: (_, at) => reply(at),
      tools: [sayingTool('report', 'Reports.', 'The lamp of station nine burns oil.')],
    };
    const process = openProcess(options);
    const { ref, head } = await openConversation(process.engine, await under.newTenant(), configOf(policy));
    const { store } = under.parts;
    const check = async () => {
      expect(process.errors).toEqual([]);
      const verdict = await verifySession({ store, registry: MACHINES }, ref);
      expect(verdict).toMatchObject({ chain: { ok: true }, broken: null });
    };
    return {
      process,
      ref,
      head,
      check,
      another: () => openProcess(options),
      checkOut: (anchor: Anchor) => checkOut(process.engine, ref, anchor, randomUUID()),
      lastSent: () => textOf(process.sent.at(-1)),
    };
  }

  it('LIN-02 back to an earlier turn a session goes on from there: nothing later is carried, and no number is given again', async () => {
    const { process, ref, check, checkOut: go, lastSent, another } = await open();
    for (const word of ['one', 'two', 'three']) await process.ask(ref, `The word is ${word}.`);
    const { head, moved, cancelled } = await go({ back: 2 });
    expect({ moved, cancelled }).toEqual({ moved: true, cancelled: [] });
    const view = await process.ask(ref, 'The word is four.');
    expect(view).toMatchObject({ number: 4, item: 7 });
    expect(lastSent()).toContain('The word is one.');
    expect(lastSent()).not.toMatch(/word is (?:two|three)/u);
    const other = another();
    await other.ask(ref, 'The word is five.');
    const sent = textOf(other.sent.at(-1));
    expect(sent).toMatch(/word is one.*word is four/su);
    expect(sent).not.toMatch(/word is (?:two|three)/u);
    expect((await under.parts.store.loadSession(ref, null))?.session.liveHead).toBe(head);
    await check();
  });

  it('HED-01 writes as much in a long session as in a short one, and copies nothing', async () => {
    const written = async (turns: number) => {
      const { process, ref, check, checkOut: go } = await open(() => say('So it is.'));
      for (let at = 0; at < turns; at++) await process.ask(ref, 'Is it so?');
      const { store } = under.parts;
      const before = await recordsOf(store, ref);
      await go({ back: 2 });
      const made = (await recordsOf(store, ref)).slice(before.length);
      const state = await store.sessionState(ref);
      await check();
      return {
        kinds: made.map(({ kind }) => kind),
        // Numbers take more digits in a longer session.
        bodies: made.map(({ body }) => (body ?? '').replaceAll(/:\d+/gu, ':0').length),
        rows: [state?.heads.length, state?.segments.length, state?.turns.length],
      };
    };
    const short = await written(3);
    expect(short.kinds).toEqual(['head-created', 'head-moved']);
    expect(await written(30)).toEqual({ ...short, rows: [2, 1, 30] });
  });

  it('LIN-02 a head that was left goes on as it stood, and what the other said meanwhile is not its own', async () => {
    const { process, ref, head, check, checkOut: go, lastSent } = await open();
    for (const word of ['one', 'two']) await process.ask(ref, `The word is ${word}.`);
    await go({ turn: 1 });
    await process.ask(ref, 'The word is three.');
    expect(await go({ head })).toMatchObject({ head, moved: true });
    expect(await go({ head })).toMatchObject({ head, moved: false });
    expect(await process.ask(ref, 'The word is four.')).toMatchObject({ number: 4, item: 7 });
    expect(lastSent()).toMatch(/word is one.*word is two/su);
    expect(lastSent()).not.toContain('word is three');
    await go({ turn: 2 });
    await process.ask(ref, 'The word is five.');
    expect(lastSent()).toMatch(/word is one.*word is two/su);
    expect(lastSent()).not.toMatch(/word is (?:three|four)/u);
    await check();
  });

  it('LIN-02 fault 19: what was taken back is not to be read any more, neither its results nor by its number', async () => {
    const {
      process,
      ref,
      check,
      checkOut: go,
    } = await open((at) => (at === 2 ? call('report') : say('So it is.')));
    await process.ask(ref, 'Good morning.');
    const { turnId } = await process.ask(ref, 'What does the report say?');
    const { store } = under.parts;
    expect(await store.evidence(ref, 1)).toContain('station nine');
    await go({ back: 1 });
    expect(await store.evidence(ref, 1)).toBeNull();
    expect(await store.evidenceIds(ref, 9)).toEqual([]);
    const after = await process.ask(ref, 'Good evening.');
    const memory = await process.memory(ref, after.turnId);
    expect(await memory.turn({ number: 2 })).toBeNull();
    expect(await memory.turn({ id: turnId })).toBeNull();
    expect(await memory.turn({ number: 1 })).toMatchObject({ kind: 'closed' });
    expect((await recordsOf(store, ref)).some((record) => record.turnId === turnId)).toBe(true);
    await check();
  });

  it('LIN-02 fault 19: a turn that runs is cancelled first, and its late result changes nothing', async () => {
    const {
      process,
      ref,
      check,
      checkOut: go,
      lastSent,
    } = await open((at) => (at === 2 ? call('report') : say('So it is.')));
    await process.ask(ref, 'Good morning.');
    const turn = await process.accept(ref, 'What does the report say?');
    const waits = await process.accept(ref, 'And then?');
    await process.run(({ pool }) => pool === 'tool');
    const [late] = process.waiting;
    const { cancelled } = await go({ turn: 1 });
    expect(cancelled).toEqual([turn, waits]);
    if (late !== undefined) await process.perform(late);
    expect((await process.view(ref, turn)).closed).toMatchObject({ outcome: 'cancelled' });
    await process.ask(ref, 'Good evening.');
    expect(lastSent()).not.toMatch(/report say|And then/u);
    await check();
  });

  it('LIN-02 goes back to before the first turn, and over a clear no further than the clear', async () => {
    const { process, ref, check, checkOut: go, lastSent } = await open();
    await process.ask(ref, 'The word is one.');
    await clearSession(process.engine, ref);
    await process.ask(ref, 'The word is two.');
    await expect(go({ turn: 1 })).rejects.toMatchObject({ code: 'turn_not_found' });
    await expect(go({ back: 2 })).rejects.toMatchObject({ code: 'turn_not_found' });
    await expect(go({ head: randomUUID() })).rejects.toMatchObject({ code: 'head_not_found' });
    await go({ back: 1 });
    expect(await process.ask(ref, 'The word is three.')).toMatchObject({ number: 3, item: 5 });
    expect(lastSent()).not.toMatch(/word is (?:one|two)/u);
    await go({ turn: 0 });
    await process.ask(ref, 'The word is four.');
    expect(lastSent()).not.toContain('word is three');
    await check();
  });
});
