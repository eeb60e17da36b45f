import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PROBED_MODELS, probeReport } from '../../../bench/probe.ts';
import type { SimModel } from '../../../src/sim/index.ts';
import { until } from '../../support/await.ts';
import { hosted, LegWorld, legTo } from './leg-process.ts';

const MODEL: SimModel = {
  name: 'measured',
  window: 32_768,
  horizon: 13_000,
  tokensPerByte: 0.31,
  maxOutputTokens: 1_024,
  prefillTokensPerSecond: 4_000,
  decodeTokensPerSecond: 100,
  quantisation: 'Q4_K_M',
  supportsImages: false,
};
const LONG = 'The harbour lies quiet under a grey sky and the tide is slow. '.repeat(200);
/** Which of the simulator's calls that is, where a session's first turn is one step: then the prefix, then samples. */
const FIRST_SAMPLE = 3;

let world: LegWorld;
beforeEach(async () => {
  world = await LegWorld.open();
});
afterEach(() => world.close());

describe('a local model after its first turn', () => {
  it('CAP-05 CAP-06 CAP-09 is measured, a job a request, and bound by what was found', async () => {
    const sim = await world.sim([MODEL]);
    const leg = legTo(sim, 'measured', { provider: 'ollama', baseUrl: sim.url });
    await world.process([leg]);
    const ref = await world.session('measured');
    expect(await world.ask(ref, 'Good morning.')).toMatchObject({ outcome: 'completed' });
    await world.probesIn('done');
    const profile = await world.profile(leg);
    expect(profile).toMatchObject({
      declaredWindow: MODEL.window,
      windowSource: 'provider',
      horizon: { confidence: 0.9 },
      needsReprobe: false,
    });
    const horizon = profile?.horizon.tokens ?? 0;
    expect(horizon).toBeLessThanOrEqual(MODEL.horizon);
    expect(horizon).toBeGreaterThan(0.75 * MODEL.horizon);
    const kinds = new Set(profile?.provenance.rungs.map(({ kind }) => kind));
    expect(kinds).toEqual(new Set(['metadata', 'horizon', 'cache']));

    // First what the provider says of it, then what was measured.
    const [described, probe] = await world.bodies(ref, 'capacity-probe');
    expect(described?.profile).toMatchObject({ horizon: { tokens: MODEL.window, confidence: 0.3 } });
    expect(probe).toMatchObject({ leg: 'measured', probedAt: profile?.provenance.probedAtMs });
    const receipts = (await world.bodies(ref, 'work-receipt')).filter(({ purpose }) => purpose === 'probe');
    // The first call of the probe asks what the model is, without a receipt.
    expect(receipts.map(({ child }) => child)).toEqual(receipts.map((_, at) => `probe-${at + 2}`));
    expect(receipts).toHaveLength(sim.calls().length - 1);

    await world.ask(ref, 'Good evening.');
    const [, second] = await world.bodies(ref, 'context-plan');
    expect(second?.profile).toMatchObject({ horizon: { tokens: horizon } });
    const prefixes = profile?.prefixes ?? [];
    expect(prefixes.map(({ digest }) => digest)).toEqual([second?.prefixDigest]);
    expect(await world.bodies(ref, 'capacity-probe')).toHaveLength(2);
    expect(await world.probes()).toEqual(['done']);
    expect(await world.stack.verify(ref)).toMatchObject({ ok: true });
  });

  it('CAP-02 is written once into the ledger of each other session, at its first plan', async () => {
    const sim = await world.sim([MODEL]);
    const leg = legTo(sim, 'measured');
    await world.process([leg]);
    const [first, other] = [await world.session('measured'), await world.session('measured')];
    await world.ask(first, 'Good morning.');
    await world.probesIn('done');
    await world.ask(other, 'Good morning.');
    await world.ask(other, 'Good evening.');
    const probes = await world.bodies(other, 'capacity-probe');
    expect(probes).toHaveLength(1);
    expect(probes[0]?.profile).toMatchObject({ horizon: (await world.profile(leg))?.horizon });
    const records = await world.stack.records(other);
    const at = (kind: string) => records.findIndex((record) => record.kind === kind);
    expect(at('capacity-probe')).toBeGreaterThan(at('context-plan'));
    expect(at('capacity-probe')).toBeLessThan(at('assistant-message'));
  });

  it.each([
    ['compatible', '/v1', {}],
    ['anthropic', '', {}],
    ['ollama', '', {}],
    ['compatible', '/v1', { reportsCache: false }],
  ] as const)(
    'CAP-01 F1 F2 ten turns on %s%s %o give tokens per byte within two percent',
    async (provider, path, change) => {
      const sim = await world.sim([{ ...MODEL, window: 131_072, horizon: 60_000, ...change }]);
      const leg = legTo(sim, 'measured', { provider, baseUrl: `${sim.url}${path}` });
      const { services } = await world.process([leg]);
      const ref = await world.session('measured', { system: 'Speak plainly. '.repeat(2_000) });
      for (let turn = 1; turn <= 10; turn += 1)
        expect(await world.ask(ref, `Mind how boat ${turn} is moored. ${LONG}`)).toMatchObject({
          outcome: 'completed',
        });
      const steps = (await world.bodies(ref, 'work-receipt')).filter(({ purpose }) => purpose === 'step');
      const cached = steps.filter(({ usage }) => (usage?.cacheReadTokens ?? 0) > 0);
      expect(cached.length > 0).toBe(provider !== 'ollama' && !('reportsCache' in change));
      const { tokensPerByte } = await services.legProfiles.bind(leg);
      expect(tokensPerByte.samples).toBeGreaterThanOrEqual(10);
      expect(Math.abs(tokensPerByte.value / MODEL.tokensPerByte - 1)).toBeLessThan(0.02);
    },
  );
});

