import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Plan, PlannedPacket, StoredPacket } from '../../../src/context/plan/contract.ts';
import { packetAllowanceBytes } from '../../../src/context/plan/packets.ts';
import { Tally } from '../ledger/sample.ts';
import {
  fidelities,
  indexOf,
  numbersAs,
  planOf,
  queryChoice,
  type Scenario,
  type TurnSpec,
  turnSpec,
} from './plan-sample.ts';

const BATCH = 8;
/** Never whole: only cards and a packet. */
const cardsOnly = (count: number, card: number): readonly TurnSpec[] =>
  Array.from({ length: count }, () => ({ full: 1_000_000, card }));

const stored = (from: number, to: number, bytes: number): StoredPacket => ({
  from,
  to,
  bytes,
  quality: 'model',
});

/** As the runtime does: plans, stores the packet it wants, plans again. */
function planAndStore(scene: Scenario, packetBytes: (bytes: number) => number) {
  const packets = [...(scene.packets ?? [])];
  for (let built = 0; ; built++) {
    const plan = planOf({ ...scene, packets });
    if (plan.wants === null || plan.packet === null) return { plan, packets, built };
    packets.push({ ...plan.wants, bytes: packetBytes(plan.packet.bytes), quality: 'model' });
  }
}

const boundary = ({ packet }: Plan): number | undefined => packet?.to;

