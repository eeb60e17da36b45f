import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { blake3Hex } from '../../../src/ledger/chain.ts';
import { canonicalJson } from '../../../src/ledger/json.ts';
import type { SimModel } from '../../../src/sim/index.ts';
import { until } from '../../support/await.ts';
import { openConversation, type TurnSaid } from '../../support/conversation.ts';
import { openTestStack, type TestStack } from '../../support/stack.ts';
import { measured } from '../../unit/context/gate-sample.ts';

const HORIZON = 2_600;
const MODEL: SimModel = {
  name: 'tight',
  window: 100_000,
  horizon: 100_000,
  tokensPerByte: 0.25,
  maxOutputTokens: 512,
  prefillTokensPerSecond: 5_000,
  decodeTokensPerSecond: 200,
  quantisation: 'Q4',
  supportsImages: false,
};
/** Prefix enough that the cards of forty turns do not fit beside it. */
const SYSTEM = 'Answer in one sentence. '.repeat(260);

const turn = (n: number): TurnSaid => ({
  asked: `What was written in the log of boat ${n} on the day it came back from the yard?`,
  answer: `In the log of boat ${n} stands that it came back on day ${n} and that its planks were dry.`,
});

interface Told {
  readonly kind: string;
  readonly data: { readonly [member: string]: unknown };
}

const ofKind = (records: readonly Told[], kind: string) => records.filter((record) => record.kind === kind);
const summaries = (records: readonly Told[]) =>
  ofKind(records, 'work-receipt').filter(({ data }) => data.purpose === 'summary');

describe('packets, through the whole stack', () => {
  let stack: TestStack;
  beforeAll(async () => {
    stack = await openTestStack({ backend: 'postgres', models: [MODEL] });
    await stack.sql(
      `INSERT INTO turnwright.capacity_profiles (provider, endpoint_digest, model, quantisation, profile, version)
       VALUES ('openai', $1, $2, '', $3, 1)`,
      [blake3Hex(`${stack.sim.url}/v1`), MODEL.name, canonicalJson(measured(HORIZON))],
    );
    await stack.worker();
  });
  afterAll(() => stack.close());

  async function session(turns: number) {
    const config = { leg: MODEL.name, tools: ['recall'], system: SYSTEM };
    const { ref, write } = await openConversation(stack.producer.engine, stack.tenant, config);
    await write(Array.from({ length: turns }, (_, at) => turn(at + 1)));
    return ref;
  }

  const packets = (ref: { readonly session: string }) =>
    stack.sql<{ from: number; to: number; quality: string }>(
      'SELECT from_turn AS "from", to_turn AS "to", quality FROM turnwright.packets WHERE session_id = $1 ORDER BY seq',
      [ref.session],
    );

  it('PLN-02 a range is summarised once: the turn that wants it waits, the next one finds it', async () => {
    const ref = await session(30);
    const first = await stack.ask(ref, 'Good morning to you.');
    const records = await stack.records(ref, first.turn);
    expect(first).toMatchObject({ outcome: 'completed', reason: 'answered' });
    expect(summaries(records).length).toBeGreaterThan(0);
    const [plan] = ofKind(records, 'context-plan');
    expect(plan?.data).toMatchObject({ degraded: false, packet: { quality: 'model' } });
    const stored = await packets(ref);
    const ranges = stored.map(({ from, to }) => `${from}-${to}`);
    expect(new Set(ranges).size).toBe(ranges.length);

    const second = await stack.ask(ref, 'Good evening to you.');
    const later = await stack.records(ref, second.turn);
    expect(summaries(later)).toEqual([]);
    expect(ofKind(later, 'context-plan')[0]?.data.packet).toMatchObject({ quality: 'model' });
  });

  it('PLN-02 F14 a summariser that fails is asked once, the turn says that it is degraded, and the next one tries again', async () => {
    const ref = await session(30);
    // A packet that is still written beside the turns of another session would meet the fault.
    await until(
      'nothing else is summarised',
      async () => (await stack.sql(`SELECT 1 FROM turnwright.actors WHERE status = 'active'`)).length === 0,
    );
    stack.sim.setFaults([{ match: { model: MODEL.name, count: 1 }, fault: { name: 'server_error' } }]);
    const first = await stack.ask(ref, 'Good morning to you.');
    stack.sim.setFaults([]);
    expect(first).toMatchObject({ outcome: 'degraded', reason: 'degraded_summary' });
    const records = await stack.records(ref, first.turn);
    expect(ofKind(records, 'compaction-failed').map(({ data }) => data.purpose)).toEqual(['packet']);
    expect(summaries(records)).toHaveLength(1);
    expect(ofKind(records, 'context-plan')[0]?.data).toMatchObject({
      degraded: true,
      packet: { quality: 'deterministic', seq: null },
    });
    const second = await stack.ask(ref, 'Good evening to you.');
    expect(second).toMatchObject({ outcome: 'completed', reason: 'answered' });
    const later = ofKind(await stack.records(ref, second.turn), 'context-plan');
    expect(later.at(-1)?.data.packet).toMatchObject({ quality: 'model' });
  });

  it('PLN-02 a chain longer than four batches is not waited for: the packet is made from cards and the rest goes on behind', async () => {
    const ref = await session(80);
    const first = await stack.ask(ref, 'Good morning to you.');
    expect(first).toMatchObject({ outcome: 'completed', reason: 'answered' });
    const records = await stack.records(ref, first.turn);
    expect(summaries(records)).toEqual([]);
    expect(ofKind(records, 'context-plan')[0]?.data).toMatchObject({
      degraded: false,
      packet: { quality: 'deterministic' },
    });
    const wanted = Number(Object(ofKind(records, 'context-plan')[0]?.data.packet).to);
    await until(
      'the packet was built behind the turns',
      async () => (await packets(ref)).at(-1)?.to === wanted,
    );
    const second = await stack.ask(ref, 'Good evening to you.');
    const later = await stack.records(ref, second.turn);
    expect(summaries(later)).toEqual([]);
    expect(ofKind(later, 'context-plan')[0]?.data.packet).toMatchObject({ quality: 'model', to: wanted });
    expect(await stack.verify(ref)).toMatchObject({ ok: true });
  });
});
