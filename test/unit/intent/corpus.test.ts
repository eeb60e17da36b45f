import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { formsAsked } from '../../../src/intent/forms.ts';
import { lexiconFor } from '../../../src/intent/lexicon/index.ts';
import { readsLiveData } from '../../../src/intent/live-data.ts';
import { readLexically } from '../../../src/intent/reading.ts';
import type { Domain } from '../../../src/ledger/domains.ts';
import { ACTS, type Act } from '../../../src/ledger/reading.ts';

interface Labelled {
  readonly directive: string;
  readonly act: Act;
  readonly live: boolean;
  readonly domains?: readonly Domain[];
  readonly stakes?: string;
  readonly horizon?: string;
  readonly clarity?: string;
  readonly modality?: string;
  readonly forms?: readonly string[];
}

const FOLDER = join(import.meta.dirname, '../../corpus/intent');
const CARD_TYPES = ['metric', 'table', 'chart', 'entity', 'checklist', 'timeline', 'research'];
const LEXICON = lexiconFor(null);

function corpus(name: string): readonly Labelled[] {
  const lines = readFileSync(join(FOLDER, name), 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Labelled);
}

function isLive({ domains }: { readonly domains: readonly string[] }): boolean {
  return domains.includes('live-data');
}

/** What the label speaks of, as it was read. */
function asRead(label: Labelled): Labelled {
  const reading = readLexically(label.directive);
  const read = {
    ...reading,
    live: isLive(reading),
    stakes: reading.stakes ?? 'low',
    horizon: reading.horizon ?? 'reply',
    clarity: reading.clarity ?? 'clear',
    modality: reading.modality ?? 'prose',
    forms: formsAsked(label.directive, CARD_TYPES, LEXICON),
    directive: label.directive,
  };
  return Object.fromEntries(
    Object.keys(label).map((name) => [name, read[name as keyof Labelled]]),
  ) as unknown as Labelled;
}

const directives = corpus('directives.jsonl');

describe('the corpus of directives', () => {
  it.each(directives.map((label) => [label.directive, label] as const))('INT-01 reads "%s"', (_, label) => {
    expect(asRead(label)).toEqual(label);
  });

  it('INT-01 has each act, both sides of the live signal, and no directive twice', () => {
    expect(directives.length).toBeGreaterThanOrEqual(320);
    expect(new Set(directives.map(({ directive }) => directive)).size).toBe(directives.length);
    for (const act of ACTS)
      expect([act, directives.filter((label) => label.act === act).length >= 15]).toEqual([act, true]);
    const live = directives.filter((label) => label.live).length;
    expect(live).toBeGreaterThanOrEqual(50);
    expect(directives.length - live).toBeGreaterThanOrEqual(50);
  });

  it('INT-01 sees the live signal in a text by itself as it does in a reading', () => {
    for (const { directive, act, live } of directives)
      expect([directive, readsLiveData(directive, act, LEXICON)]).toEqual([directive, live]);
  });

  it('INT-01 takes no live signal for an act that seeks no fact', () => {
    const fit = ['answer', 'locate', 'analyze'];
    for (const { directive, live } of directives.filter((label) => label.live))
      for (const act of ACTS)
        expect([directive, act, readsLiveData(directive, act, LEXICON)]).toEqual([
          directive,
          act,
          live && fit.includes(act),
        ]);
  });
});

describe('the corpus of directives nobody tuned the lists on', () => {
  it('INT-01 reports how many of them it reads as they are labelled', () => {
    const unseen = corpus('unseen.jsonl');
    const readings = unseen.map((label) => ({ label, reading: readLexically(label.directive) }));
    const share = (fits: (one: (typeof readings)[number]) => boolean): number =>
      readings.filter(fits).length / readings.length;
    const act = share(({ label, reading }) => reading.act === label.act);
    const live = share(({ label, reading }) => isLive(reading) === label.live);
    console.log(`unseen directives: ${unseen.length}, act ${act.toFixed(3)}, live ${live.toFixed(3)}`);
    expect(unseen.length).toBeGreaterThanOrEqual(100);
    for (const accuracy of [act, live]) {
      expect(accuracy).toBeGreaterThan(0);
      expect(accuracy).toBeLessThanOrEqual(1);
    }
    expect(new Set(readings.map(({ reading }) => isLive(reading))).size).toBe(2);
  });
});
