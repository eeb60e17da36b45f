import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Config } from '../../../src/app/config.ts';
import type { SessionRef } from '../../../src/db/contract.ts';
import type { Json } from '../../../src/ledger/json.ts';
import type { Reading } from '../../../src/ledger/reading.ts';
import type { Leg } from '../../../src/providers/contract.ts';
import type { SimModel, Simulator } from '../../../src/sim/index.ts';
import { until } from '../../support/await.ts';
import { openAiDialect, type Script, WireServer, whole } from '../../support/wire-server.ts';
import { hosted, LegWorld, legTo } from './leg-process.ts';

const MODEL: SimModel = {
  name: 'first',
  window: 32_768,
  horizon: 30_000,
  tokensPerByte: 0.25,
  maxOutputTokens: 1_024,
  prefillTokensPerSecond: 4_000,
  decodeTokensPerSecond: 100,
  quantisation: 'none',
  supportsImages: false,
};
const MODELS = ['first', 'second'].map((name) => ({ ...MODEL, name }));
const PRICE = { inputPerMillion: 3, outputPerMillion: 15 };
/** Its words name no act. */
const UNCLEAR = 'The harbour and the tide.';
const INTENT = { escalate: true, legs: 'any', maxClassifyMicroUsd: 10_000 } as const;

let world: LegWorld;
let wire: WireServer;
beforeEach(async () => {
  wire = await WireServer.start();
  world = await LegWorld.open();
});
afterEach(async () => {
  await world.close();
  await wire.close();
});

/** A process whose classifier is the leg `second`. */
async function start(legs: readonly Leg[], intent: Partial<Config['intent']> = {}): Promise<void> {
  const probe = { ...world.stack.producer.config.probe, local: 'off', hosted: 'off' } as const;
  await world.process(legs, { probe, sideLegs: { intent: 'second' }, intent: { ...INTENT, ...intent } });
}

const simLegs = (sim: Simulator, change: Partial<Leg> = {}) => [
  legTo(sim, 'first'),
  legTo(sim, 'second', change),
];
/** The classifier answers what the test says; the turn itself runs on the simulator. */
const scriptedLegs = (sim: Simulator) => [
  legTo(sim, 'first'),
  legTo(sim, 'second', { baseUrl: `${wire.url}/v1` }),
];
const says = (args: Json): Script =>
  whole(openAiDialect.calls([{ id: 'call-1', name: 'record_reading', args: JSON.stringify(args) }]));

async function readings(ref: SessionRef, turn: string): Promise<readonly Reading[]> {
  return world.bodies(ref, 'reading', turn);
}

/** Why the reading was not made; null where it was. */
async function intentError(turn: string): Promise<string | null> {
  const rows = await world.stack.sql<{ last_error: string | null }>(
    `SELECT last_error FROM turnwright.side_calls WHERE src = 'intent' AND actor_id = $1`,
    [turn],
  );
  if (rows.length !== 1) throw new Error(`turn ${turn} has ${rows.length} calls of a classifier`);
  return rows[0]?.last_error ?? null;
}

const intentCalls = (sim: Simulator) => sim.calls().filter(({ model }) => model === 'second').length;

describe('a directive that its words leave unclear', () => {
  it('INT-02 is read by a job of the intent pool, and the reading is recorded', async () => {
    const sim = await world.sim(MODELS);
    await start(simLegs(sim));
    const ref = await world.session('first');
    const { turn, outcome } = await world.ask(ref, UNCLEAR, { escalate: true });
    expect(outcome).toBe('completed');
    const [lexical, classified] = await readings(ref, turn);
    expect(lexical?.source).toBe('lexical');
    expect(classified?.source).toBe('classifier');
    expect(classified?.confidence).toBeGreaterThan(lexical?.confidence ?? 1);
    const jobs = world.stack.admitted.filter(({ actor }) => actor === turn).map(({ child }) => child);
    expect(jobs).toContain('intent-1');
    const [receipt] = await world.bodies(ref, 'work-receipt', turn);
    expect(receipt).toMatchObject({ purpose: 'intent', leg: 'second', settlement: 'answered' });
  });

  it('INT-02 is shown with the directives before it, and with nothing of the turns themselves', async () => {
    wire.script(
      says({
        act: 'modify',
        domains: ['vcs', 'moon'],
        stakes: 'high',
        evidence: 'verified',
        confidence: 0.9,
      }),
    );
    await start(scriptedLegs(await world.sim(MODELS)));
    const ref = await world.session('first', { system: 'You are a harbour master.' });
    const first = await world.ask(ref, 'List the piers of the northern harbour.');
    const { turn } = await world.ask(ref, UNCLEAR, { escalate: true });
    const { messages, tools, ...body } = wire.last().body as {
      readonly messages: readonly { readonly role: string; readonly content: unknown }[];
      readonly tools: readonly unknown[];
    };
    expect(tools).toHaveLength(1);
    expect(body).toMatchObject({ max_tokens: 220 });
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user']);
    const sent = JSON.stringify(messages);
    expect(sent).toContain('List the piers of the northern harbour.');
    expect(sent).toContain(UNCLEAR);
    expect(sent).not.toContain('harbour master');
    expect(first.answer).not.toBeNull();
    expect(sent).not.toContain(JSON.stringify(first.answer).slice(1, -1));
    const [lexical, classified] = await readings(ref, turn);
    expect(classified).toMatchObject({
      act: 'modify',
      stakes: 'high',
      evidence: 'verified',
      confidence: 0.9,
    });
    expect(classified?.domains).toEqual(expect.arrayContaining([...(lexical?.domains ?? []), 'vcs']));
    expect(classified?.domains).not.toContain('moon');
  });

  it('INT-02 keeps the stakes and the evidence that its words gave it, whatever a classifier says', async () => {
    wire.script(says({ act: 'answer', domains: [], stakes: 'low', evidence: 'plain', confidence: 1 }));
    const sim = await world.sim(MODELS);
    const ref = await world.session('first');
    const asked = world.ask(ref, UNCLEAR, { escalate: true });
    const careful: Reading = {
      source: 'lexical',
      version: 1,
      act: 'operate',
      domains: ['live-data'],
      stakes: 'high',
      evidence: 'sourced',
      confidence: 0.3,
    };
    const accepted = await until('the turn is accepted', async () =>
      (await world.stack.records(ref)).find(({ kind }) => kind === 'reading'),
    );
    const turnId = accepted.turnId ?? '';
    await world.stack.producer.engine.append({ ...ref, actor: turnId }, [
      { kind: 'reading', turnId, body: careful },
    ]);
    await start(scriptedLegs(sim));
    const { turn } = await asked;
    expect((await readings(ref, turn)).at(-1)).toEqual({
      ...careful,
      source: 'classifier',
      act: 'answer',
      alternates: ['operate'],
      confidence: 1,
    });
  });
});

