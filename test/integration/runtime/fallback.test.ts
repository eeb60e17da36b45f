import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Json } from '../../../src/ledger/json.ts';
import type { Leg } from '../../../src/providers/contract.ts';
import type { FaultRule, SimModel, Simulator } from '../../../src/sim/index.ts';
import { until } from '../../support/await.ts';
import { type HeldTool, heldTool } from '../../support/tools.ts';
import { LegWorld, legTo } from './leg-process.ts';

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
const MODELS = ['first', 'second', 'third'].map((name) => ({ ...MODEL, name }));
/** No model is probed by itself here. */
const QUIET = { local: 'off', hosted: 'off' } as const;

let world: LegWorld;
let weir: HeldTool;
beforeEach(async () => {
  weir = heldTool('weir', 'read');
  world = await LegWorld.open({ tools: [weir.tool] });
});
afterEach(() => world.close());

async function start(legs: readonly Leg[]) {
  const { config } = world.stack.producer;
  return world.process(legs, { probe: { ...config.probe, ...QUIET } });
}

const failing = (model: string, fault: FaultRule['fault'], count = 1): FaultRule => ({
  match: { model, count },
  fault,
});

async function ladder(sim: Simulator) {
  const [first, second, third] = MODELS.map(({ name }) => legTo(sim, name, { window: 32_768 }));
  if (first === undefined || second === undefined || third === undefined) throw new Error('three legs');
  const { services } = await start([first, second, third]);
  const ref = await world.session('first', { ladder: ['second', 'third'] });
  const steps = async (turn?: string) =>
    (await world.bodies(ref, 'work-receipt', turn)).map(({ leg, settlement }) => `${leg} ${settlement}`);
  return { ref, first, services, steps };
}

describe('a leg that stands in', () => {
  it('CAP-07 F4 answers in the same step, and teaches the leg of the session nothing', async () => {
    const sim = await world.sim(MODELS);
    const { ref, first, services, steps } = await ladder(sim);
    sim.setFaults([failing('first', { name: 'overloaded' })]);
    expect(await world.ask(ref, 'Good morning.')).toMatchObject({ outcome: 'completed', steps: 1 });
    expect(await steps()).toEqual(['first overloaded', 'second answered']);
    expect(await world.bodies(ref, 'route-fallback')).toEqual([
      { step: 1, from: 'first', to: 'second', code: 'overloaded' },
    ]);
    expect(await services.legProfiles.bind(first)).toMatchObject({
      tokensPerByte: { samples: 0 },
      largestReply: { samples: 0 },
      horizon: { tokens: 32_768, confidence: 0.3 },
    });
    await world.ask(ref, 'Good evening.');
    expect((await services.legProfiles.bind(first)).tokensPerByte.samples).toBe(1);
  });

  it('CAP-07 F5 keeps its answer where the leg of the session refused the length, and that leg shrinks', async () => {
    const sim = await world.sim(MODELS);
    const { ref, first, services, steps } = await ladder(sim);
    sim.setFaults([failing('first', { name: 'over_length' })]);
    const end = await world.ask(ref, 'Good morning.');
    expect(end).toMatchObject({ outcome: 'completed', steps: 1 });
    expect(await steps()).toEqual(['first over_length', 'second answered']);
    const feedback = await world.bodies(ref, 'capacity-feedback');
    expect(feedback).toMatchObject([{ leg: 'first', reason: 'over-length' }]);
    expect(await services.legProfiles.bind(first)).toMatchObject({
      horizon: { confidence: 0.6 },
      needsReprobe: true,
      tokensPerByte: { samples: 0 },
    });
  });

  it('CAP-07 F5 the refusal of the length outranks what a later leg fails of: one replan, one retry', async () => {
    const sim = await world.sim(MODELS);
    const { ref, steps } = await ladder(sim);
    sim.setFaults([
      failing('first', { name: 'over_length' }),
      failing('second', { name: 'auth' }),
      failing('third', { name: 'server_error' }),
    ]);
    expect(await world.ask(ref, 'Good morning.')).toMatchObject({ outcome: 'completed' });
    expect(await steps()).toEqual([
      'first over_length',
      'second auth',
      'third server_error',
      'first answered',
    ]);
    expect(await world.bodies(ref, 'context-plan')).toMatchObject([{ rejections: 0 }, { rejections: 1 }]);
  });

  it('CAP-07 F4 a refusal of a leg that stands in is not taken for one of the leg that was passed over', async () => {
    const sim = await world.sim(MODELS);
    const { ref, first, services, steps } = await ladder(sim);
    sim.setFaults([
      failing('first', { name: 'rate_limit', retryAfterMs: 60_000 }),
      failing('second', { name: 'over_length' }),
    ]);
    await world.ask(ref, 'Good morning.');
    expect(await steps()).toEqual(['first rate_limited', 'second over_length', 'third answered']);
    sim.setFaults([failing('second', { name: 'over_length' })]);
    const passed = await world.ask(ref, 'Good evening.');
    expect(passed).toMatchObject({ outcome: 'completed' });
    expect(await steps(passed.turn)).toEqual(['second over_length', 'third answered']);
    expect(await world.bodies(ref, 'capacity-feedback')).toEqual([]);
    expect((await services.legProfiles.bind(first)).needsReprobe).toBe(false);
  });

  it('PRO-10 gets the same turns at the same fidelity', async () => {
    const sim = await world.sim(MODELS);
    const { ref } = await ladder(sim);
    await world.ask(ref, 'Good morning. The boat is called Wigeon.');
    sim.setFaults([failing('first', { name: 'server_error' })]);
    const { turn } = await world.ask(ref, 'What is the boat called?');
    const receipts = await world.bodies(ref, 'work-receipt', turn);
    expect(receipts.map(({ leg }) => leg)).toEqual(['first', 'second']);
    expect(new Set(receipts.map(({ requestDigest }) => requestDigest)).size).toBe(1);
    expect(await world.bodies(ref, 'context-plan', turn)).toHaveLength(1);
  });
});

