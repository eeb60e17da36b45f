import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { metadataProfile } from '../../../src/context/capacity/bind.ts';
import type { CapacityProfile } from '../../../src/context/capacity/profile.ts';
import { type Plan, type PlanInput, planTurns, promptCeiling } from '../../../src/context/plan/plan.ts';
import { Tally } from '../ledger/sample.ts';

const BATCH = 8;

function profileOf(change: Partial<CapacityProfile>): CapacityProfile {
  const base = metadataProfile({
    operatorWindow: 100_000,
    operatorMaxOutput: 0,
    providerWindow: null,
    providerMaxOutput: null,
    metadataDigest: null,
    probedAtMs: 0,
  });
  return { ...base, ...change };
}

/** One token a byte and no reserve: a budget of exactly `tokens`. */
function budgetOf(tokens: number): CapacityProfile {
  const horizon = { tokens, confidence: 1, lastConfirmedMs: 0 };
  return profileOf({ horizon, tokensPerByte: { value: 1, samples: 1 }, outputReserve: 0 });
}

function inputOf(profile: CapacityProfile, bytesOldestFirst: readonly number[]): PlanInput {
  const closed = bytesOldestFirst.map((bytes, index) => ({ number: index + 1, bytes })).reverse();
  return { profile, prefixBytes: 0, openTurnBytes: 0, closed, closedCount: closed.length, packets: [] };
}

/** As the runtime does: plans, stores the packet it wants, plans again. */
function planAndStore(input: PlanInput, packetBytes: number): Plan {
  const packets = [...input.packets];
  for (;;) {
    const plan = planTurns({ ...input, packets });
    if (plan.wants === null) return plan;
    packets.push({ ...plan.wants, bytes: packetBytes });
  }
}

const sizes = fc.array(fc.integer({ min: 1, max: 400 }), { maxLength: 60 });
const scenario = fc.record({
  sizes,
  budget: fc.nat({ max: 6_000 }),
  packet: fc.integer({ min: 1, max: 400 }),
});

