import { setImmediate as settled } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { CapacityProfile } from '../../../src/context/capacity/profile.ts';
import type { ProfileRow, ProfileStore } from '../../../src/db/profiles.ts';
import { canonicalJson } from '../../../src/ledger/json.ts';
import type { Leg } from '../../../src/providers/contract.ts';
import { modelKey, Profiles } from '../../../src/runtime/profiles.ts';
import { MemoryProfiles } from '../../simulation/memory/profiles.ts';

const LEG: Leg = { name: 'main', provider: 'ollama', model: 'm', timeoutMs: 1_000 };
const METADATA = { declaredWindow: 65_536, maxOutputTokens: 4_096, quantisation: 'Q4' };
const FRESH_MS = 5_000;
const SHARE_MS = 1_000;

const sample = (inputTokens: number) => ({
  usage: { inputTokens, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 5 },
  requestBytes: 10_000,
  firstTokenMs: 10,
  finishedByLength: false,
});

/** One table, time that stands still until it is moved, and any number of processes. */
class World {
  nowMs = 10_000;
  readonly rows = new MemoryProfiles(new Map(), () => this.nowMs);
  readonly errors: unknown[] = [];
  readonly warnings: string[] = [];
  writes = 0;
  reads = 0;
  unreachable = false;
  /** Runs before a write arrives. */
  before: () => Promise<void> = () => Promise.resolve();
  readonly store: ProfileStore = {
    read: (key) => {
      this.reads += 1;
      return this.unreachable ? Promise.reject(new Error('no connection')) : this.rows.read(key);
    },
    write: async (key, profile, base) => {
      const { before } = this;
      this.before = () => Promise.resolve();
      await before();
      this.writes += 1;
      return this.rows.write(key, profile, base);
    },
  };

  process(window: number | null = null): Profiles {
    return new Profiles({
      store: this.store,
      clock: { nowMs: () => this.nowMs, monotonicMs: () => this.nowMs },
      catalogue: () => ({ window, maxOutput: null }),
      onWarning: ({ message }) => this.warnings.push(message),
      onError: (error) => this.errors.push(error),
    });
  }

  async row(): Promise<CapacityProfile> {
    return JSON.parse((await this.stored()).profile) as CapacityProfile;
  }
  async stored(): Promise<ProfileRow> {
    const row = await this.rows.read(modelKey(LEG));
    if (row === null) throw new Error('no profile is stored');
    return row;
  }
}

/** As a probe leaves it: stated by the provider, with a horizon of its own. */
function measured(profiles: Profiles, world: World, tokens: number): CapacityProfile {
  const stated = profiles.stated(LEG, METADATA);
  const rungs = [{ kind: 'horizon', targetTokens: tokens, verdict: 'followed' } as const];
  return {
    ...stated,
    horizon: { tokens, confidence: 0.9, lastConfirmedMs: world.nowMs },
    provenance: { ...stated.provenance, rungs },
  };
}

