import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { CapacityProfile } from '../../../src/context/capacity/profile.ts';
import type { ProbeInput } from '../../../src/machines/probe-context.ts';
import type { Leg } from '../../../src/providers/contract.ts';
import { PROBE_DEFAULTS, type ProbeSettings, Probes } from '../../../src/runtime/probes.ts';
import { modelKey } from '../../../src/runtime/profiles.ts';
import { createSession } from '../../../src/runtime/sessions.ts';
import { memoryParts, openProcess } from '../../support/one-process.ts';

const LOCAL: Leg = { name: 'local', provider: 'ollama', model: 'm', timeoutMs: 1_000 };
const HOSTED: Leg = { name: 'hosted', provider: 'openai', model: 'g', timeoutMs: 1_000 };
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const NOW_MS = 100 * DAY_MS;

async function open(settings: Partial<ProbeSettings> = {}) {
  const parts = memoryParts();
  const { engine, profiles } = openProcess(parts);
  const ref = { tenant: randomUUID(), session: randomUUID() };
  await createSession(engine, ref, randomUUID(), {
    leg: 'scripted',
    policy: { name: 'plan', options: {} },
    tools: [],
    system: '',
    metadata: {},
  });
  const time = { nowMs: NOW_MS };
  const clock = { nowMs: () => time.nowMs, monotonicMs: () => time.nowMs };
  let actors = 0;
  // In order, as production's are: events are listed by actor.
  const newId = (): string => {
    actors += 1;
    return `01890000-0000-7000-8000-${String(actors).padStart(12, '0')}`;
  };
  const probes = new Probes({ engine, settings: { ...PROBE_DEFAULTS, ...settings }, clock, newId });
  const begun = async (): Promise<readonly ProbeInput[]> => {
    const state = await parts.store.sessionState(ref);
    const inputs = (state?.events ?? []).map(
      ({ event }) => JSON.parse(event) as { type: string; input: ProbeInput },
    );
    return inputs.filter(({ type }) => type === 'xstate.init').map(({ input }) => input);
  };
  return { probes, ref, time, begun, profiles };
}

type Opened = Awaited<ReturnType<typeof open>>;

function profileOf(
  { profiles }: Opened,
  leg: Leg,
  change: { readonly measuredAgoMs?: number; needsReprobe?: boolean } = {},
) {
  const stated = profiles.stated(leg, { declaredWindow: 32_768, maxOutputTokens: null, quantisation: null });
  const { measuredAgoMs, ...rest } = change;
  if (measuredAgoMs === undefined) return { ...stated, ...rest };
  const rungs = [{ kind: 'horizon', targetTokens: 8_000, verdict: 'followed' } as const];
  const provenance = { ...stated.provenance, rungs, probedAtMs: NOW_MS - measuredAgoMs };
  return { ...stated, ...rest, provenance } satisfies CapacityProfile;
}

const UNASKED = (world: Opened, leg: Leg): CapacityProfile => world.profiles.stated(leg, null);