describe('the plan of a turn', () => {
  it('EVA-01 never exceeds the budget, never splits a turn, and has each closed turn exactly once', () => {
    const tally = new Tally();
    fc.assert(
      fc.property(scenario, ({ sizes: made, budget, packet }) => {
        const input = inputOf(budgetOf(budget), made);
        const plan = planAndStore(input, packet);
        expect(plan.budgetTokens).toBe(budget);
        expect(plan.spentTokens).toBeLessThanOrEqual(budget);
        const full = plan.runs.filter((run) => run.fidelity === 'full');
        const packets = plan.runs.filter((run) => run.fidelity === 'packet');
        const carried = plan.runs.flatMap(({ from, to }) =>
          Array.from({ length: to - from + 1 }, (_, index) => from + index),
        );
        expect(new Set(carried).size).toBe(carried.length);
        expect(carried).toEqual([...carried].sort((a, b) => a - b));
        for (const number of carried) expect(made[number - 1]).toBeDefined();
        expect(plan.leftOut).toBe(made.length - carried.length);
        const fullBytes = full.flatMap(({ from, to }) => made.slice(from - 1, to));
        expect(plan.spentTokens).toBe(
          fullBytes.reduce((sum, bytes) => sum + bytes, 0) + (packets.length > 0 ? packet : 0),
        );
        if (full.length > 0) expect(full[0]?.to).toBe(made.length);
        if (packet <= budget) expect(plan.leftOut).toBe(0);
        tally.count({
          whole: packets.length === 0 && plan.leftOut === 0,
          'with a packet': packets.length > 0,
          'with turns left out': plan.leftOut > 0,
          'nothing carried': carried.length === 0 && made.length > 0,
        });
      }),
      { numRuns: 1_000 },
    );
    tally.report('plans');
  });

  it('PLN-02 ends a packet on a multiple of eight from the first turn, or where the history ends', () => {
    fc.assert(
      fc.property(scenario, ({ sizes: made, budget }) => {
        const { wants } = planTurns(inputOf(budgetOf(budget), made));
        if (wants === null) return;
        expect(wants.from).toBe(1);
        if (wants.to !== made.length) expect(wants.to % BATCH).toBe(0);
      }),
    );
  });

  it('PLN-02 never moves the end of a packet back while turns are added', () => {
    fc.assert(
      fc.property(scenario, ({ sizes: made, budget }) => {
        let before = 0;
        for (let count = 0; count <= made.length; count++) {
          const { wants } = planTurns(inputOf(budgetOf(budget), made.slice(0, count)));
          if (wants === null) continue;
          expect(wants.to).toBeGreaterThanOrEqual(before);
          before = wants.to;
        }
      }),
    );
  });

  it('PLN-02 keeps its boundary for eight turns at a time', () => {
    const ends = new Map<number, number | undefined>();
    for (let count = 20; count <= 37; count++)
      ends.set(count, planTurns(inputOf(budgetOf(200), Array(count).fill(10))).wants?.to);
    expect(ends.get(20)).toBeUndefined();
    for (let count = 21; count <= 28; count++) expect([count, ends.get(count)]).toEqual([count, 8]);
    for (let count = 29; count <= 36; count++) expect([count, ends.get(count)]).toEqual([count, 16]);
    expect(ends.get(37)).toBe(24);
  });

  it('PLN-02 uses a packet of exactly the range it wants, and no other', () => {
    const input = inputOf(budgetOf(200), Array(25).fill(10));
    const others = [
      { from: 1, to: 16, bytes: 5 },
      { from: 1, to: 7, bytes: 5 },
      { from: 2, to: 8, bytes: 5 },
    ];
    expect(planTurns({ ...input, packets: others }).wants).toEqual({ from: 1, to: 8 });
    const exact = { from: 1, to: 8, bytes: 30 };
    const plan = planTurns({ ...input, packets: [...others, exact] });
    expect(plan).toEqual({
      runs: [
        { from: 1, to: 8, fidelity: 'packet' },
        { from: 9, to: 25, fidelity: 'full' },
      ],
      budgetTokens: 200,
      spentTokens: 200,
      leftOut: 0,
      wants: null,
    });
  });

  it('EVA-04 carries the history whole again under a larger model, and the same packet under the smaller', () => {
    const bytes = Array<number>(25).fill(10);
    const packets = [{ from: 1, to: 8, bytes: 30 }];
    const small = planTurns({ ...inputOf(budgetOf(200), bytes), packets });
    const large = planTurns({ ...inputOf(budgetOf(2_000), bytes), packets });
    expect(large.runs).toEqual([{ from: 1, to: 25, fidelity: 'full' }]);
    expect(planTurns({ ...inputOf(budgetOf(200), bytes), packets })).toEqual(small);
    expect(small.wants).toBeNull();
  });

  it('does without a packet that is larger than the whole budget', () => {
    const input = { ...inputOf(budgetOf(20), Array(9).fill(10)), packets: [{ from: 1, to: 8, bytes: 500 }] };
    expect(planTurns(input)).toMatchObject({
      runs: [{ from: 8, to: 9, fidelity: 'full' }],
      wants: null,
      leftOut: 7,
    });
  });

  it('carries nothing of no history, and fails for no budget', () => {
    expect(planTurns(inputOf(budgetOf(0), []))).toEqual({
      runs: [],
      budgetTokens: 0,
      spentTokens: 0,
      leftOut: 0,
      wants: null,
    });
    expect(planTurns(inputOf(budgetOf(0), [10, 10]))).toMatchObject({ runs: [], wants: { from: 1, to: 2 } });
  });
});

describe('the budget', () => {
  it('CAP-04 is the horizon, or the window less the reply where that is lower', () => {
    const horizon = (tokens: number) => ({ tokens, confidence: 0.3, lastConfirmedMs: 0 });
    const of = (
      declaredWindow: number,
      tokens: number,
      outputReserve: number,
      verified: number | null = null,
    ) =>
      promptCeiling(
        profileOf({ declaredWindow, horizon: horizon(tokens), outputReserve, verifiedWindow: verified }),
      );
    expect(of(32_000, 13_000, 4_000)).toBe(13_000);
    expect(of(8_192, 8_192, 4_096)).toBe(4_096);
    expect(of(32_000, 32_000, 4_000, 20_000)).toBe(16_000);
    expect(of(1_000, 1_000, 4_000)).toBe(0);
  });

  it('leaves out the prefix and the open turn, which counts at least as much as turns were seen to', () => {
    const profile = { ...budgetOf(1_000), closedTurnTokens: { value: 120.5, samples: 3 } };
    const budget = (openTurnBytes: number, prefixBytes = 200) =>
      planTurns({ ...inputOf(profile, []), openTurnBytes, prefixBytes }).budgetTokens;
    expect(budget(50)).toBe(1_000 - 200 - 121);
    expect(budget(300)).toBe(1_000 - 200 - 300);
    expect(budget(5_000)).toBe(0);
  });
});
