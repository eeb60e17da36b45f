/** What a missed instruction teaches of a model's horizon, from the reply to the plan of the next turn. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { metadataProfile } from '../../../src/context/capacity/metadata.ts';
import type { CapacityProfile } from '../../../src/context/capacity/profile.ts';
import type { SessionRef } from '../../../src/db/contract.ts';
import { blake3Hex } from '../../../src/ledger/chain.ts';
import { canonicalJson } from '../../../src/ledger/json.ts';
import type { SimHabits, SimModel } from '../../../src/sim/contract.ts';
import { type ChecksStack, market, openChecks, SOUND, writeNote } from './checks-stack.ts';

const WINDOW = 8_000;
/** What the stack lets a reply have. */
const REPLY = 512;
const CONFIDENCE = 0.95;
const AS_MEASURED = { needsReprobe: false, horizon: { tokens: WINDOW, confidence: CONFIDENCE } };
const LINE = 'The tide at the quay turns at noon, and the keeper of the lamp looks down from the tower. ';
const UPDATE = 'Update the note on the zinc price at Tarvo.';
const GATE = 'The gate at Melrin opens at 0700. When does the gate at Melrin open?';
const ZINC = 'In stores.md, what is the zinc price at Tarvo?';

const models: readonly SimModel[] = (
  [
    ['claims near', { claimsDone: 1 }],
    ['claims far', { claimsDone: 1 }],
    ['drifts near', { repeatAnswer: 1 }],
    ['drifts far', { repeatAnswer: 1 }],
    ['sound near', {}],
    ['ungrounded near', { ungrounded: 1 }],
  ] satisfies readonly (readonly [string, SimHabits])[]
).map(([name, habits]) => ({
  ...SOUND,
  name: name.replace(' ', '-'),
  window: WINDOW,
  horizon: WINDOW,
  habits,
}));

describe('an instruction that was missed', () => {
  let checks: ChecksStack;
  beforeAll(async () => {
    const files = { 'stores.md': '# Stores\n\nThe zinc price at Tarvo is 4127 marks.\n' };
    checks = await openChecks([market().tool, writeNote], files, models);
    for (const { name } of models) await measure(name);
  });
  afterAll(() => checks.close());

  const keyOf = (model: string) => ({
    provider: 'openai' as const,
    endpointDigest: blake3Hex(`${checks.stack.sim.url}/v1`),
    model,
    quantisation: '',
  });

  /** The model's profile as a ladder would have measured it. */
  async function measure(model: string): Promise<void> {
    const probedAtMs = Date.now();
    const stated = metadataProfile({
      operatorWindow: WINDOW,
      operatorMaxOutput: REPLY,
      providerWindow: null,
      providerMaxOutput: null,
      catalogueWindow: null,
      catalogueMaxOutput: null,
      metadataDigest: null,
      probedAtMs,
    });
    const measured: CapacityProfile = {
      ...stated,
      horizon: { tokens: WINDOW, confidence: CONFIDENCE, lastConfirmedMs: probedAtMs },
      tokensPerByte: { value: SOUND.tokensPerByte, samples: 9 },
    };
    await checks.stack.producer.profiles.write(keyOf(model), canonicalJson(measured), 0);
  }

  /** The profile by which the process plans the session's next turn. */
  async function plannedBy(session: SessionRef): Promise<CapacityProfile> {
    const { turn } = await checks.ask(session, 'Good morning.');
    const plan = (await checks.stack.records(session, turn)).find(({ kind }) => kind === 'context-plan');
    return plan?.data.profile as unknown as CapacityProfile;
  }

  const filled = (share: number, asked: string): string =>
    `${LINE.repeat(Math.floor((share * WINDOW) / SOUND.tokensPerByte / LINE.length))}\n\n${asked}`;

  async function ask(name: string, share: number, asked: string, tools = ['read', 'write_note']) {
    const session = await checks.session(name, tools);
    await checks.ask(session, ZINC);
    const seen = await checks.ask(session, filled(share, asked));
    const profile = await plannedBy(session);
    await checks.isSound(session);
    return { seen, profile, missed: seen.feedback.filter(({ reason }) => reason === 'missed-instruction') };
  }

  it('CAP-07 near the horizon lowers it to the request, and says so in the ledger', async () => {
    const { seen, missed, profile } = await ask('claims-near', 0.8, UPDATE);
    expect(seen.fired.map(({ check }) => check)).toEqual(['stop-gate']);
    expect(missed).toMatchObject([{ leg: 'claims-near', check: 'stop-gate' }]);
    const [{ requestTokens, horizonTokens } = {}] = missed;
    expect(Number(requestTokens)).toBeGreaterThanOrEqual(0.8 * WINDOW);
    expect(Number(horizonTokens)).toBeLessThan(WINDOW);
    expect(Math.abs(Number(horizonTokens) - Number(requestTokens))).toBeLessThanOrEqual(1);
    expect(profile).toMatchObject({ needsReprobe: true, horizon: { tokens: horizonTokens } });
    expect(profile.horizon.confidence).toBeLessThan(CONFIDENCE);
  });

  it('CAP-07 F8 far from the horizon changes nothing', async () => {
    const { seen, missed, profile } = await ask('claims-far', 0.4, UPDATE);
    expect(seen.fired.map(({ check }) => check)).toEqual(['stop-gate']);
    expect(missed).toEqual([]);
    expect(profile).toMatchObject(AS_MEASURED);
  });

  it('CAP-07 CHK-05 a repeat near the horizon makes it doubtful, and no smaller', async () => {
    const { seen, missed, profile } = await ask('drifts-near', 0.8, GATE, ['read']);
    expect(seen.fired).toMatchObject([{ check: 'drift', verdict: 'redo' }]);
    expect(missed).toMatchObject([{ check: 'drift', horizonTokens: WINDOW }]);
    expect(profile).toMatchObject({ needsReprobe: true, horizon: { tokens: WINDOW } });
    expect(profile.horizon.confidence).toBeLessThan(CONFIDENCE);
  });

  it('CAP-07 F8 CHK-05 a repeat far from the horizon changes nothing', async () => {
    const { seen, missed, profile } = await ask('drifts-far', 0.4, GATE, ['read']);
    expect(seen.fired).toMatchObject([{ check: 'drift', verdict: 'redo' }]);
    expect(missed).toEqual([]);
    expect(profile).toMatchObject(AS_MEASURED);
  });

  it('CAP-07 neither an answer that stands nor one that only rests on nothing says anything of the horizon', async () => {
    const sound = await ask('sound-near', 0.8, UPDATE);
    expect(sound.seen.fired).toEqual([]);
    const asked = 'What is the current zinc price at Tarvo?';
    const loose = await ask('ungrounded-near', 0.8, asked, ['read', 'look_up']);
    expect(loose.seen.fired.map(({ check }) => check)).toEqual(['grounding']);
    for (const { missed, profile } of [sound, loose]) {
      expect(missed).toEqual([]);
      expect(profile).toMatchObject(AS_MEASURED);
    }
  });
});
