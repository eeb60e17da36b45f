import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { historyBudget, promptCeiling } from '../../../src/context/plan/budget.ts';
import { PLAN_DEFAULTS, planOptions } from '../../../src/context/plan/options.ts';
import { planTurns } from '../../../src/context/plan/plan.ts';
import { RELEVANCE_FLOOR } from '../../../src/context/plan/values.ts';
import { explainPlan } from '../../../src/context/plan/why.ts';
import { Tally } from '../ledger/sample.ts';
import {
  fidelities,
  indexOf,
  inputOf,
  linksOf,
  numbersAs,
  optionsChoice,
  planOf,
  profileOf,
  queryChoice,
  type TurnSpec,
  turnSpec,
} from './plan-sample.ts';

const scenario = fc.record({
  turns: fc.array(turnSpec, { maxLength: 60, size: 'max' }),
  budget: fc.oneof(fc.nat({ max: 1_000 }), fc.integer({ min: 600, max: 3_000 }), fc.nat({ max: 20_000 })),
  query: queryChoice,
  options: optionsChoice,
  behind: fc.constantFrom(0, 0, 5),
});

const filler = (count: number): readonly TurnSpec[] =>
  Array.from({ length: count }, () => ({ asked: 'violin' }));

describe('the plan of a turn', () => {
  it('EVA-01 never exceeds the budget, never splits a turn, and has each turn exactly once', () => {
    const tally = new Tally();
    fc.assert(
      fc.property(scenario, ({ turns, ...choice }) => {
        const input = inputOf({ index: indexOf(turns), ...choice });
        const plan = planTurns(input);
        const carried = fidelities(plan);
        const plannable = turns.map((_, at) => at + 1).filter((number) => number > choice.behind);
        expect(plan.budgetTokens).toBe(choice.budget);
        expect(plan.spentTokens).toBeLessThanOrEqual(choice.budget);
        expect([...carried.keys()].every((number) => plannable.includes(number))).toBe(true);
        expect(carried.size + plan.leftOut).toBe(plannable.length);
        expect([...carried.keys()]).toEqual([...carried.keys()].sort((one, other) => one - other));
        const tokens = [...carried].map(([number, as]) => {
          const turn = turns[number - 1];
          return (as === 'full' ? turn?.full : as === 'card' ? turn?.card : 0) ?? 0;
        });
        const packet = plan.packet?.bytes ?? 0;
        expect(plan.spentTokens).toBe(tokens.reduce((sum, cost) => sum + cost, packet));
        for (const [at, run] of plan.runs.entries()) {
          const next = plan.runs[at + 1];
          expect(next?.fidelity === run.fidelity && next.from === run.to + 1).toBe(false);
        }
        expect(planTurns(input)).toEqual(plan);
        const kinds = new Set(carried.values());
        tally.count({
          'all whole': kinds.size === 1 && kinds.has('full'),
          'whole turns and cards': kinds.has('full') && kinds.has('card'),
          'with a packet': kinds.has('packet'),
          'whole turns inside a packet': plan.runs.filter(({ fidelity }) => fidelity === 'packet').length > 1,
          'with turns left out': plan.leftOut > 0,
          'with promoted turns': plan.promoted.length > 0,
        });
      }),
      { numRuns: 600 },
    );
    tally.report('plans');
  });

  it('PLN-01 takes whole turns by value and then by age, and a cheaper one for one that does not fit', () => {
    const index = indexOf([{ full: 50 }, { full: 300 }, { full: 90 }, { full: 100 }]);
    const plan = planOf({ index, budget: 250 });
    expect(fidelities(plan)).toEqual(
      new Map([
        [1, 'full'],
        [2, 'card'],
        [3, 'full'],
        [4, 'full'],
      ]),
    );
    expect(plan).toMatchObject({ promoted: [], packet: null, wants: null, leftOut: 0, spentTokens: 250 });
  });

  it('PLN-01 takes what matches before what is merely new', () => {
    const index = indexOf([{ asked: 'Lisbon harbour dues' }, ...filler(20)]);
    const plan = planOf({ index, budget: 420, query: { text: 'harbour dues in Lisbon' } });
    expect(plan.promoted).toEqual([{ number: 1, by: 'relevance', value: 1 }]);
    expect(numbersAs(plan, 'full')).toEqual([1, 19, 20, 21]);
    expect(numbersAs(planOf({ index, budget: 420, query: { text: 'glacier' } }), 'full')).toEqual([
      18, 19, 20, 21,
    ]);
  });

  it('PLN-01 a turn that shares less than half of the words, or one word alone, is no match', () => {
    const asked = { text: 'copper tariff harbour orchid' };
    const of = (first: string) =>
      planOf({ index: indexOf([{ asked: first }, ...filler(20)]), budget: 420, query: asked }).promoted;
    expect(of('copper')).toEqual([]);
    expect(of('copper and then something about harbour')).toMatchObject([{ number: 1 }]);
    expect(of('copper tariff')).toMatchObject([{ number: 1 }]);
    const weak = indexOf([
      { asked: 'copper harbour', narration: 'glacier violin ledger '.repeat(200) },
      { asked: 'copper tariff harbour orchid' },
      ...filler(20),
    ]);
    const promoted = planOf({ index: weak, budget: 520, query: asked }).promoted;
    expect(promoted).toMatchObject([{ number: 2, value: 1 }]);
    for (const { value } of promoted) expect(value).toBeGreaterThanOrEqual(RELEVANCE_FLOOR);
  });

  it('F12 a word that most turns have makes none of them whole, nor do generic words', () => {
    const index = indexOf([{ asked: 'reply three times' }, ...filler(20)]);
    expect(planOf({ index, budget: 420, query: { text: 'violin' } }).promoted).toEqual([]);
    expect(
      planOf({ index, budget: 420, query: { text: 'reply with the number of times' } }).promoted,
    ).toEqual([]);
  });

  it('PLN-01 F12 makes whole what is pointed back at, before any match of words, over an interjection', () => {
    const turns = [
      { asked: 'Lisbon harbour dues' },
      { asked: 'the copper price', full: 120 },
      { asked: 'hush', act: 'converse' },
    ];
    const query = { text: 'do that again, as for Lisbon harbour dues', links: linksOf('continues T2') };
    const plan = planOf({ index: indexOf(turns), budget: 150, query });
    expect(plan.continues).toBe(2);
    expect(plan.promoted).toEqual([{ number: 2, by: 'anaphora', value: 1 }]);
    expect(numbersAs(plan, 'full')).toEqual([2]);
    const olderThanTheMatch = planOf({
      index: indexOf([{ asked: 'the copper price', full: 120 }, { asked: 'Lisbon harbour dues' }, {}]),
      budget: 150,
      query: { ...query, links: linksOf('continues T1') },
    });
    expect(numbersAs(olderThanTheMatch, 'full')).toEqual([1]);
    const interrupted = planOf({ index: indexOf(turns.slice(1)), budget: 150, query: { text: 'again' } });
    expect(interrupted.promoted).toMatchObject([{ number: 1, by: 'anaphora' }]);
    const nothingAlike = planOf({
      index: indexOf(turns),
      budget: 110,
      query: { text: 'again', act: 'govern' },
    });
    expect(numbersAs(nothingAlike, 'full')).toEqual([3]);
  });

  it('PLN-07 takes the likeness of an embedding for relevance where it is higher, and only from the floor on', () => {
    const index = indexOf([...filler(2), { asked: 'copper' }, ...filler(20)]);
    const likeness = (number: number) => (number === 1 ? 0.8 : number === 3 ? 0.6 : RELEVANCE_FLOOR - 0.01);
    const scene = { index, budget: 520, query: { text: 'copper' } };
    expect(planOf({ ...scene, likeness }).promoted).toEqual([
      { number: 1, by: 'relevance', value: 0.8 },
      { number: 3, by: 'relevance', value: 1 },
    ]);
    expect(planOf({ ...scene, likeness, options: { signals: 'minimal' } }).promoted).toEqual([]);
    expect(planOf(scene).promoted).toEqual([{ number: 3, by: 'relevance', value: 1 }]);
  });

  it('F11 under `signal` makes no turn whole that only its age speaks for', () => {
    const index = indexOf([{ asked: 'copper' }, ...filler(20)]);
    const scene = { index, budget: 9_000, options: { eligibility: 'signal' as const } };
    expect(numbersAs(planOf({ ...scene, query: { text: 'copper' } }), 'full')).toEqual([1]);
    expect(numbersAs(planOf({ ...scene, query: { text: 'glacier' } }), 'full')).toEqual([]);
    expect(numbersAs(planOf({ ...scene, query: { text: 'again', act: 'govern' } }), 'full')).toEqual([21]);
  });

  it('PLN-01 under `minimal` follows no words and no links, but what is pointed back at', () => {
    const index = indexOf([
      { asked: 'copper', links: linksOf('wrote a.ts') },
      { asked: 'hush', act: 'modify' },
      ...filler(8).map((turn) => ({ ...turn, act: 'converse' })),
    ]);
    const scene = { index, budget: 400, options: { signals: 'minimal' as const } };
    expect(planOf({ ...scene, query: { text: 'copper in a.ts' } }).promoted).toEqual([]);
    expect(planOf({ ...scene, query: { text: 'again', act: 'modify' } }).promoted).toMatchObject([
      { number: 2, by: 'anaphora' },
    ]);
  });

  it('PLN-04 plans nothing behind a reset, and points back at nothing there', () => {
    const index = indexOf([{ asked: 'copper' }, ...filler(3)]);
    const plan = planOf({ index, budget: 9_000, behind: 2, query: { text: 'copper again', act: 'govern' } });
    expect([...fidelities(plan).keys()]).toEqual([3, 4]);
    const all = planOf({ index, budget: 9_000, behind: 4, query: { text: 'copper again' } });
    expect(all).toMatchObject({ runs: [], packet: null, leftOut: 0, promoted: [], continues: null });
  });

  it('numbers with gaps stand in runs by their neighbours', () => {
    const index = indexOf([{ number: 39 }, { number: 40 }, { number: 57 }]);
    expect(planOf({ index, budget: 900 }).runs).toEqual([{ from: 39, to: 57, fidelity: 'full' }]);
  });

  it('carries nothing of no history, and leaves all out for no budget', () => {
    const nothing = { runs: [], packet: null, promoted: [], spentTokens: 0, wants: null };
    expect(planOf({ index: indexOf([]), budget: 100 })).toMatchObject({ ...nothing, leftOut: 0 });
    expect(planOf({ index: indexOf([{}, {}]), budget: 0 })).toMatchObject({ ...nothing, leftOut: 2 });
  });
});