describe('a turn on a model under probe', () => {
  it('CAP-03 F6 is sent while the sample is open; the probe stops, stores nothing, and begins anew later', async () => {
    const sim = await world.sim([MODEL]);
    const leg = legTo(sim, 'measured');
    await world.process([leg]);
    const [first, second] = [await world.session('measured'), await world.session('measured')];
    sim.setFaults([
      { match: { fromCall: FIRST_SAMPLE, count: 1 }, fault: { name: 'slow', delayMs: 600_000 } },
    ]);
    await world.ask(first, 'Good morning.');
    await until('a sample is open', () => sim.calls()[FIRST_SAMPLE - 1]?.state === 'open');
    expect(await world.ask(second, 'Good morning.')).toMatchObject({ outcome: 'completed' });
    await world.probesIn('stopped');
    await until('the sample ended', () => sim.calls()[FIRST_SAMPLE - 1]?.state === 'ended');
    const order = world.lines().map(({ n, state, outcome }) => `${n} ${outcome ?? state}`);
    const arrival = order.indexOf(`${FIRST_SAMPLE + 1} open`);
    expect(arrival).toBeGreaterThan(-1);
    expect(arrival).toBeLessThan(order.indexOf(`${FIRST_SAMPLE} aborted`));
    expect(sim.calls()).toHaveLength(FIRST_SAMPLE + 1);
    const [plan] = await world.bodies(second, 'context-plan');
    expect(plan?.profile).toMatchObject({ horizon: { confidence: 0.3 } });
    const kinds = (await world.profile(leg))?.provenance.rungs.map(({ kind }) => kind);
    expect(kinds).toEqual(['metadata']);

    // The close that interrupted it put another off; its minute passes.
    await until('the next one waits', async () => (await world.probes()).includes('idle'));
    await world.passMinute();
    await world.probesIn('done');
    expect((await world.profile(leg))?.horizon).toMatchObject({ confidence: 0.9 });
    expect((await world.probes()).toSorted()).toEqual(['done', 'stopped']);
  });

  it('CAP-03 is one flight in two processes: the other probe stops before its first request', async () => {
    const sim = await world.sim([MODEL]);
    const leg = legTo(sim, 'measured');
    const [one, two] = [await world.process([leg]), await world.process([leg])];
    const ref = await world.session('measured');
    const profile = one.services.legProfiles.stated(leg, null);
    await Promise.all([one, two].map(({ services }) => services.probes.afterTurn(ref, leg, profile)));
    await world.probesIn('done');
    await world.probesIn('stopped');
    expect((await world.probes()).toSorted()).toEqual(['done', 'stopped']);
    const requests = (await world.bodies(ref, 'work-receipt')).length;
    expect(sim.calls()).toHaveLength(requests);
  });

  it('CAP-03 a sample whose worker goes is taken up by another, and the probe ends as if nothing had been', async () => {
    const sim = await world.sim([MODEL]);
    const leg = legTo(sim, 'measured');
    const one = await world.process([leg]);
    const ref = await world.session('measured');
    sim.setFaults([{ match: { fromCall: FIRST_SAMPLE, count: 1 }, fault: { name: 'hang' } }]);
    await world.ask(ref, 'Good morning.');
    await until('a sample is open', () => sim.calls()[FIRST_SAMPLE - 1]?.state === 'open');
    await one.stop();
    await world.process([leg]);
    await world.probesIn('done');
    expect((await world.profile(leg))?.horizon).toMatchObject({ confidence: 0.9 });
    expect(await world.stack.verify(ref)).toMatchObject({ ok: true });
  });
});