describe('the packet of a plan', () => {
  it('PLN-02 F10 ends on the same turn for eight turns at a time: the fixture of twenty cards', () => {
    const ends = (count: number) =>
      boundary(planOf({ index: indexOf(cardsOnly(count, 10_000)), budget: 20 * 10_000 + 5_600 }));
    expect(ends(20)).toBeUndefined();
    for (let count = 21; count <= 28; count++) expect([count, ends(count)]).toEqual([count, 8]);
    for (let count = 29; count <= 36; count++) expect([count, ends(count)]).toEqual([count, 16]);
    expect(ends(37)).toBe(24);
  });

  it('PLN-02 F10 makes room for the packet itself among the cards', () => {
    const of = (count: number) => planOf({ index: indexOf(cardsOnly(count, 30)), budget: 1_200 });
    expect(of(40)).toMatchObject({ packet: null, spentTokens: 1_200 });
    expect(of(41)).toMatchObject({ packet: { to: 24 }, spentTokens: 600 + 17 * 30 });
  });

  it('PLN-02 ends on a multiple of eight from the first turn, or where the history ends', () => {
    fc.assert(
      fc.property(
        fc.array(turnSpec, { maxLength: 60 }),
        fc.nat({ max: 4_000 }),
        queryChoice,
        (turns, budget, query) => {
          const { packet } = planOf({ index: indexOf(turns), budget, query });
          if (packet === null) return;
          expect(packet.from).toBe(1);
          if (packet.to !== turns.length) expect(packet.to % BATCH).toBe(0);
        },
      ),
    );
    const behind = planOf({ index: indexOf(cardsOnly(60, 30)), budget: 1_200, behind: 3 });
    expect(behind.packet).toMatchObject({ from: 4, to: 43 });
  });

  it('PLN-02 never moves its end back while turns are added that are not whole', () => {
    const tally = new Tally();
    const cards = fc.array(fc.integer({ min: 5, max: 80 }), { minLength: 1, maxLength: 70, size: 'max' });
    fc.assert(
      fc.property(cards, fc.integer({ min: 600, max: 3_000 }), (sizes, budget) => {
        const turns = sizes.map((card) => ({ full: 1_000_000, card }));
        const ends = turns.map(
          (_, at) => boundary(planOf({ index: indexOf(turns.slice(0, at + 1)), budget })) ?? 0,
        );
        expect(ends).toEqual(ends.toSorted((one, other) => one - other));
        tally.count({ 'moves more than once': new Set(ends).size > 2, 'never needed': ends.at(-1) === 0 });
      }),
      { numRuns: 60 },
    );
    tally.report('ends of packets');
  });

  it('PLN-02 EVA-04 storing what it wants moves no turn, and wants nothing more', () => {
    const tally = new Tally();
    const scene = fc.record({
      turns: fc.array(turnSpec, { minLength: 1, maxLength: 60, size: 'max' }),
      budget: fc.nat({ max: 6_000 }),
      query: queryChoice,
      part: fc.constantFrom(0.1, 0.5, 1),
    });
    fc.assert(
      fc.property(scene, ({ turns, part, ...rest }) => {
        const index = indexOf(turns);
        const before = planOf({ index, ...rest });
        if (before.wants !== null)
          expect(before.wants).toMatchObject({ from: before.packet?.from, to: before.packet?.to });
        const { plan, packets, built } = planAndStore({ index, ...rest }, (bytes) =>
          Math.floor(bytes * part),
        );
        expect(plan.runs).toEqual(before.runs);
        expect(built).toBe(before.wants === null ? 0 : 1);
        expect(plan.wants).toBeNull();
        if (built > 0) expect(plan.packet).toEqual(packets[0]);
        const large = planOf({ index, ...rest, budget: 1_000_000, packets });
        expect(large).toMatchObject({ packet: null, wants: null, leftOut: 0 });
        expect([...fidelities(large).values()].every((as) => as === 'full')).toBe(true);
        expect(planOf({ index, ...rest, packets })).toEqual(plan);
        tally.count({
          'with a packet': built > 0,
          'without one': built === 0,
          promoted: plan.promoted.length > 0,
        });
      }),
      { numRuns: 300 },
    );
    tally.report('two-model replays');
  });

  it('PLN-02 uses a summary of exactly the range it wants, and no other', () => {
    const scene = { index: indexOf(cardsOnly(45, 30)), budget: 1_200 };
    const others = [
      stored(1, 40, 50),
      stored(1, 24, 50),
      stored(1, 31, 50),
      stored(2, 32, 50),
      { ...stored(1, 32, 50), quality: 'deterministic' as const },
    ];
    const packet: PlannedPacket = { from: 1, to: 32, quality: 'deterministic', bytes: 600 };
    expect(planOf({ ...scene, packets: others })).toMatchObject({ packet, wants: { from: 1, to: 32 } });
    const plan = planOf({ ...scene, packets: [...others, stored(1, 32, 450)] });
    expect(plan).toEqual({
      runs: [
        { from: 1, to: 32, fidelity: 'packet' },
        { from: 33, to: 45, fidelity: 'card' },
      ],
      packet: { from: 1, to: 32, quality: 'model', bytes: 450 },
      promoted: [],
      continues: null,
      budgetTokens: 1_200,
      spentTokens: 450 + 13 * 30,
      leftOut: 0,
      wants: null,
    });
  });

  it('PLN-02 goes past a summary that is too large for its place, and ends with one made from cards', () => {
    const scene = { index: indexOf(cardsOnly(45, 30)), budget: 1_200 };
    const fits = planOf({ ...scene, packets: [stored(1, 32, 810)] });
    expect(fits).toMatchObject({ packet: { to: 32, quality: 'model' }, spentTokens: 1_200 });
    const next = planOf({ ...scene, packets: [stored(1, 32, 811)] });
    expect(next).toMatchObject({ packet: { to: 40, quality: 'deterministic' }, wants: { from: 1, to: 40 } });
    const all = [stored(1, 32, 2_000), stored(1, 40, 2_000), stored(1, 45, 2_000)];
    const made = planOf({ ...scene, packets: all });
    expect(made).toMatchObject({ packet: { to: 32, quality: 'deterministic', bytes: 600 }, wants: null });
    fc.assert(
      fc.property(
        fc.array(turnSpec, { maxLength: 50 }),
        fc.nat({ max: 5_000 }),
        fc.nat({ max: 4_000 }),
        (turns, budget, bytes) => {
          const { plan, built } = planAndStore({ index: indexOf(turns), budget }, () => bytes);
          expect(plan.spentTokens).toBeLessThanOrEqual(budget);
          expect(built).toBeLessThanOrEqual(Math.ceil(turns.length / BATCH));
        },
      ),
    );
  });

  it('PLN-02 F10 charges the packet: a fifth of the budget, 600 bytes at least, 5,600 at most', () => {
    const of = (tokens: number, tokensPerByte: number) =>
      packetAllowanceBytes(tokens, { tokensPerByte: { value: tokensPerByte, samples: 1 } });
    expect([of(100, 1), of(3_000, 1), of(3_000, 0.25), of(90_000, 1)]).toEqual([600, 600, 2_400, 5_600]);
  });

  it('PLN-01 whole turns give way to the packet where it does not fit beside them, the oldest first, promoted ones last', () => {
    const turns = Array.from({ length: 40 }, (_, at) => ({
      asked: at === 0 ? 'Lisbon' : 'violin',
      full: 100,
      card: 60,
    }));
    const plan = planOf({ index: indexOf(turns), budget: 1_200, query: { text: 'about Lisbon' } });
    expect(plan.packet).toMatchObject({ from: 1, to: 40, bytes: 600 });
    expect(numbersAs(plan, 'full')).toEqual([1, 36, 37, 38, 39, 40]);
    expect(plan.spentTokens).toBe(1_200);
  });

  it('PLN-01 no more whole turns give way than it takes to show the others as cards', () => {
    const turns = Array.from({ length: 14 }, () => ({ full: 100, card: 10 }));
    const plan = planOf({ index: indexOf(turns), budget: 1_200 });
    expect(plan).toMatchObject({ packet: null, leftOut: 0, spentTokens: 1_130 });
    expect(numbersAs(plan, 'full')).toHaveLength(11);
  });

  it('PLN-06 leaves turns out only where not even 600 bytes are left for a packet', () => {
    const index = indexOf(Array.from({ length: 20 }, () => ({ full: 100, card: 60 })));
    expect(planOf({ index, budget: 599 })).toMatchObject({
      packet: null,
      wants: null,
      leftOut: 14,
      spentTokens: 560,
    });
    expect(planOf({ index, budget: 600 })).toMatchObject({
      packet: { from: 1, to: 20, bytes: 600 },
      leftOut: 0,
    });
  });
});
