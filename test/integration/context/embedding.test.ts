import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLogger } from '../../../src/app/logger.ts';
import { openServices, type Services } from '../../../src/app/services.ts';
import { startWorkers } from '../../../src/app/worker-host.ts';
import type { SessionRef } from '../../../src/db/contract.ts';
import { blake3Hex } from '../../../src/ledger/chain.ts';
import { canonicalJson } from '../../../src/ledger/json.ts';
import type { BodyOf } from '../../../src/ledger/kinds.ts';
import { MACHINES } from '../../../src/machines/registry.ts';
import { dryPlan } from '../../../src/runtime/dry-plan.ts';
import { rebuildSession } from '../../../src/runtime/rebuild.ts';
import { verifySession } from '../../../src/runtime/verify-session.ts';
import type { SimModel } from '../../../src/sim/index.ts';
import { until } from '../../support/await.ts';
import { openConversation, type TurnSaid } from '../../support/conversation.ts';
import { openTestStack, type TestStack } from '../../support/stack.ts';
import { measured } from '../../unit/context/gate-sample.ts';

const HORIZON = 2_200;
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
const PLACER: SimModel = { ...MODEL, name: 'placer' };
/** The discard port, where nothing listens. */
const NOBODY = 'http://127.0.0.1:9/v1';

/** The same subject, and not one word in common. */
const NEAR: TurnSaid = {
  asked: 'Photosynthesising chloroplasts?',
  answer: 'Photosynthesised chloroplastic.',
};
const DIRECTIVE = 'Photosynthetically chloroplasty!';
const TURNS = 24;

const boat = (n: number): TurnSaid => ({
  asked: `What stands in the log of boat ${n} of the day it came back from the yard?`,
  answer: `In the log of boat ${n} stands that it came back on day ${n}. ${'Its planks were dry. '.repeat(12)}`,
});

type Plan = BodyOf<'context-plan'>;
const fidelityOf = ({ runs }: Pick<Plan, 'runs'>, number: number) =>
  runs.find(({ from, to }) => from <= number && number <= to)?.fidelity;