describe('a plan in words', () => {
  it('PLN-01 accounts for every run and every token, with a reason for each piece', () => {
    fc.assert(
      fc.property(scenario, ({ turns, ...choice }) => {
        const input = inputOf({ index: indexOf(turns), ...choice });
        const plan = planTurns(input);
        const pieces = explainPlan(input, plan);
        expect(pieces.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(plan.spentTokens);
        expect(fidelities({ ...plan, runs: pieces })).toEqual(fidelities(plan));
        for (const { reason } of pieces) expect(reason).not.toBe('');
      }),
    );
  });

  it('PLN-05 tells a match, a link and its way, what is pointed back at, and what is merely new', () => {
    const index = indexOf([
      { asked: 'Lisbon harbour dues' },
      { asked: 'orchid', links: linksOf('wrote a.ts') },
      ...filler(20),
    ]);
    const query = { text: 'harbour dues in Lisbon, a.ts, again', act: 'govern' };
    const input = inputOf({ index, budget: 700, query });
    const reasons = explainPlan(input, planTurns(input)).map(({ reason }) => reason);
    expect(reasons).toEqual([
      'matches what is asked (1)',
      'linked over file:a.ts → turn:T2 (0.8)',
      'fits as a card',
      'among the newest that fit',
    ]);
  });
});

describe('the budget', () => {
  const horizon = (tokens: number) => ({ tokens, confidence: 0.3, lastConfirmedMs: 0 });

  it('CAP-04 is the horizon, or the window less the reply where that is lower', () => {
    const of = (
      declaredWindow: number,
      tokens: number,
      outputReserve: number,
      verifiedWindow: number | null = null,
    ) => promptCeiling(profileOf(tokens, { declaredWindow, outputReserve, verifiedWindow }));
    expect(of(32_000, 13_000, 4_000)).toBe(13_000);
    expect(of(8_192, 8_192, 4_096)).toBe(4_096);
    expect(of(32_000, 32_000, 4_000, 20_000)).toBe(16_000);
    expect(of(1_000, 1_000, 4_000)).toBe(0);
  });

  it('CAP-04 F3 charges the reply to the horizon only where it is told to, and obeys a smaller window and reserve', () => {
    const profile = profileOf(13_000, { declaredWindow: 32_000, outputReserve: 4_000 });
    const of = (change: Parameters<typeof planOptions>[0]) => promptCeiling(profile, planOptions(change));
    expect(of({ reserve: 'horizon' })).toBe(9_000);
    expect(of({ contextWindow: 10_000 })).toBe(6_000);
    expect(of({ contextWindow: 10_000, reserveTokens: 500 })).toBe(9_500);
    expect(of({ reserve: 'horizon', contextWindow: 10_000 })).toBe(6_000);
    expect(planOptions()).toEqual(PLAN_DEFAULTS);
  });

  it('PLN-01 leaves out prefix, handoff and the open turn, which counts at least as much as turns were seen to', () => {
    const profile = profileOf(1_000, {
      horizon: horizon(1_000),
      closedTurnTokens: { value: 120.5, samples: 3 },
    });
    const budget = (openTurnBytes: number, resetBytes = 0) =>
      historyBudget({ profile, options: PLAN_DEFAULTS, prefixBytes: 200, openTurnBytes, resetBytes });
    expect(budget(50)).toBe(1_000 - 200 - 121);
    expect(budget(300)).toBe(1_000 - 200 - 300);
    expect(budget(300, 40)).toBe(1_000 - 200 - 300 - 40);
    expect(budget(5_000)).toBe(0);
  });
});