describe('binding a leg', () => {
  it('CAP-02 an unprobed model is bound at once by what is stated of it', async () => {
    const world = new World();
    expect(await world.process(200_000).bind(LEG)).toMatchObject({
      declaredWindow: 200_000,
      windowSource: 'catalogue',
      horizon: { tokens: 200_000, confidence: 0.3 },
      provenance: { probedAtMs: 0, rungs: [] },
    });
  });

  it('CAP-02 the later of the shared row and memory is bound, whichever that is', async () => {
    const world = new World();
    const [here, there] = [world.process(), world.process()];
    await here.learn(LEG, measured(here, world, 20_000), 'Q4');
    world.nowMs += 1;
    await there.learn(LEG, measured(there, world, 30_000), 'Q4');
    world.nowMs += FRESH_MS;
    expect((await here.bind(LEG)).horizon.tokens).toBe(30_000);
    // An older row, as a backup brings it back: memory stands.
    const { version } = await world.stored();
    const old = {
      ...measured(here, world, 9_000),
      provenance: { ...(await world.row()).provenance, probedAtMs: 1 },
    };
    await world.rows.write({ ...modelKey(LEG), quantisation: 'Q4' }, canonicalJson(old), version);
    world.nowMs += FRESH_MS;
    expect((await here.bind(LEG)).horizon.tokens).toBe(30_000);
  });

  it('CAP-02 reads the row at most once in five seconds', async () => {
    const world = new World();
    const profiles = world.process();
    for (let n = 0; n < 10; n += 1) await profiles.bind(LEG);
    expect(world.reads).toBe(1);
    world.nowMs += FRESH_MS;
    await profiles.bind(LEG);
    expect(world.reads).toBe(2);
  });

  it('CAP-02 an unreachable table leaves a turn with what is known, else with what is stated', async () => {
    const world = new World();
    const profiles = world.process(50_000);
    world.unreachable = true;
    expect(await profiles.bind(LEG)).toMatchObject({ declaredWindow: 50_000, horizon: { confidence: 0.3 } });
    world.unreachable = false;
    world.nowMs += FRESH_MS;
    await profiles.learn(LEG, measured(profiles, world, 20_000), 'Q4');
    world.unreachable = true;
    world.nowMs += FRESH_MS;
    expect((await profiles.bind(LEG)).horizon.tokens).toBe(20_000);
    expect(world.errors).toHaveLength(2);
    world.unreachable = false;
    const other = world.process();
    await other.learn(LEG, measured(other, world, 40_000), 'Q4');
    world.nowMs += FRESH_MS;
    expect((await profiles.bind(LEG)).horizon.tokens).toBe(40_000);
  });

  it('CAP-07 applies the refusals that the turn met on this leg, and none of another', async () => {
    const profiles = new World().process(50_000);
    const refused = (leg: string) => ({ leg, reason: 'over-length', rejectedTokens: 10_000 }) as const;
    expect((await profiles.bind(LEG, [refused('other')])).horizon.tokens).toBe(50_000);
    expect(await profiles.bind(LEG, [refused('main')])).toMatchObject({
      horizon: { tokens: 9_000, confidence: 0.6 },
      verifiedWindow: 9_999,
    });
    expect((await profiles.bind(LEG)).horizon.tokens).toBe(50_000);
  });

  it('CAP-04 warns once a model whose window nobody states, naming the model and both fields', async () => {
    const world = new World();
    const profiles = world.process();
    await profiles.bind(LEG);
    await profiles.bind({ ...LEG, name: 'again' });
    expect(world.warnings).toHaveLength(1);
    expect(world.warnings[0]).toMatch(/model m .*legs\[\]\.window.*contextWindow/u);
    await world.process(9_000).bind(LEG);
    expect(world.warnings).toHaveLength(1);
  });

  it('CAP-04 the operator’s window here outranks the row another process wrote', async () => {
    const world = new World();
    const there = world.process();
    await there.learn(LEG, measured(there, world, 30_000), 'Q4');
    const bound = await world.process().bind({ ...LEG, window: 16_000 });
    expect(bound).toMatchObject({
      declaredWindow: 16_000,
      windowSource: 'operator',
      horizon: { tokens: 16_000 },
    });
    const wide = await world.process().bind({ ...LEG, window: 900_000 });
    expect(wide).toMatchObject({ declaredWindow: 900_000, horizon: { tokens: 30_000 } });
  });

  it('CAP-01 legs to one model at one address share its profile; another address has its own', async () => {
    const world = new World();
    const profiles = world.process(50_000);
    await profiles.learn(LEG, measured(profiles, world, 20_000), 'Q4');
    const fresh = world.process(50_000);
    expect((await fresh.bind({ ...LEG, name: 'twin' })).horizon.tokens).toBe(20_000);
    expect((await fresh.bind({ ...LEG, name: 'far', baseUrl: 'http://far' })).horizon.tokens).toBe(50_000);
    expect((await fresh.bind({ ...LEG, name: 'big', model: 'n' })).horizon.tokens).toBe(50_000);
  });
});