describe('a classifier that fails', () => {
  async function fallsOpen(ref: SessionRef): Promise<string | null> {
    const { turn, outcome } = await world.ask(ref, UNCLEAR, { escalate: true });
    expect(outcome).toBe('completed');
    expect((await readings(ref, turn)).map(({ source }) => source)).toEqual(['lexical']);
    return intentError(turn);
  }

  it('INT-02 by hanging holds the turn for ten seconds, and no longer', async () => {
    const sim = await world.sim(MODELS);
    sim.setFaults([{ match: { model: 'second' }, fault: { name: 'hang' } }]);
    await start(simLegs(sim));
    expect(await fallsOpen(await world.session('first'))).toMatch(/^not_classified: /u);
    expect(intentCalls(sim)).toBe(1);
  });

  it.each([
    [
      'F43 by thinking until its tokens are spent',
      whole(openAiDialect.thinking('They may mean the sea, or', '')),
      /no reading/u,
    ],
    [
      'by answering the directive',
      whole(openAiDialect.text(['The tide is in.'], { fresh: 1, cacheRead: 0, cacheWrite: 0, output: 1 })),
      /no reading/u,
    ],
    ['by an act it made up', says({ act: 'dance' }), /no reading/u],
    ['by an error', { status: 500 }, /^not_classified: /u],
  ])('INT-02 %s leaves the reading of the words, with a note', async (_, script, note) => {
    wire.script(script);
    await start(scriptedLegs(await world.sim(MODELS)));
    expect(await fallsOpen(await world.session('first'))).toMatch(note);
    expect(wire.received).toHaveLength(1);
  });

  it.each([
    ['takes a key', (sim: Simulator) => simLegs(sim, { apiKeyEnv: 'TURNWRIGHT_TEST_KEY' })],
    ['is elsewhere', (sim: Simulator) => simLegs(sim, { baseUrl: hosted(sim) })],
  ])('INT-02 "local" never asks a leg that %s', async (_, legs) => {
    const sim = await world.sim(MODELS);
    await start(legs(sim), { legs: 'local' });
    expect(await fallsOpen(await world.session('first'))).toMatch(
      /^not_classified: leg "second" is not local/u,
    );
    expect(intentCalls(sim)).toBe(0);
  });

  it('INT-02 a reading that could cost more than the cap is not made', async () => {
    const sim = await world.sim(MODELS);
    await start(simLegs(sim, { price: PRICE }), { maxClassifyMicroUsd: 1_000 });
    expect(await fallsOpen(await world.session('first'))).toMatch(/what a reading may cost/u);
    expect(intentCalls(sim)).toBe(0);
  });
});

describe('a classifier that is allowed', () => {
  it.each([
    ['a keyless leg of this machine under "local"', {}, { legs: 'local' }],
    ['a priced leg under the cap', { price: PRICE }, {}],
  ] as const)('INT-02 reads: %s', async (_, leg, intent) => {
    const sim = await world.sim(MODELS);
    await start(simLegs(sim, leg), intent);
    const ref = await world.session('first');
    const { turn } = await world.ask(ref, UNCLEAR, { escalate: true });
    expect((await readings(ref, turn)).map(({ source }) => source)).toEqual(['lexical', 'classifier']);
    expect(await intentError(turn)).toBeNull();
    expect(intentCalls(sim)).toBe(1);
  });
});
