import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RELEVANCE_FLOOR, signalsOf } from '../../../src/context/plan/values.ts';
import {
  cosine,
  likenessOf,
  placedText,
  quantise,
  wordsOfCard,
} from '../../../src/context/relevance/vectors.ts';
import type { TurnCard } from '../../../src/ledger/turn-card.ts';
import { indexOf, inputOf, type Scenario } from './plan-sample.ts';

/** What two vectors may have less or more in common once each is a byte a dimension. */
const TOLERANCE = 0.02;

/** A pair of unit vectors from unrelated to nearly the same. */
const pair = fc
  .record({
    dimensions: fc.integer({ min: 64, max: 1_536 }),
    seed: fc.integer(),
    shared: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  .map(({ dimensions, seed, shared }) => {
    const random = normals(seed);
    const draw = () => Array.from({ length: dimensions }, random);
    const [common, one, other] = [draw(), draw(), draw()];
    const mixed = (own: readonly number[]) =>
      own.map((value, at) => shared * (common[at] ?? 0) + (1 - shared) * value);
    return [unit(mixed(one)), unit(mixed(other))] as const;
  });

/** Normally distributed numbers, the same for the same seed. */
function normals(seed: number): () => number {
  let state = seed | 0;
  const uniform = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
}

function unit(vector: readonly number[]): readonly number[] {
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
}

const dot = (one: readonly number[], other: readonly number[]) =>
  one.reduce((sum, value, at) => sum + value * (other[at] ?? 0), 0);

describe('places of turns', () => {
  it('PLN-07 a byte a dimension keeps what two vectors have in common to within 0.02', () => {
    fc.assert(
      fc.property(pair, ([one, other]) => {
        const kept = cosine(quantise(one), quantise(other));
        expect(Math.abs(kept - dot(one, other))).toBeLessThan(TOLERANCE);
      }),
      { numRuns: 300 },
    );
  });

  it('PLN-07 a place is as near to another as that one to it, and to itself as near as can be', () => {
    fc.assert(
      fc.property(pair, ([one, other]) => {
        const [a, b] = [quantise(one), quantise(other)];
        expect(cosine(a, b)).toBe(cosine(b, a));
        expect(cosine(a, a)).toBeCloseTo(1, 9);
      }),
    );
  });

  it('PLN-07 how long a vector is makes no difference', () => {
    fc.assert(
      fc.property(pair, fc.double({ min: 0.001, max: 1_000, noNaN: true }), ([one, other], factor) => {
        const longer = quantise(one.map((value) => value * factor));
        expect(Math.abs(cosine(longer, quantise(other)) - dot(one, other))).toBeLessThan(TOLERANCE);
      }),
    );
  });

  it('PLN-07 what points the other way, is nowhere or is of another space is not alike at all', () => {
    const place = quantise([0.6, -0.8]);
    expect(likenessOf(place, quantise([0.6, -0.8]))).toBeCloseTo(1, 9);
    expect(likenessOf(place, quantise([-0.6, 0.8]))).toBe(0);
    expect(likenessOf(place, quantise([0, 0]))).toBe(0);
    expect(likenessOf(place, quantise([0.6, -0.8, 0]))).toBe(0);
    expect(likenessOf(new Int8Array(0), new Int8Array(0))).toBe(0);
  });
});

/** Fewer than a plan promotes, so that none gives way to another. */
const MOST_TURNS = 12;
/** What nobody asks about: only beside it does a word in common mean something. */
const BACKGROUND = Array.from({ length: 20 }, (_, at) => ({ asked: `unrelated${at} matter${at}` }));
const subject = fc.constantFrom('harbour', 'lantern', 'compass', 'herring', 'anchor', 'pilot');

describe('the likeness of turns to a directive', () => {
  it('PLN-07 raises what speaks for a turn and never lowers it: of words and likeness the greater counts', () => {
    const classes = { raised: 0, words: 0, nothing: 0 };
    fc.assert(
      fc.property(
        fc.array(fc.record({ asked: subject, alike: fc.double({ min: 0, max: 1, noNaN: true }) }), {
          minLength: 1,
          maxLength: MOST_TURNS,
        }),
        subject,
        (turns, text) => {
          const index = indexOf([...turns.map(({ asked }) => ({ asked })), ...BACKGROUND]);
          const scene = { index, budget: 100, query: { text } };
          const likeness = (number: number) => turns[number - 1]?.alike ?? 0;
          const strength = (scenario: Scenario) => signalsOf(inputOf(scenario), 0).strength;
          const [without, joined] = [strength(scene), strength({ ...scene, likeness })];
          for (const [at, { alike }] of turns.entries()) {
            const [words = 0, both = 0] = [without[at], joined[at]];
            expect(both).toBeCloseTo(Math.max(words, alike >= RELEVANCE_FLOOR ? alike : 0), 9);
            classes[both > words ? 'raised' : words > 0 ? 'words' : 'nothing'] += 1;
          }
        },
      ),
    );
    const all = classes.raised + classes.words + classes.nothing;
    expect(Math.min(...Object.values(classes))).toBeGreaterThan(0.01 * all);
  });
});

describe('what is placed of a turn', () => {
  const card: TurnCard = {
    number: 4,
    asked: 'How deep is the harbour?',
    did: [{ tool: 'read', args: '{}', evidence: 'e1', shape: 'text' }],
    presentations: [{ id: 'p1', type: 'metric', title: 'Depth at low tide', digest: 'd', derivedFrom: [] }],
    narration: 'Four fathoms.',
    outcome: 'completed',
    act: 'ask',
    domains: [],
    links: [],
    fullBytes: 100,
    cardBytes: 50,
  };

  it('PLN-07 are the words of its card: what was asked, shown and answered', () => {
    expect(wordsOfCard(card)).toBe('How deep is the harbour?\nDepth at low tide\nFour fathoms.');
    expect(wordsOfCard({ ...card, asked: ' ', presentations: [], narration: '' })).toBe('');
  });

  it('PLN-07 is the beginning of it, whole characters of at most 2,000 bytes', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 40 }),
        fc.integer({ min: 1, max: 200 }),
        (part, times) => {
          const text = part.repeat(times);
          const placed = placedText(text);
          expect(text.trimStart().startsWith(placed)).toBe(true);
          expect(Buffer.byteLength(placed)).toBeLessThanOrEqual(2_000);
          expect(placed.isWellFormed()).toBe(true);
          if (Buffer.byteLength(text) <= 2_000) expect(placed).toBe(text.trim());
        },
      ),
    );
  });
});
