import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { initialTransition, transition } from 'xstate';
import type { Json } from '../../../src/ledger/json.ts';
import {
  type BiteInput,
  SUMMARY_MACHINE,
  SUMMARY_VERSION,
  type SummaryInput,
  summaryMachine,
} from '../../../src/machines/summary.ts';
import { type Effect, readEffects } from '../../../src/runtime/effects.ts';
import { persist, restore } from '../../../src/runtime/snapshot.ts';
import { Tally } from '../ledger/sample.ts';

const BITE = 32;
/** What every bite passes on. */
const FIXED = { bytes: 900, head: 'main' } as const;

const bite = (from: number, to: number): BiteInput => ({ purpose: 'packet', from, to, ...FIXED });

/** Drives the machine as the runtime does: what is stored goes in, one event, what is stored comes out. */
class SummaryRun {
  snapshot: string;
  effects: readonly Effect[];
  readonly asked: { readonly child: string; readonly input: BiteInput }[] = [];
  #open: string | null = null;

  constructor(input: Partial<SummaryInput>) {
    const [snapshot, actions] = initialTransition(summaryMachine, { ...FIXED, from: 1, to: 8, ...input });
    this.snapshot = persist(snapshot);
    this.effects = this.#took(readEffects(actions));
  }

  get state(): string {
    return (JSON.parse(this.snapshot) as { value: string }).value;
  }
  get ended(): boolean {
    return (JSON.parse(this.snapshot) as { status: string }).status !== 'active';
  }
  get last(): BiteInput | undefined {
    return this.asked.at(-1)?.input;
  }

  done(to: number): this {
    return this.#send({ type: `xstate.done.actor.${this.#open}`, output: { to } });
  }
  failed(): this {
    return this.#send({ type: `xstate.error.actor.${this.#open}`, error: { code: 'transport_exhausted' } });
  }

  #send(event: { readonly type: string; readonly [member: string]: Json }): this {
    const openChildren = this.#open === null ? [] : [this.#open];
    const stored = { machine: SUMMARY_MACHINE, version: SUMMARY_VERSION, snapshot: this.snapshot };
    this.#open = null;
    const restored = restore(summaryMachine, { ...stored, openChildren });
    const [snapshot, actions] = transition(summaryMachine, restored, event as never);
    this.snapshot = persist(snapshot);
    this.effects = this.#took(readEffects(actions));
    return this;
  }

  #took(effects: readonly Effect[]): readonly Effect[] {
    for (const effect of effects) {
      if (effect.kind !== 'spawn') continue;
      this.asked.push({ child: effect.child, input: effect.input as unknown as BiteInput });
      this.#open = effect.child;
    }
    return effects;
  }
}

describe('a packet built in the background', () => {
  it('PLN-02 asks for at most four batches at once, each from the same first turn to a later last one', () => {
    const run = new SummaryRun({ from: 1, to: 72 });
    expect(run.asked).toEqual([{ child: 'summary-1', input: bite(1, 32) }]);
    run.done(32);
    expect(run.last).toEqual(bite(1, 64));
    run.done(64);
    expect(run.asked.at(-1)).toEqual({ child: 'summary-3', input: bite(1, 72) });
    expect([run.done(72).state, run.ended]).toEqual(['done', true]);
    expect(run.asked).toHaveLength(3);
  });

  it('PLN-02 goes on from where the summariser came when its budget held fewer turns than asked', () => {
    const run = new SummaryRun({ from: 1, to: 40 }).done(5);
    expect(run.last).toEqual(bite(1, 37));
    run.done(37);
    expect(run.last).toEqual(bite(1, 40));
    expect(run.done(40).state).toBe('done');
  });

  it('PLN-02 begins with the first turn of its range, whichever that is', () => {
    expect(new SummaryRun({ from: 17, to: 24 }).last).toEqual(bite(17, 24));
    expect(new SummaryRun({ from: 17, to: 80 }).last).toEqual(bite(17, 48));
  });

  it('PLN-02 fails and asks nothing more when a bite fails, so that the next close may try again', () => {
    const run = new SummaryRun({ from: 1, to: 72 }).done(32).failed();
    expect([run.state, run.ended]).toEqual(['failed', true]);
    expect(run.asked).toHaveLength(2);
  });

  it('PLN-02 fails when a bite takes the packet no further', () => {
    for (const to of [0, 31, 32]) {
      const run = new SummaryRun({ from: 1, to: 72 }).done(32).done(to);
      expect([run.state, run.asked.length]).toEqual(['failed', 2]);
    }
    expect(new SummaryRun({ from: 9, to: 16 }).done(8).state).toBe('failed');
  });

  it('PLN-02 takes a bounded number of bites, and leaves the rest to the next run', () => {
    const run = new SummaryRun({ from: 1, to: 10_000 });
    let reached = 0;
    while (!run.ended && run.asked.length < 200) {
      reached += 1;
      run.done(reached);
    }
    expect([run.state, run.asked.length]).toEqual(['done', 64]);
  });

  it('PLN-02 ends for every summariser: covered, stuck, failed or spent, never asking beyond its range', () => {
    const tally = new Tally();
    const advance = fc.oneof(
      { weight: 8, arbitrary: fc.constant(BITE) },
      { weight: 6, arbitrary: fc.integer({ min: 1, max: BITE }) },
      { weight: 1, arbitrary: fc.constantFrom(0, -1) },
    );
    const scenario = fc.record({
      from: fc.integer({ min: 1, max: 50 }),
      turns: fc.integer({ min: 1, max: 400 }),
      bites: fc.oneof(
        { weight: 9, arbitrary: fc.array(advance, { minLength: 1, maxLength: 20 }) },
        { weight: 1, arbitrary: fc.constant([1]) },
      ),
    });
    fc.assert(
      fc.property(scenario, ({ from, turns, bites }) => {
        const to = from + turns - 1;
        const run = new SummaryRun({ from, to });
        let reached = from - 1;
        for (let at = 0; !run.ended && at < 500; at += 1) {
          const asked = run.last;
          expect(asked?.from).toBe(from);
          expect(asked?.to).toBe(Math.min(to, reached + BITE));
          const next = bites[at % bites.length] ?? 0;
          if (next < 0) run.failed();
          else {
            const came = Math.min(asked?.to ?? 0, reached + next);
            run.done(came);
            if (run.state === 'done' && run.asked.length < 64) expect(came).toBe(to);
            reached = came;
          }
        }
        expect(run.ended).toBe(true);
        tally.count({
          done: run.state === 'done',
          failed: run.state === 'failed',
          several: run.asked.length > 1,
          spent: run.asked.length === 64,
        });
      }),
      { numRuns: 600 },
    );
    tally.report('background packets');
  });
});