describe('a prompt that is too long', () => {
  const SMALL: SimModel = { ...MODEL, window: 6_000, horizon: 5_900 };
  const LONG = 'The harbour lies quiet under a grey sky and the tide is slow. '.repeat(60);

  it.each<[string, Partial<Leg>, Partial<SimModel>]>([
    ['openai', {}, {}],
    ['google', { provider: 'google' }, { overLengthWording: 'google' }],
    ['openrouter', { provider: 'openrouter' }, { overLengthWording: 'openrouter' }],
    ['bedrock', { provider: 'bedrock' }, { overLengthWording: 'bedrock' }],
    ['vllm', {}, { overLengthWording: 'vllm' }],
    ['anthropic', { provider: 'anthropic' }, {}],
    ['ollama', { provider: 'ollama' }, {}],
    ['openai-responses', { provider: 'openai-responses' }, {}],
  ])(
    'CAP-07 F5 in the words of %s leads to one replan and one retry, and the turn completes',
    async (_, change, model) => {
      const sim = await world.sim([{ ...SMALL, ...model }]);
      const bare = change.provider === 'anthropic' || change.provider === 'ollama';
      const leg = legTo(sim, 'first', { window: 100_000, ...change, ...(bare ? { baseUrl: sim.url } : {}) });
      await start([leg]);
      const ref = await world.session('first');
      for (let turn = 1; turn <= 7; turn += 1) {
        const end = await world.ask(ref, `Mind this, number ${turn}. ${LONG}`);
        expect(end).toMatchObject({ outcome: 'completed' });
        const settled = (await world.bodies(ref, 'work-receipt', end.turn)).map(
          ({ settlement }) => settlement,
        );
        if (settled.length === 1) continue;
        expect(settled).toEqual(['over_length', 'answered']);
        const plans = await world.bodies(ref, 'context-plan', end.turn);
        expect(plans.map(({ rejections }) => rejections)).toEqual([0, 1]);
        expect(plans[1]?.spentTokens).toBeLessThan(plans[0]?.spentTokens ?? 0);
        const stated = await world.bodies(ref, 'capacity-feedback', end.turn);
        expect(stated.filter(({ reason }) => reason === 'over-length')).toHaveLength(1);
        return;
      }
      throw new Error('no prompt was refused');
    },
  );
});

