import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type RunningApi, startApi } from '../../../src/api/app.ts';
import { probeSession } from '../../../src/api/probing.ts';
import type { Leg } from '../../../src/providers/contract.ts';
import { modelKey } from '../../../src/runtime/profiles.ts';
import { until } from '../../support/await.ts';
import { type ApiStack, openApiStack, send } from './api-stack.ts';

const ABSENT = '00000000-0000-7000-8000-000000000000';
const HOSTED: Leg = {
  name: 'far',
  provider: 'openai',
  model: 'gpt-5',
  baseUrl: 'https://user:secret@models.example/v1',
  apiKeyEnv: 'FAR_KEY',
  family: 'gpt',
  timeoutMs: 1_000,
};

describe('legs and profiles over HTTP, with no worker', () => {
  let api: ApiStack;
  let wide: RunningApi;
  beforeAll(async () => {
    api = await openApiStack({ backend: 'postgres' });
    const { services } = api;
    const config = { ...services.config, legs: [...services.config.legs, HOSTED] };
    wide = await startApi({ ...services, config }, { host: '127.0.0.1', port: 0 });
  });
  afterAll(async () => {
    await wide.close();
    await api.close();
  });

  const withHosted = (method: string, path: string, json?: unknown) =>
    send(wide.url, method, path, { key: api.key, json });

  it('CAP-04 lists each leg with its window and who states it, its horizon and its price', async () => {
    const { body } = await withHosted('GET', '/v1/legs');
    const [small, , far] = body.legs;
    expect(small).toMatchObject({
      name: 'sim-small',
      family: null,
      local: true,
      window_tokens: 8_192,
      window_source: 'operator',
      horizon_tokens: 8_192,
      horizon_confidence: 0.3,
      price: null,
    });
    expect(far).toMatchObject({ name: 'far', family: 'gpt', local: false, window_source: 'catalogue' });
    expect(far.price.rate_id).toMatch(/^catalogue:gpt-5@/u);
    expect(Number.isInteger(far.price.output_micro_usd_per_million)).toBe(true);
    expect(far.price.output_micro_usd_per_million).toBeGreaterThan(far.price.input_micro_usd_per_million);
  });

  it('CAP-04 tells no address and no key of a leg, by any route', async () => {
    for (const path of ['/v1/legs', '/v1/legs/far/profile']) {
      const text = JSON.stringify((await withHosted('GET', path)).body);
      for (const secret of ['secret', 'models.example', 'FAR_KEY']) expect(text).not.toContain(secret);
    }
  });

  it('CAP-10 shows an unmeasured profile as what is stated, and nothing as probed', async () => {
    const { status, body } = await api.call('GET', '/v1/legs/sim-small/profile');
    expect(status).toBe(200);
    expect(body).toMatchObject({
      leg: 'sim-small',
      declared_window: 8_192,
      window_source: 'operator',
      verified_window: null,
      horizon: { tokens: 8_192, confidence: 0.3, last_confirmed_at: null },
      tokens_per_byte: { value: 0.25, samples: 0 },
      cache: 'unknown',
      max_output_source: 'operator',
      probed_at: null,
      rungs: [],
      signals: [],
      needs_reprobe: false,
      probe: { state: 'idle', asked: null },
    });
  });

  it('CAP-10 answers 404 for a leg there is not, and names those there are', async () => {
    for (const [method, path] of [
      ['GET', '/v1/legs/sim-medium/profile'],
      ['POST', '/v1/legs/sim-medium/probe'],
    ] as const) {
      const { status, body } = await api.call(method, path);
      expect([status, body.error.code]).toEqual([404, 'unknown_leg']);
      expect(body.error.message).toContain('sim-small, sim-large');
    }
  });

  it('CAP-10 begins no probe for a key that may not operate', async () => {
    const key = await api.keyOf(['turns:read', 'turns:write', 'content']);
    const { status, body } = await api.call('POST', '/v1/legs/sim-small/probe', { key });
    expect([status, body.error.code]).toEqual([403, 'forbidden']);
    expect((await api.call('GET', '/v1/legs/sim-small/profile', { key })).status).toBe(200);
  });

  it('CAP-10 probes a hosted leg only where the operator forces it', async () => {
    const refused = await withHosted('POST', '/v1/legs/far/probe');
    expect([refused.status, refused.body.probe]).toEqual([200, null]);
    expect(refused.body.reason).toMatch(/hosted.*force.*probe\.hosted to "full"/u);
    const forced = await withHosted('POST', '/v1/legs/far/probe', { force: true });
    expect(forced.status).toBe(202);
    expect(forced.body.probe).toMatchObject({ leg: 'far', ladder: true });
  });

  it('CAP-10 keeps the probes of a leg in one session of the tenant, however many ask at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => api.call('POST', '/v1/legs/sim-large/probe', { json: {} })),
    );
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202, 202]);
    const session = probeSession(api.stack.tenant, 'sim-large');
    expect(new Set(answers.map(({ body }) => body.probe.session))).toEqual(new Set([session]));
    expect(new Set(answers.map(({ body }) => body.probe.actor)).size).toBe(4);
    const shown = await api.call('GET', `/v1/sessions/${session}`);
    expect(shown.body.session).toMatchObject({ leg: 'sim-large', metadata: { purpose: 'probe' }, turns: 0 });
    const other = await api.call('POST', '/v1/legs/sim-large/probe', { key: await api.stranger() });
    expect(other.body.probe.session).not.toBe(session);
  });

  it('CAP-10 is running while a probe that goes on holds the model, and tells strangers nothing of it', async () => {
    const { flights } = api.services;
    const begun = await api.call('POST', '/v1/legs/sim-small/probe');
    const { actor, session } = begun.body.probe;
    const state = async (query = '', key = api.key) =>
      (await api.call('GET', `/v1/legs/sim-small/profile${query}`, { key })).body.probe;
    expect(await state(`?actor=${actor}`)).toEqual({
      state: 'idle',
      asked: { phase: 'metadata', over: false, rungs: [] },
    });
    const leg = api.services.config.legs.find(({ name }) => name === 'sim-small');
    if (leg === undefined) throw new Error('the stack has no small leg');
    const held = { tenant: api.stack.tenant, session, actor };
    await flights.hold({ key: modelKey(leg), actor: held, leaseMs: 60_000, spacingMs: 0 });
    expect((await state()).state).toBe('running');
    expect(await state(`?actor=${actor}`, await api.stranger())).toEqual({ state: 'running', asked: null });
    expect((await state(`?actor=${ABSENT}`)).asked).toBeNull();
    const busy = await api.call('POST', '/v1/legs/sim-small/probe', { json: { force: true } });
    expect([busy.status, busy.body.probe]).toEqual([200, null]);
    expect(busy.body.reason).toContain('being probed now');
    await api.services.engine.deliver(held, { id: 'interrupt', event: { type: 'probe.interrupt' } });
    expect(await state(`?actor=${actor}`)).toEqual({
      state: 'idle',
      asked: { phase: 'stopped', over: true, rungs: [] },
    });
    await flights.release(modelKey(leg), actor);
  });

  it('CAP-10 refuses what is no question of a profile', async () => {
    for (const query of ['?actor=me', '?x=1']) {
      const { status } = await api.call('GET', `/v1/legs/sim-small/profile${query}`);
      expect([query, status]).toEqual([query, 400]);
    }
    const { status } = await api.call('POST', '/v1/legs/sim-small/probe', { json: { force: 'yes' } });
    expect(status).toBe(400);
  });
});

