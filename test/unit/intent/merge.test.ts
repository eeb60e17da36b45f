import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Classified, mergeReadings } from '../../../src/intent/merge.ts';
import { DOMAINS } from '../../../src/ledger/domains.ts';
import {
  ACTS,
  CLARITIES,
  EVIDENCE_STANDARDS,
  HORIZONS,
  type Reading,
  reading,
  STAKES,
} from '../../../src/ledger/reading.ts';

const lexical: Reading = {
  source: 'lexical',
  version: 3,
  act: 'answer',
  domains: ['memory', 'live-data'],
  confidence: 0.4,
};
const classified: Classified = { act: 'modify', domains: ['vcs', 'filesystem'], confidence: 0.9 };

describe('two readings made one', () => {
  it('INT-02 the act and the domains of a sure classifier count, and none of the words’ own is lost', () => {
    expect(mergeReadings(lexical, classified)).toEqual({
      source: 'classifier',
      version: 3,
      act: 'modify',
      alternates: ['answer'],
      domains: ['filesystem', 'memory', 'live-data', 'vcs'],
      confidence: 0.9,
    });
    expect(mergeReadings(lexical, { ...classified, confidence: 0.75 }).act).toBe('modify');
  });

  it('INT-02 an unsure classifier names an alternate, and changes neither act nor domains nor confidence', () => {
    expect(
      mergeReadings(lexical, { ...classified, clarity: 'unclear', horizon: 'task', confidence: 0.74 }),
    ).toEqual({
      ...lexical,
      source: 'classifier',
      alternates: ['modify'],
    });
  });

  it('INT-02 stakes and evidence are raised by any classifier, and lowered by none', () => {
    const low: Classified = { ...classified, stakes: 'low', evidence: 'plain' };
    const high: Classified = { ...classified, stakes: 'high', evidence: 'verified', confidence: 0.1 };
    const cautious: Reading = { ...lexical, stakes: 'elevated', evidence: 'sourced' };
    expect(mergeReadings(cautious, low)).toMatchObject({ stakes: 'elevated', evidence: 'sourced' });
    expect(mergeReadings(cautious, classified)).toMatchObject({ stakes: 'elevated', evidence: 'sourced' });
    expect(mergeReadings(cautious, high)).toMatchObject({ stakes: 'high', evidence: 'verified' });
    expect(mergeReadings(lexical, high)).toMatchObject({ stakes: 'high', evidence: 'verified' });
  });

  it('INT-02 what is plain is left out, and the words keep their parts, entities and stretches', () => {
    const strands: Reading['strands'] = [
      { from: 0, to: 4, act: 'answer', relation: 'independent', lineage: 'continues' },
    ];
    const rich: Reading = {
      ...lexical,
      clarity: 'unclear',
      strands,
      pasted: [{ from: 4, to: 9 }],
      entities: ['Ann'],
      modality: 'code',
    };
    const merged = mergeReadings(rich, {
      ...classified,
      stakes: 'low',
      clarity: 'clear',
      horizon: 'standing',
    });
    expect(merged).toMatchObject({
      strands,
      pasted: rich.pasted,
      entities: ['Ann'],
      modality: 'code',
      horizon: 'standing',
    });
    expect(Object.keys(merged)).not.toEqual(expect.arrayContaining(['stakes']));
    expect(Object.keys(merged)).not.toEqual(expect.arrayContaining(['clarity']));
  });

  it('INT-02 is never less careful, never narrower, fits the record, and is the same when made twice', () => {
    const optional = <T>(values: readonly T[]) => fc.constantFrom(undefined, ...values);
    const axes = fc.record({
      stakes: optional(STAKES),
      evidence: optional(EVIDENCE_STANDARDS),
      clarity: optional(CLARITIES),
      horizon: optional(HORIZONS),
    });
    const core = fc.record({
      act: fc.constantFrom(...ACTS),
      domains: fc.subarray([...DOMAINS]),
      confidence: fc.integer({ min: 0, max: 100 }).map((percent) => percent / 100),
    });
    const seen = { sure: 0, unsure: 0, raised: 0, 'not lowered': 0, widened: 0 };
    let runs = 0;
    fc.assert(
      fc.property(core, axes, core, axes, (own, ownAxes, said, saidAxes) => {
        const words = {
          source: 'lexical',
          version: 1,
          ...own,
          ...stated(ownAxes),
        } as const satisfies Reading;
        const model: Classified = { ...said, ...stated(saidAxes) };
        const merged = mergeReadings(words, model);
        const rank = ({ stakes = 'low', evidence = 'plain' }: Partial<Reading>) =>
          [STAKES.indexOf(stakes), EVIDENCE_STANDARDS.indexOf(evidence)] as const;
        const [stakes, evidence] = rank(merged);
        const [ownStakes, ownEvidence] = rank(words);
        const [saidStakes, saidEvidence] = rank(model);
        runs += 1;
        seen[said.confidence >= 0.75 ? 'sure' : 'unsure'] += 1;
        if (stakes > ownStakes || evidence > ownEvidence) seen.raised += 1;
        if (saidStakes < ownStakes || saidEvidence < ownEvidence) seen['not lowered'] += 1;
        if (merged.domains.length > own.domains.length) seen.widened += 1;
        expect([stakes, evidence]).toEqual([
          Math.max(ownStakes, saidStakes),
          Math.max(ownEvidence, saidEvidence),
        ]);
        expect(merged.domains).toEqual(expect.arrayContaining(own.domains));
        expect(reading.parse(merged)).toEqual(merged);
        expect(mergeReadings(merged, model)).toEqual(merged);
      }),
      { numRuns: 1_000 },
    );
    console.log(`merged readings: ${JSON.stringify(seen)} of ${runs}`);
    for (const [name, times] of Object.entries(seen))
      expect([name, times >= runs / 100]).toEqual([name, true]);
  });
});

/** Without the members that are undefined. */
function stated<T extends object>(axes: T): { [Key in keyof T]: Exclude<T[Key], undefined> } {
  return Object.fromEntries(Object.entries(axes).filter(([, value]) => value !== undefined)) as never;
}