describe('after a turn', () => {
  it('CAP-03 a local model that was never measured is probed, by its own ladder', async () => {
    const world = await open();
    await world.probes.afterTurn(world.ref, LOCAL, UNASKED(world, LOCAL));
    expect(await world.begun()).toEqual([
      {
        leg: 'local',
        ladderLeg: 'local',
        samples: 3,
        delayMs: 0,
        forced: false,
        maxMs: PROBE_DEFAULTS.maxMs,
        maxMicroUsd: PROBE_DEFAULTS.maxMicroUsd,
      },
    ]);
  });

  it('CAP-03 a fresh measure is left alone; a stale one and one in doubt are taken anew', async () => {
    const world = await open();
    const close = (change: Parameters<typeof profileOf>[2]) =>
      world.probes.afterTurn(world.ref, LOCAL, profileOf(world, LOCAL, change));
    await close({ measuredAgoMs: DAY_MS });
    expect(await world.begun()).toHaveLength(0);
    await close({ measuredAgoMs: DAY_MS + 1 });
    expect(await world.begun()).toHaveLength(1);
    const other = await open();
    const doubted = profileOf(other, LOCAL, { measuredAgoMs: 0, needsReprobe: true });
    await other.probes.afterTurn(other.ref, LOCAL, doubted);
    expect(await other.begun()).toHaveLength(1);
  });

  it('CAP-03 one that another process held a moment ago is put off as well, and begins once the minute is over', async () => {
    const world = await open();
    const key = modelKey(LOCAL);
    world.probes.heard(JSON.stringify({ key, holder: 'tenant/session/actor' }));
    world.probes.heard(JSON.stringify({ key, holder: null }));
    world.time.nowMs += 15_000;
    await world.probes.afterTurn(world.ref, LOCAL, UNASKED(world, LOCAL));
    expect((await world.begun()).map(({ delayMs }) => delayMs)).toEqual([45_000]);
  });

  it('CAP-03 one put off within the minute waits for its end as a timer, and is the only one that waits', async () => {
    const world = await open();
    const unasked = UNASKED(world, LOCAL);
    await world.probes.afterTurn(world.ref, LOCAL, unasked);
    world.time.nowMs += 20_000;
    await world.probes.afterTurn(world.ref, LOCAL, unasked);
    await world.probes.afterTurn(world.ref, LOCAL, unasked);
    world.time.nowMs += 39_999;
    await world.probes.afterTurn(world.ref, LOCAL, unasked);
    expect((await world.begun()).map(({ delayMs }) => delayMs)).toEqual([0, 40_000]);
    world.time.nowMs += 1 + MINUTE_MS;
    await world.probes.afterTurn(world.ref, LOCAL, unasked);
    expect((await world.begun()).map(({ delayMs }) => delayMs)).toEqual([0, 40_000, 0]);
  });

  it('CAP-08 a hosted model is asked once what it is, and no ladder is climbed', async () => {
    const world = await open();
    await world.probes.afterTurn(world.ref, HOSTED, UNASKED(world, HOSTED));
    expect(await world.begun()).toMatchObject([{ leg: 'hosted', ladderLeg: null }]);
    world.time.nowMs += DAY_MS;
    await world.probes.afterTurn(world.ref, HOSTED, profileOf(world, HOSTED, { needsReprobe: true }));
    expect(await world.begun()).toHaveLength(1);
  });

  it.each([
    [{}, 'hosted'],
    [{ probeWith: 'cheap' }, 'cheap'],
  ])('CAP-08 with hosted probing full the ladder of a leg %o runs on leg %s', async (change, ladderLeg) => {
    const world = await open({ hosted: 'full', samples: 7, maxMicroUsd: 5 });
    const leg = { ...HOSTED, ...change };
    await world.probes.afterTurn(world.ref, leg, UNASKED(world, leg));
    expect(await world.begun()).toMatchObject([{ leg: 'hosted', ladderLeg, samples: 7, maxMicroUsd: 5 }]);
  });

  it('CAP-03 with local probing off a local model is asked what it is, and no ladder is climbed', async () => {
    const world = await open({ local: 'off' });
    await world.probes.afterTurn(world.ref, LOCAL, UNASKED(world, LOCAL));
    expect(await world.begun()).toMatchObject([{ leg: 'local', ladderLeg: null }]);
  });

  it('CAP-08 a local model is measured itself, whatever else is named', async () => {
    const world = await open({ hosted: 'full' });
    const leg = { ...LOCAL, probeWith: 'cheap' };
    await world.probes.afterTurn(world.ref, leg, UNASKED(world, leg));
    expect(await world.begun()).toMatchObject([{ leg: 'local', ladderLeg: 'local' }]);
  });
});

describe('by hand', () => {
  it('CAP-03 a probe begins at once, due or not, and is not held back by the minute', async () => {
    const world = await open();
    await world.probes.afterTurn(world.ref, LOCAL, UNASKED(world, LOCAL));
    const begun = await world.probes.begin(world.ref, LOCAL, { ladder: true, delayMs: 0, forced: true });
    expect(begun).toMatchObject(world.ref);
    expect((await world.begun()).map(({ forced, delayMs }) => [forced, delayMs])).toEqual([
      [false, 0],
      [true, 0],
    ]);
  });

  it('CAP-03 there is none in a session that does not exist', async () => {
    const { probes, ref } = await open();
    const nowhere = { ...ref, session: randomUUID() };
    expect(await probes.begin(nowhere, LOCAL, { ladder: true, delayMs: 0, forced: true })).toBeNull();
  });
});
