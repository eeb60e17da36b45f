import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { needOf } from '../../../src/intent/need.ts';
import { readLexically } from '../../../src/intent/reading.ts';
import { DOMAINS, type Domain } from '../../../src/ledger/domains.ts';
import { ACTS, type Act, type Reading } from '../../../src/ledger/reading.ts';

const reading = (act: Act, confidence: number, rest: Partial<Reading> = {}): Reading => ({
  source: 'lexical',
  version: 1,
  act,
  domains: [],
  confidence,
  ...rest,
});

const FLOORS: readonly (readonly [Act, readonly Domain[]])[] = [
  ['converse', ['filesystem', 'memory']],
  ['answer', ['filesystem', 'memory', 'web', 'live-data']],
  ['locate', ['filesystem', 'memory', 'vcs']],
  ['analyze', ['filesystem', 'memory', 'vcs', 'code-exec']],
  ['author', ['filesystem', 'memory', 'web', 'documents']],
  ['modify', ['filesystem', 'memory', 'vcs', 'code-exec', 'documents']],
  ['operate', DOMAINS],
  ['verify', ['filesystem', 'memory', 'code-exec', 'observability']],
  ['orchestrate', DOMAINS],
  ['govern', ['filesystem', 'memory']],
];

describe('what a reading needs', () => {
  it.each(FLOORS)('SUR-01 INT-01 a sure %s needs the floor of its act', (act, floor) => {
    expect(needOf(reading(act, 0.75))).toEqual(floor);
    expect(needOf(reading(act, 1))).toEqual(floor);
  });

  it('INT-01 adds the domains the words name', () => {
    expect(needOf(reading('converse', 0.9, { domains: ['observability'] }))).toEqual([
      'filesystem',
      'memory',
      'observability',
    ]);
  });

  it('INT-01 a provisional reading needs what its alternates need too, and a sure one does not', () => {
    const meant = { alternates: ['locate' as const] };
    expect(needOf(reading('author', 0.74, meant))).toContain('vcs');
    expect(needOf(reading('author', 0.45, meant))).toContain('vcs');
    expect(needOf(reading('author', 0.75, meant))).not.toContain('vcs');
  });

  it('INT-01 F40 a weak reading needs the orientation floor and its own domains, whatever its act', () => {
    for (const act of ACTS) {
      const weak = reading(act, 0.449, { alternates: ['operate'], domains: ['web'] });
      expect([act, needOf(weak)]).toEqual([act, ['filesystem', 'memory', 'web']]);
    }
    expect(needOf(readLexically('the thing from before'))).toEqual(['filesystem', 'memory']);
  });

  it('INT-01 F40 needs everything only where something is to be operated', () => {
    const counts = { everything: 0, less: 0 };
    fc.assert(
      fc.property(
        fc.constantFrom(...ACTS),
        fc.array(fc.constantFrom(...ACTS), { maxLength: 3 }),
        fc.subarray([...DOMAINS], { maxLength: 3 }),
        fc.integer({ min: 0, max: 1_000 }).map((thousandths) => thousandths / 1_000),
        (act, alternates, domains, confidence) => {
          const need = needOf(reading(act, confidence, { alternates, domains }));
          expect(need).toEqual(DOMAINS.filter((domain) => need.includes(domain)));
          for (const domain of ['filesystem', 'memory', ...domains]) expect(need).toContain(domain);
          const everything = need.length === DOMAINS.length;
          counts[everything ? 'everything' : 'less'] += 1;
          const counted = confidence >= 0.75 ? [act] : [act, ...alternates];
          const operates = counted.some((each) => each === 'operate' || each === 'orchestrate');
          if (confidence < 0.45) expect(everything).toBe(false);
          else if (operates) expect(everything).toBe(true);
        },
      ),
      { numRuns: 500 },
    );
    console.log('needs generated', counts);
    for (const count of Object.values(counts)) expect(count).toBeGreaterThan(5);
  });
});