describe('an embedding leg, through the whole stack', () => {
  let stack: TestStack;
  beforeAll(async () => {
    stack = await openTestStack({ backend: 'postgres', models: [MODEL, PLACER] });
    await stack.sql(
      `INSERT INTO turnwright.capacity_profiles (provider, endpoint_digest, model, quantisation, profile, version)
       VALUES ('openai', $1, $2, '', $3, 1)`,
      [blake3Hex(`${stack.sim.url}/v1`), MODEL.name, canonicalJson(measured(HORIZON))],
    );
  });
  afterAll(() => stack.close());

  /** A worker of the deployment while `work` runs; `leg` null configures none. */
  async function withWorker<T>(leg: string | null, work: (services: Services) => Promise<T>): Promise<T> {
    const { config } = stack.producer;
    const [first] = config.legs;
    if (first === undefined) throw new Error('the stack has no leg');
    const legs = [...config.legs, { ...first, name: 'down', model: 'down', baseUrl: NOBODY }];
    const services = openServices(
      {
        ...config,
        databaseUrl: stack.databaseUrl,
        legs,
        ...(leg === null ? {} : { embeddings: { leg } }),
        pricing: { [PLACER.name]: { inputPerMillion: 1_000, outputPerMillion: 0 } },
      },
      createLogger({ level: 'silent', secrets: [] }),
    );
    const host = await startWorkers(services);
    try {
      return await work(services);
    } finally {
      await host.drain(0);
      await services.close();
    }
  }

  /** The first turn is the near one. */
  async function session() {
    const config = { leg: MODEL.name, tools: ['recall'], system: 'Answer in one sentence.' };
    const { ref, write } = await openConversation(stack.producer.engine, stack.tenant, config);
    await write([NEAR, ...Array.from({ length: TURNS }, (_, at) => boat(at + 2))]);
    return ref;
  }

  const placed = (ref: SessionRef) =>
    stack.sql<{ number: number; model: string }>(
      `SELECT t.number, v.model FROM turnwright.turn_vectors v JOIN turnwright.turns t USING (tenant_id, session_id, turn_id)
        WHERE v.session_id = $1 ORDER BY t.number, v.model`,
      [ref.session],
    );

  const receipts = async (ref: SessionRef) =>
    (await stack.records(ref))
      .filter(({ kind, data }) => kind === 'work-receipt' && data.purpose === 'embedding')
      .map(({ data }) => data as unknown as BodyOf<'work-receipt'>);

  /** The plan of a turn that asks, once every closed turn before it is placed. */
  async function planOf(ref: SessionRef, text: string): Promise<Plan> {
    const asked = await stack.ask(ref, text);
    expect(asked.outcome).toBe('completed');
    const records = await stack.records(ref, asked.turn);
    const plans = records.filter(({ kind }) => kind === 'context-plan');
    return plans.at(-1)?.data as unknown as Plan;
  }

  async function allPlaced(ref: SessionRef, turns: number): Promise<void> {
    await until(`${turns} turns are placed`, async () => (await placed(ref)).length === turns);
  }

  it('PLN-07 makes a turn whole that shares no word with the directive; without it the turn is a card', async () => {
    const [ref, bare] = [await session(), await session()];
    const plan = await withWorker(PLACER.name, async () => {
      await stack.ask(ref, 'Good morning to you.');
      await allPlaced(ref, TURNS + 2);
      return planOf(ref, DIRECTIVE);
    });
    expect(fidelityOf(plan, 1)).toBe('full');
    expect(plan.promoted).toEqual([{ number: 1, by: 'relevance', value: expect.any(Number) }]);
    const without = await withWorker(null, async () => {
      await stack.ask(bare, 'Good morning to you.');
      return planOf(bare, DIRECTIVE);
    });
    expect(fidelityOf(without, 1)).toBe('card');
    expect(without.promoted).toEqual([]);
    expect(await placed(bare)).toEqual([]);
    const { store } = stack.producer;
    expect(await verifySession({ store, registry: MACHINES }, ref)).toMatchObject({
      chain: { ok: true },
      broken: null,
    });
  });

  it('PLN-07 that is down changes nothing: the turn completes on the plan it would have had', async () => {
    const [ref, bare] = [await session(), await session()];
    await withWorker(PLACER.name, async () => {
      for (const one of [ref, bare]) {
        await stack.ask(one, 'Good morning to you.');
        await allPlaced(one, TURNS + 2);
      }
    });
    // Places of the model that is down, so that the plan asks it.
    await stack.sql(`UPDATE turnwright.turn_vectors SET model = 'down' WHERE session_id = $1`, [ref.session]);
    const plan = await withWorker('down', () => planOf(ref, DIRECTIVE));
    const without = await withWorker(null, () => planOf(bare, DIRECTIVE));
    expect({ runs: plan.runs, promoted: plan.promoted, packet: plan.packet }).toEqual({
      runs: without.runs,
      promoted: without.promoted,
      packet: without.packet,
    });
    expect(fidelityOf(plan, 1)).toBe('card');
    const asked = (await receipts(ref)).filter(({ leg }) => leg === 'down');
    expect(asked).toMatchObject([{ child: 'directive', settlement: 'network', usage: null, microUsd: null }]);
  });

  it('PLN-07 catches up with turns that closed while nobody placed them', async () => {
    const ref = await session();
    await withWorker(null, () => stack.ask(ref, 'Good morning to you.'));
    expect(await placed(ref)).toEqual([]);
    await withWorker(PLACER.name, async () => {
      await stack.ask(ref, 'Good evening to you.');
      await allPlaced(ref, TURNS + 3);
    });
  });

  it('PLN-07 is not misled by what another model placed', async () => {
    const ref = await session();
    await withWorker(PLACER.name, async () => {
      await stack.ask(ref, 'Good morning to you.');
      await allPlaced(ref, TURNS + 2);
    });
    await stack.sql(`UPDATE turnwright.turn_vectors SET model = 'another' WHERE session_id = $1`, [
      ref.session,
    ]);
    const plan = await withWorker(PLACER.name, () => planOf(ref, DIRECTIVE));
    expect(fidelityOf(plan, 1)).toBe('card');
  });

  it('PLN-07 LED-03 leaves places that are rebuilt from their records, every row of them', async () => {
    const ref = await session();
    await withWorker(PLACER.name, async () => {
      await stack.ask(ref, 'Good morning to you.');
      await allPlaced(ref, TURNS + 2);
    });
    const { store, upkeep } = stack.producer;
    const rebuild = () => rebuildSession({ store, upkeep, registry: MACHINES }, ref);
    const stored = await store.sessionState(ref);
    expect(stored?.vectors).toHaveLength(TURNS + 2);
    expect((await rebuild()).differences.filter(({ table }) => table === 'turn_vectors')).toEqual([]);
    await stack.sql('DELETE FROM turnwright.turn_vectors WHERE session_id = $1', [ref.session]);
    const rebuilt = await rebuild();
    expect(rebuilt.restored).toBe(true);
    expect(new Set(rebuilt.differences.map(({ table }) => table))).toEqual(new Set(['turn_vectors']));
    expect((await store.sessionState(ref))?.vectors).toEqual(stored?.vectors);
  });

  it('PLN-07 is receipted and priced like every call: for the turns it placed and for each directive', async () => {
    const ref = await session();
    await withWorker(PLACER.name, async () => {
      await stack.ask(ref, 'Good morning to you.');
      await allPlaced(ref, TURNS + 2);
      await planOf(ref, DIRECTIVE);
      await allPlaced(ref, TURNS + 3);
    });
    const written = await receipts(ref);
    expect(written.map(({ child }) => child)).toEqual(['turns', 'directive', 'turns']);
    const tokens = written.reduce((sum, { usage }) => sum + (usage?.inputTokens ?? 0), 0);
    expect(tokens).toBeGreaterThan(0);
    const [usage] = await stack.sql(
      `SELECT leg, calls::int, input_tokens::int AS input, output_tokens::int AS output, priced::int, micro_usd::int AS usd
        FROM turnwright.usage WHERE session_id = $1 AND purpose = 'embedding'`,
      [ref.session],
    );
    expect(usage).toEqual({
      leg: PLACER.name,
      calls: 3,
      input: tokens,
      output: 0,
      priced: 3,
      usd: 1_000 * tokens,
    });
  });

  it('PLN-07 shapes a dry plan as it shapes the turn, and leaves its receipt', async () => {
    const ref = await session();
    await withWorker(PLACER.name, async (services) => {
      await stack.ask(ref, 'Good morning to you.');
      await allPlaced(ref, TURNS + 2);
      const { engine, planning, surface, legProfiles: profiles, config } = services;
      const leg = config.legs.find(({ name }) => name === MODEL.name);
      if (leg === undefined) throw new Error('the leg is gone');
      const deps = { engine, planning, surface, profiles, configs: engine.configs };
      const { plan } = await dryPlan(deps, ref, { text: DIRECTIVE, leg });
      expect(plan.promoted.map(({ number }) => number)).toEqual([1]);
      await until('the receipt is written', async () =>
        (await receipts(ref)).some(({ child }) => child === 'directive'),
      );
    });
  });
});