describe('a step that continues at the provider', () => {
  const GO = 'Call the weir tool.';

  interface Sent {
    readonly previous: string | null;
    readonly items: number;
  }

  /** Stands before a simulator, and notes what is sent to the Responses wire. */
  class Relay {
    readonly sent: Sent[] = [];
    to: Simulator;
    readonly #server = createServer((request, response) => void this.#pass(request, response));

    constructor(to: Simulator) {
      this.to = to;
    }

    async leg(): Promise<Leg> {
      this.#server.listen(0, '127.0.0.1');
      await once(this.#server, 'listening');
      const { port } = this.#server.address() as AddressInfo;
      return legTo(this.to, 'first', {
        provider: 'openai-responses',
        baseUrl: `http://127.0.0.1:${port}/v1`,
      });
    }

    close(): void {
      this.#server.close();
      this.#server.closeAllConnections();
    }

    async #pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      if (request.method === 'POST') this.#note(body);
      const { method = 'GET', url = '' } = request;
      const answer = await fetch(`${this.to.url}${url}`, { method, ...(body === '' ? {} : { body }) });
      response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
      response.end(await answer.text());
    }

    #note(body: string): void {
      const { input, previous_response_id: previous = null } = JSON.parse(body) as {
        readonly input: readonly Json[];
        readonly previous_response_id?: string;
      };
      this.sent.push({ previous, items: input.length });
    }
  }

  let relay: Relay;
  afterEach(() => relay.close());

  it('PRO-10 sends what came since the step before, and its receipt says so', async () => {
    weir.releaseAll();
    relay = new Relay(await world.sim(MODELS));
    const { sent } = relay;
    await start([await relay.leg()]);
    const ref = await world.session('first', { tools: ['weir'] });
    const { turn, ...end } = await world.ask(ref, GO);
    expect(end).toMatchObject({ outcome: 'completed', reason: 'answered' });
    expect(sent.map(({ previous }) => previous !== null)).toEqual([false, true]);
    expect(sent[1]?.items).toBe(1);
    const [first, second] = await world.bodies(ref, 'work-receipt', turn);
    expect(first).not.toHaveProperty('continued');
    expect(second?.continued?.messages).toBeGreaterThan(0);
    // Billed is the whole of it.
    expect(second?.usage?.inputTokens ?? 0).toBeGreaterThan(0);
    const prompt = ({ usage }: NonNullable<typeof first>) =>
      (usage?.inputTokens ?? 0) + (usage?.cacheReadTokens ?? 0);
    if (first === undefined || second === undefined) throw new Error('two receipts');
    expect(prompt(second)).toBeGreaterThan(prompt(first));
    // A new turn is planned anew, so it begins whole.
    const before = sent.length;
    await world.ask(ref, 'Good evening.');
    expect(sent[before]?.previous).toBeNull();
  });

  it('PRO-10 sends the whole where the provider lost what it held, and the turn completes', async () => {
    relay = new Relay(await world.sim(MODELS));
    const { sent } = relay;
    await start([await relay.leg()]);
    const ref = await world.session('first', { tools: ['weir'] });
    const asked = world.ask(ref, GO);
    const run = await until('the tool runs', () => weir.runs[0]);
    relay.to = await world.sim(MODELS);
    run.release();
    const { turn, outcome } = await asked;
    expect(outcome).toBe('completed');
    const tail = sent.slice(-2);
    expect(tail.map(({ previous }) => previous !== null)).toEqual([true, false]);
    expect(tail[1]?.items).toBeGreaterThan(tail[0]?.items ?? 0);
    const receipts = await world.bodies(ref, 'work-receipt', turn);
    expect(receipts.map(({ settlement }) => settlement)).toEqual([
      'answered',
      'lost_continuation',
      'answered',
    ]);
    expect(receipts.map((receipt) => 'continued' in receipt)).toEqual([false, true, false]);
  });

  it('PRO-10 is whole after another leg answered', async () => {
    weir.releaseAll();
    const sim = await world.sim(MODELS);
    relay = new Relay(sim);
    const { sent } = relay;
    await start([await relay.leg(), legTo(sim, 'second')]);
    const ref = await world.session('first', { tools: ['weir'], ladder: ['second'] });
    sim.setFaults([failing('first', { name: 'server_error' })]);
    const { turn, outcome } = await world.ask(ref, GO);
    expect(outcome).toBe('completed');
    const legs = (await world.bodies(ref, 'work-receipt', turn)).map(({ leg }) => leg);
    expect(legs).toEqual(['first', 'second', 'first']);
    expect(sent.map(({ previous }) => previous)).toEqual([null, null]);
  });
});

describe('side calls', () => {
  const cheap = { inputPerMillion: 0.1, outputPerMillion: 0.4 };
  const dear = { inputPerMillion: 3, outputPerMillion: 15 };

  it.each([
    ['the leg that is named for them', { intent: 'third' }, 'third'],
    ['else the cheapest of the family', {}, 'second'],
  ])('CAP-11 go to %s, with a request of their own', async (_, sideLegs, expected) => {
    const sim = await world.sim(MODELS);
    const family = 'f';
    const legs = [
      legTo(sim, 'first', { family, price: dear }),
      legTo(sim, 'second', { family, price: cheap }),
      legTo(sim, 'third', { price: { inputPerMillion: 0.01, outputPerMillion: 0.01 } }),
    ];
    const { config } = world.stack.producer;
    await world.process(legs, { sideLegs, probe: { ...config.probe, ...QUIET } });
    const ref = await world.session('first');
    await world.ask(ref, 'The harbour and the tide.', { escalate: true });
    const receipts = await world.bodies(ref, 'work-receipt');
    expect(receipts.map(({ purpose, leg }) => [purpose, leg])).toEqual([
      ['intent', expected],
      ['step', 'first'],
    ]);
    expect(receipts[0]?.prefixDigest).toBeNull();
    expect(receipts[0]?.requestBytes).toBeLessThan(4_000);
  });
});
