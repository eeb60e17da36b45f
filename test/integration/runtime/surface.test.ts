/** A session whose tools wait until they are found, on the whole stack. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { MACHINES } from '../../../src/machines/registry.ts';
import { RequestBuilder } from '../../../src/runtime/request.ts';
import { rebuildSent } from '../../../src/runtime/sent-request.ts';
import { SessionConfigs } from '../../../src/runtime/sessions.ts';
import { verifySession } from '../../../src/runtime/verify-session.ts';
import { defineTool } from '../../../src/tools/define.ts';
import { openTestStack, type TestStack } from '../../support/stack.ts';
import type { Data } from '../../support/stack-contract.ts';

const GREETING = 'Good morning to you.';
const ASKS = 'How deep is the water at the quay by the sounding of the Petrel?';
const SAID = 'The sounding of the Petrel says that the water at the quay is 7 fathoms deep.';

const sounding = defineTool({
  name: 'quay_sounding',
  description: 'Reports how deep the water at the quay is, by the sounding of a boat.',
  input: z.strictObject({}),
  effect: 'read',
  deferred: true,
  run: async () => SAID,
});
const idle = defineTool({
  name: 'paint_buoy',
  description: 'Paints a buoy in a colour.',
  input: z.strictObject({ colour: z.string().describe('A colour such as vermilion.') }),
  effect: 'once',
  deferred: true,
  run: async () => 'It is painted.',
});

describe('a session whose tools wait', () => {
  let stack: TestStack;

  beforeAll(async () => {
    stack = await openTestStack({ backend: 'postgres', tools: [sounding, idle] });
    await stack.worker();
  });
  afterAll(() => stack.close());

  it('SUR-01 F20 finds one in mid-turn, is sent it from the next step on, and has it in a later turn', async () => {
    const session = await stack.session();
    const end = await stack.ask(session, ASKS);
    expect(end).toMatchObject({ outcome: 'completed' });
    expect(end.answer).toContain('7 fathoms');
    const records = await stack.records(session, end.turn);
    const bodies = (kind: string): readonly Data[] =>
      records.filter((record) => record.kind === kind).map(({ data }) => data);
    expect(bodies('surface-grown')).toMatchObject([{ by: 'found', tools: ['quay_sounding'] }]);
    const [change] = bodies('prefix-changed');
    expect(change).toMatchObject({ part: 'tool quay_sounding' });
    expect(Number(change?.bytes)).toBeGreaterThan(0);
    expect(bodies('misread')).toMatchObject([{ tool: 'quay_sounding' }]);

    const sent = await requestsOf(session, end.turn, records);
    expect(sent.map((one) => one?.same)).toEqual(sent.map(() => true));
    const names = sent.map((one) => one?.rebuilt?.request.tools.map(({ name }) => name) ?? []);
    expect(names[0]).not.toContain('quay_sounding');
    expect(names.at(-1)).toEqual([...(names[0] ?? []), 'quay_sounding']);
    for (const one of sent) {
      expect(one?.rebuilt?.request.system).toContain('\npaint_buoy — Paints a buoy in a colour.\n');
      expect(JSON.stringify(one?.rebuilt?.request)).not.toContain('vermilion');
    }

    const at = { store: stack.producer.store, registry: MACHINES };
    expect(await verifySession(at, session)).toMatchObject({ chain: { ok: true }, broken: null });

    const later = await stack.ask(session, GREETING);
    const [plan] = (await stack.records(session, later.turn)).filter(({ kind }) => kind === 'context-plan');
    expect(plan?.data).toMatchObject({ prefixDigest: change?.to });
    expect(plan?.data.loaded).toContain('quay_sounding');
    expect(await stack.verify(session)).toMatchObject({ ok: true });
  });

  /** Every step of the turn, made again by a process that sent none of them. */
  async function requestsOf(
    session: Awaited<ReturnType<TestStack['session']>>,
    turn: string,
    records: Awaited<ReturnType<TestStack['records']>>,
  ) {
    const { store, planning, turns } = stack.open();
    const deps = {
      store,
      requests: new RequestBuilder(planning, turns),
      configs: new SessionConfigs(store),
    };
    const head = (await store.loadSession(session, null))?.session.liveHead ?? '';
    const steps = records.filter(({ kind, data }) => kind === 'work-receipt' && data.purpose === 'step');
    return Promise.all(
      steps.map(({ data }) => rebuildSent(deps, session, { turn, head }, Number(data.step))),
    );
  }
});