describe('a probe over HTTP', () => {
  let api: ApiStack;
  beforeAll(async () => {
    api = await openApiStack({ backend: 'postgres' });
    await api.stack.worker();
  });
  afterAll(() => api.close());

  const probe = (json: unknown) => api.call('POST', '/v1/legs/sim-small/probe', { json });

  it('CAP-10 measures the model, shows every rung, and leaves a fresh profile alone until it is forced', async () => {
    const begun = await probe({});
    expect(begun.status).toBe(202);
    const profile = await until(
      'the profile is measured',
      async () => {
        const { body } = await api.call('GET', `/v1/legs/sim-small/profile?actor=${begun.body.probe.actor}`);
        return body.probed_at !== null && body.probe.asked.over ? body : undefined;
      },
      60_000,
    );
    expect(profile.probe).toMatchObject({ state: 'idle', asked: { phase: 'done' } });
    const ladder = profile.rungs.filter(({ kind }: { kind: string }) => kind === 'horizon');
    expect(ladder.length).toBeGreaterThan(1);
    expect(profile.probe.asked.rungs).toEqual(ladder);
    expect(ladder[0]).toMatchObject({ target_tokens: 4_000, verdict: 'followed' });
    expect(profile.horizon.tokens).toBeLessThanOrEqual(6_500);
    expect(profile.horizon.confidence).toBe(0.9);
    expect(profile.horizon.last_confirmed_at).toBe(profile.probed_at);
    const fresh = await probe({});
    expect([fresh.status, fresh.body.probe]).toEqual([200, null]);
    expect(fresh.body.reason).toMatch(/was probed at .*Send force/u);
    expect((await probe({ force: true })).status).toBe(202);
  });
});