describe('what a process learns', () => {
  it('CAP-02 a probe stored by one process is bound by the other', async () => {
    const world = new World();
    const [here, there] = [world.process(), world.process()];
    await here.bind(LEG);
    await there.learn(LEG, measured(there, world, 13_000), 'Q4');
    expect((await here.bind(LEG)).horizon.tokens).not.toBe(13_000);
    world.nowMs += FRESH_MS;
    expect(await here.bind(LEG)).toMatchObject({ horizon: { tokens: 13_000 }, windowSource: 'provider' });
  });

  it('CAP-01 what calls taught while a probe ran joins what the probe stores', async () => {
    const world = new World();
    const profiles = world.process();
    await profiles.bind(LEG);
    const found = measured(profiles, world, 13_000);
    profiles.observe(LEG, sample(4_000));
    const after = await profiles.learn(LEG, found, 'Q4');
    expect(after).toMatchObject({ horizon: { tokens: 13_000 }, tokensPerByte: { value: 0.4, samples: 1 } });
    expect(await world.row()).toMatchObject({ tokensPerByte: { samples: 1 } });
  });

  it('CAP-01 a call is taken in at once, and shared in the background at most once a second', async () => {
    const world = new World();
    const profiles = world.process();
    await profiles.bind(LEG);
    for (let n = 0; n < 5; n += 1) profiles.observe(LEG, sample(4_000));
    expect((await profiles.bind(LEG)).tokensPerByte.samples).toBe(5);
    await settled();
    expect(world.writes).toBe(1);
    world.nowMs += SHARE_MS;
    profiles.observeClosedTurn(LEG, 700);
    await settled();
    expect(world.writes).toBe(2);
    expect(await world.row()).toMatchObject({
      tokensPerByte: { samples: 5 },
      closedTurnTokens: { value: 700 },
    });
  });

  it('CAP-07 a refusal lowers the shared row, and no other process’s call raises it', async () => {
    const world = new World();
    const [here, there] = [world.process(), world.process()];
    await here.learn(LEG, measured(here, world, 40_000), 'Q4');
    await there.bind(LEG);
    // Within the second in which a mean would wait.
    here.observe(LEG, sample(3_000));
    await settled();
    here.refuse(LEG, { rejectedTokens: 20_000 });
    await settled();
    expect(await world.row()).toMatchObject({ horizon: { tokens: 18_000 }, verifiedWindow: 19_999 });
    there.observe(LEG, sample(4_000));
    await settled();
    expect(await world.row()).toMatchObject({
      horizon: { tokens: 18_000, confidence: 0.6 },
      verifiedWindow: 19_999,
      needsReprobe: true,
      tokensPerByte: { samples: 1 },
    });
  });

  it('CAP-01 a write that somebody else was faster with is made anew, on what stands there now', async () => {
    const world = new World();
    const [here, there] = [world.process(), world.process()];
    await here.learn(LEG, measured(here, world, 40_000), 'Q4');
    await there.bind(LEG);
    here.refuse(LEG, { rejectedTokens: 20_000 });
    world.before = async () => {
      there.observe(LEG, sample(4_000));
      await settled();
    };
    await settled();
    await settled();
    expect(await world.row()).toMatchObject({ horizon: { tokens: 18_000 }, tokensPerByte: { samples: 1 } });
  });

  it('CAP-01 another build of the model begins a row of its own', async () => {
    const world = new World();
    const profiles = world.process();
    await profiles.learn(LEG, measured(profiles, world, 40_000), 'Q4');
    world.nowMs += 1;
    await profiles.learn(LEG, measured(profiles, world, 20_000), 'Q8');
    expect(await world.stored()).toMatchObject({ quantisation: 'Q8', version: 1 });
    expect((await world.row()).horizon.tokens).toBe(20_000);
  });

  it('CAP-02 a table that cannot be written costs the turn nothing', async () => {
    const world = new World();
    const profiles = world.process(50_000);
    await profiles.bind(LEG);
    world.unreachable = true;
    profiles.observe(LEG, sample(4_000));
    await settled();
    expect(world.errors).toHaveLength(1);
    expect((await profiles.bind(LEG)).tokensPerByte.samples).toBe(1);
  });
});
