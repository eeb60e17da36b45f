/** Sessions for plans: closed turns from a few words, indexed as the runtime does, and profiles of a set budget. */
import fc from 'fast-check';
import { metadataProfile } from '../../../src/context/capacity/metadata.ts';
import type { CapacityProfile } from '../../../src/context/capacity/profile.ts';
import type {
  Plan,
  PlanInput,
  PlanOptions,
  PlanQuery,
  StoredPacket,
} from '../../../src/context/plan/contract.ts';
import { planOptions } from '../../../src/context/plan/options.ts';
import { planTurns } from '../../../src/context/plan/plan.ts';
import { termsOfCard } from '../../../src/context/relevance/terms.ts';
import { TurnIndex } from '../../../src/context/relevance/turn-index.ts';
import type { LinkKind, TurnCard, TurnLink } from '../../../src/ledger/turn-card.ts';

export type CardWithoutWeights = Omit<TurnCard, 'fullBytes' | 'cardBytes'>;

export function cardOf(change: Partial<CardWithoutWeights> = {}): CardWithoutWeights {
  return {
    number: 1,
    asked: '',
    did: [],
    presentations: [],
    narration: '',
    outcome: 'completed',
    act: 'answer',
    domains: [],
    links: [],
    ...change,
  };
}

/** `wrote src/a.ts`, `continues T3`. */
export function linksOf(...said: readonly string[]): TurnLink[] {
  return said.map((line) => {
    const [kind = '', to = ''] = line.split(' ');
    return { kind: kind as LinkKind, to, provenance: 'observed' };
  });
}

export interface TurnSpec extends Partial<CardWithoutWeights> {
  readonly full?: number;
  readonly card?: number;
}

/** Turns are numbered from 1 unless they say otherwise; whole they weigh 100, as a card 10. */
export function indexOf(turns: readonly TurnSpec[]): TurnIndex {
  const index = new TurnIndex();
  for (const [at, { full = 100, card = 10, ...change }] of turns.entries()) {
    const made = cardOf({ number: at + 1, ...change });
    index.append({
      number: made.number,
      fullBytes: full,
      cardBytes: card,
      terms: termsOfCard(made),
      links: made.links,
    });
  }
  return index;
}

/** One token a byte, no reply reserve: a ceiling of exactly `tokens`. */
export function profileOf(tokens: number, change: Partial<CapacityProfile> = {}): CapacityProfile {
  const base = metadataProfile({
    operatorWindow: 10_000_000,
    operatorMaxOutput: 0,
    providerWindow: null,
    providerMaxOutput: null,
    catalogueWindow: null,
    catalogueMaxOutput: null,
    metadataDigest: null,
    probedAtMs: 0,
  });
  return {
    ...base,
    horizon: { tokens, confidence: 1, lastConfirmedMs: 0 },
    tokensPerByte: { value: 1, samples: 1 },
    outputReserve: 0,
    ...change,
  };
}

export interface Scenario {
  readonly index: TurnIndex;
  readonly budget: number;
  readonly query?: Partial<PlanQuery>;
  readonly options?: Partial<PlanOptions>;
  readonly packets?: readonly StoredPacket[];
  readonly behind?: number;
  readonly likeness?: (number: number) => number;
}

export function inputOf({ index, budget, query, options, packets, behind, likeness }: Scenario) {
  const input: PlanInput<TurnIndex> = {
    profile: profileOf(budget),
    options: planOptions(options),
    prefixBytes: 0,
    openTurnBytes: 0,
    resetBytes: 0,
    behind: behind ?? 0,
    index,
    query: { text: '', act: 'answer', domains: [], links: [], ...query },
    packets: packets ?? [],
    ...(likeness === undefined ? {} : { likeness }),
  };
  return input;
}

export function planOf(scenario: Scenario): Plan {
  return planTurns(inputOf(scenario));
}

/** Every turn that a plan carries, by number. */
export function fidelities({ runs }: Plan): ReadonlyMap<number, string> {
  const found = new Map<number, string>();
  for (const { from, to, fidelity } of runs)
    for (let number = from; number <= to; number++) {
      if (found.has(number)) throw new Error(`T${number} is carried twice`);
      found.set(number, fidelity);
    }
  return found;
}

export function numbersAs(plan: Plan, fidelity: string): readonly number[] {
  return [...fidelities(plan)].filter(([, as]) => as === fidelity).map(([number]) => number);
}

const WORDS = [
  'copper',
  'tariff',
  'harbour',
  'ledger',
  'violin',
  'glacier',
  'orchid',
  'Lisbon',
  'q42',
  'read_file',
];
const FILES = ['src/a.ts', 'src/b.ts', 'docs/notes.md', 'README.md'];

const someWords = fc.array(fc.constantFrom(...WORDS), { maxLength: 4 }).map((words) => words.join(' '));
const someLinks = fc.array(
  fc.record({
    kind: fc.constantFrom<LinkKind>('wrote', 'read', 'named', 'serves'),
    to: fc.constantFrom(...FILES),
    provenance: fc.constant<'observed'>('observed'),
  }),
  { maxLength: 2 },
);

export const turnSpec: fc.Arbitrary<TurnSpec> = fc.record({
  asked: someWords,
  narration: someWords,
  act: fc.constantFrom('answer', 'modify'),
  links: someLinks,
  full: fc.integer({ min: 20, max: 900 }),
  card: fc.integer({ min: 5, max: 60 }),
});

export const queryChoice: fc.Arbitrary<Partial<PlanQuery>> = fc.record({
  text: fc
    .tuple(someWords, fc.constantFrom('', 'do that again', 'in src/a.ts', 'what about'))
    .map((words) => words.join(' ')),
  act: fc.constantFrom('answer', 'modify'),
  links: someLinks,
});

export const optionsChoice: fc.Arbitrary<Partial<PlanOptions>> = fc.record({
  promotedShare: fc.constantFrom(0, 0.25, 0.5, 1),
  eligibility: fc.constantFrom('recency', 'signal'),
  signals: fc.constantFrom('all', 'all', 'minimal'),
});