describe('a window that is not what was said', () => {
  it('CAP-05 a server that drops the head of a prompt in silence is found out', async () => {
    const sim = await world.sim([{ ...MODEL, horizon: 30_000, silentWindow: 9_000 }]);
    const leg = legTo(sim, 'measured');
    await world.process([leg]);
    const ref = await world.session('measured');
    expect(await world.ask(ref, 'Good morning.')).toMatchObject({ outcome: 'completed' });
    await world.probesIn('done');
    const profile = await world.profile(leg);
    // A server that reads three quarters of a prompt is taken to have read it.
    expect(profile?.verifiedWindow).toBeLessThanOrEqual(9_000 / 0.75);
    expect(profile?.horizon.tokens).toBeLessThanOrEqual(9_000 / 0.75);
    expect(profile?.horizon.tokens).toBeGreaterThan(0.75 * 9_000);
    expect(profile?.provenance.rungs.map(({ verdict }) => verdict)).toContain('truncated');
    expect(await world.ask(ref, 'Good evening.')).toMatchObject({ outcome: 'completed' });
  });

  it('CAP-07 a window that shrinks while turns run is met by a refusal, and the turn completes', async () => {
    const sim = await world.sim([{ ...MODEL, horizon: 30_000 }]);
    const leg = legTo(sim, 'measured', { window: 32_768 });
    await world.process([leg]);
    const ref = await world.session('measured');
    await world.ask(ref, `Mind this. ${LONG}`);
    await world.probesIn('done');
    for (const n of [2, 3, 4]) await world.ask(ref, `Mind this, too, number ${n}. ${LONG}`);
    const before = await world.profile(leg);
    sim.setModels([{ ...MODEL, window: 8_192, horizon: 7_000 }]);
    const after = await world.ask(ref, `And mind that again. ${LONG}`);
    expect(after).toMatchObject({ outcome: 'completed' });
    const refusals = (await world.bodies(ref, 'capacity-feedback', after.turn)).filter(
      ({ reason }) => reason === 'over-length',
    );
    expect(refusals).toHaveLength(1);
    const profile = await world.profile(leg);
    expect(profile?.horizon.tokens).toBeLessThan(before?.horizon.tokens ?? 0);
    expect(profile?.verifiedWindow).toBeLessThan(before?.declaredWindow ?? 0);
    expect(profile?.needsReprobe).toBe(true);
  });
});

describe('a hosted model', () => {
  const CHEAP: SimModel = { ...MODEL, name: 'cheap', horizon: 6_000 };

  it('CAP-08 is asked what it is, and no more', async () => {
    const sim = await world.sim([MODEL]);
    const leg = legTo(sim, 'measured', { baseUrl: hosted(sim) });
    await world.process([leg]);
    const ref = await world.session('measured');
    await world.ask(ref, 'Good morning.');
    await world.probesIn('done');
    await world.ask(ref, 'Good evening.');
    expect(sim.calls()).toHaveLength(2);
    const profile = await world.profile(leg);
    expect(profile?.provenance.rungs).toEqual([{ kind: 'metadata', targetTokens: null, verdict: 'read' }]);
    expect(profile?.horizon.confidence).toBe(0.3);
    expect(await world.probes()).toEqual(['done']);
  });

  it('CAP-08 with probing full is measured by the leg of its family that is named for it', async () => {
    const sim = await world.sim([MODEL, CHEAP]);
    const leg = legTo(sim, 'measured', { baseUrl: hosted(sim), family: 'f', probeWith: 'cheap' });
    const cheap = legTo(sim, 'cheap', { baseUrl: hosted(sim), family: 'f' });
    const { services } = await world.process([leg, cheap], {
      probe: { ...world.stack.producer.config.probe, hosted: 'full' },
    });
    const ref = await world.session('measured');
    await world.ask(ref, 'Good morning.');
    await world.probesIn('done');
    expect(
      new Set(
        sim
          .calls()
          .slice(1)
          .map(({ model }) => model),
      ),
    ).toEqual(new Set(['cheap']));
    const profile = await services.legProfiles.bind(leg);
    expect(profile.horizon).toMatchObject({ confidence: 0.9 });
    expect(profile.horizon.tokens).toBeLessThanOrEqual(CHEAP.horizon);
    expect(profile.horizon.tokens).toBeGreaterThan(0.75 * CHEAP.horizon);
    expect(profile.provenance.signals.join()).toContain('cheap');
    expect((await services.legProfiles.bind(cheap)).horizon.confidence).toBe(0.3);
  });
});

describe('the report of models', () => {
  it('EVA-06a holds for each the measured profile and a plan within it, of whole turns', async () => {
    const models = PROBED_MODELS.slice(0, 2);
    const rows = await probeReport(models);
    expect(rows.map(({ truth }) => truth.name)).toEqual(models.map(({ name }) => name));
    for (const { truth, profile, plan } of rows) {
      const { tokens, confidence } = profile.horizon;
      expect(Math.abs(tokens / truth.horizon - 1)).toBeLessThan(0.25);
      expect(confidence).toBe(0.9);
      expect(profile).toMatchObject({ declaredWindow: truth.window, windowSource: 'provider' });
      expect(plan.budgetTokens).toBeGreaterThan(0);
      expect(plan.promptTokens).toBeGreaterThan(0);
      expect(plan.promptTokens).toBeLessThanOrEqual(tokens);
      expect(plan.full + plan.card + plan.packet + plan.without).toBe(60);
    }
    // The smaller model gets fewer turns whole.
    expect(rows[1]?.plan.full).toBeLessThan(rows[0]?.plan.full ?? 0);
  });
});
