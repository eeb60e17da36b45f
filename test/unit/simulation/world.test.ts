import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TurnwrightError } from '../../../src/ledger/errors.ts';
import { passes } from '../../../src/runtime/outage.ts';
import { DatabaseClock } from '../../simulation/world/database-clock.ts';
import { Dice } from '../../simulation/world/dice.ts';
import { Faults, INCIDENTS, type Rates } from '../../simulation/world/faults.ts';
import { Front } from '../../simulation/world/front.ts';
import type { Process } from '../../simulation/world/process.ts';
import { Scheduler } from '../../simulation/world/scheduler.ts';
import { Trace } from '../../simulation/world/trace.ts';
import { Wire, type WireEnd } from '../../simulation/world/wire.ts';

const LONG_MS = 1_000_000;
const owner = () => ({ name: 'P1', alive: true, pausedUntilMs: 0 });

describe('virtual time', () => {
  it('lets the earliest happen first, and what is due at once in the order it was asked for', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat({ max: 20 }), { maxLength: 60 }), async (delays) => {
        const scheduler = new Scheduler();
        const seen: (readonly [number, number])[] = [];
        for (const [index, delayMs] of delays.entries())
          scheduler.after(delayMs, null, () => seen.push([scheduler.nowMs, index]));
        await scheduler.run(LONG_MS);
        const wanted = delays.map((delayMs, index) => [delayMs, index] as const);
        expect(seen).toEqual(wanted.sort((a, b) => a[0] - b[0] || a[1] - b[1]));
      }),
      { numRuns: 100 },
    );
  });

  it('lets every promise go on that can, before anything else happens', async () => {
    const scheduler = new Scheduler();
    const seen: string[] = [];
    const deep = async (depth: number): Promise<void> => {
      if (depth > 0) await deep(depth - 1);
    };
    scheduler.after(1, null, () => {
      void deep(300).then(() => seen.push('the promises of the first'));
    });
    scheduler.after(1, null, () => seen.push('the second'));
    await scheduler.run(LONG_MS);
    expect(seen).toEqual(['the promises of the first', 'the second']);
  });

  it('stops where it is told to, and goes on from there', async () => {
    const scheduler = new Scheduler();
    const seen: number[] = [];
    for (const delayMs of [5, 10, 11]) scheduler.after(delayMs, null, () => seen.push(delayMs));
    await scheduler.run(10);
    expect(seen).toEqual([5, 10]);
    expect(scheduler.nowMs).toBe(10);
    scheduler.after(0, null, () => seen.push(0));
    await scheduler.run(LONG_MS, () => seen.length === 4);
    expect(seen).toEqual([5, 10, 0, 11]);
  });

  it('drops what belongs to the dead, and what was taken back', async () => {
    const scheduler = new Scheduler();
    const dead = owner();
    const seen: string[] = [];
    scheduler.after(1, dead, () => seen.push('before its death'));
    scheduler.after(2, null, () => {
      dead.alive = false;
    });
    scheduler.after(3, dead, () => seen.push('after its death'));
    const takeBack = scheduler.after(4, null, () => seen.push('taken back'));
    takeBack();
    await scheduler.run(LONG_MS);
    expect(seen).toEqual(['before its death']);
  });

  it('lets what belongs to the paused wait, in its order, and takes it back all the same', async () => {
    const scheduler = new Scheduler();
    const paused = { ...owner(), pausedUntilMs: 100 };
    const seen: string[] = [];
    const take = (what: string) => () => seen.push(`${what} at ${scheduler.nowMs}`);
    scheduler.after(20, paused, take('second'));
    scheduler.after(10, paused, take('first'));
    const takeBack = scheduler.after(15, paused, take('taken back'));
    scheduler.after(30, null, take('another'));
    scheduler.after(40, null, takeBack);
    await scheduler.run(LONG_MS);
    expect(seen).toEqual(['another at 30', 'first at 100', 'second at 100']);
  });
});

describe('the clock of the database', () => {
  it('steps both ways, and knows the latest it showed', async () => {
    const scheduler = new Scheduler();
    const clock = new DatabaseClock(scheduler, 1_000);
    await scheduler.run(10);
    expect(clock.nowMs()).toBe(1_010);
    clock.step(500);
    await scheduler.run(20);
    clock.step(-600);
    await scheduler.run(30);
    expect(clock.nowMs()).toBe(930);
    expect(clock.latestMs(0, 30)).toBe(1_520);
    expect(clock.latestMs(0, 5)).toBe(1_005);
    expect(clock.latestMs(25, 30)).toBe(930);
    expect(clock.behindMs()).toBe(590);
  });
});

describe('the wire', () => {
  /** One call over a wire on which exactly these things go wrong. */
  async function send(wrong: readonly (keyof Rates)[], { away = false, dies = false } = {}) {
    const scheduler = new Scheduler();
    const asker = owner();
    const ends: WireEnd['kind'][] = [];
    let effects = 0;
    const wire = new Wire({
      scheduler,
      dice: new Dice(1, 'wire'),
      faults: { happens: (rate) => wrong.includes(rate) },
      away: () => away,
      crash: () => {
        asker.alive = false;
      },
      saw: (_, __, end) => ends.push(end.kind),
    });
    const target = {
      add: async (by: number) => {
        effects += by;
        return effects;
      },
    };
    const told: unknown[] = [];
    wire
      .to(asker, 'database', target)
      .add(1)
      .then(
        (value) => told.push(value),
        (error: unknown) => told.push(error),
      );
    if (dies) asker.alive = false;
    await scheduler.run(LONG_MS);
    return { effects, told, ends, alive: asker.alive };
  }

  it('brings the answer of what happened once', async () => {
    expect(await send([])).toEqual({ effects: 1, told: [1], ends: ['answered'], alive: true });
  });

  it('refuses with an error that passes, and nothing happened', async () => {
    for (const { effects, told, ends } of [await send(['refused']), await send([], { away: true })]) {
      expect({ effects, ends }).toEqual({ effects: 0, ends: ['refused'] });
      expect(told.map(passes)).toEqual([true]);
    }
  });

  it('forgets the answer of what happened', async () => {
    const { effects, told, ends } = await send(['forgotten']);
    expect({ effects, ends }).toEqual({ effects: 1, ends: ['forgotten'] });
    expect(told.map(passes)).toEqual([true]);
  });

  it('RUN-04 lets a process die before its request leaves, or before the answer comes', async () => {
    expect(await send(['crashBefore'])).toEqual({ effects: 0, told: [], ends: ['unsent'], alive: false });
    expect(await send(['crashAfter'])).toEqual({ effects: 1, told: [], ends: ['unheard'], alive: false });
  });

  it('RUN-04 may deliver what a dead process had sent, and answers nobody', async () => {
    const { told, ends } = await send([], { dies: true });
    expect(told).toEqual([]);
    expect(['answered', 'unsent']).toContain(ends[0]);
  });
});

describe('the front', () => {
  /** Asks once; the tries meet one end after another. */
  async function ask(ends: readonly ('answer' | 'away' | 'refusal' | 'silence')[], again: boolean) {
    const scheduler = new Scheduler();
    let tries = 0;
    const living = () => [{ ...owner() } as unknown as Process];
    const front = new Front({ scheduler, dice: new Dice(1, 'front'), living });
    const asked = front.ask(() => {
      const end = ends[tries];
      tries += 1;
      if (end === 'answer') return Promise.resolve('yes');
      if (end === 'silence') return new Promise<string>(() => {});
      return Promise.reject(
        new TurnwrightError(end === 'away' ? 'database_unreachable' : 'turn_closed', 'no'),
      );
    }, again);
    let told: Awaited<typeof asked> | undefined;
    void asked.then((value) => {
      told = value;
    });
    await scheduler.run(LONG_MS, () => told !== undefined);
    return { tries, told };
  }

  it('asks until it is answered', async () => {
    expect(await ask(['away', 'silence', 'answer'], true)).toEqual({ tries: 3, told: { value: 'yes' } });
  });

  it('asks once where asking again could ask for two', async () => {
    const { tries, told } = await ask(['away', 'answer'], false);
    expect(tries).toBe(1);
    expect(told).toMatchObject({ sure: false });
  });

  it('takes a refusal for an answer, and for a sure one when no other try is under way', async () => {
    expect((await ask(['refusal'], true)).told).toMatchObject({ sure: true });
    expect((await ask(['silence', 'refusal'], true)).told).toMatchObject({ sure: false });
  });
});

describe('the trace', () => {
  const line = (atMs: number, who: string, what: string) => ({ atMs, who, what });
  const digest = (lines: readonly ReturnType<typeof line>[]) => {
    const trace = new Trace(false);
    for (const { atMs, who, what } of lines) trace.note(atMs, who, what);
    return trace.digest();
  };

  it('names what happened: another order, time, process or answer gives another digest', () => {
    const lines = [line(1, 'P1', 'a'), line(2, 'P2', 'b')];
    const others = [
      [line(1, 'P1', 'b'), line(2, 'P2', 'a')],
      [line(1, 'P1', 'a'), line(2.001, 'P2', 'b')],
      [line(1, 'P1', 'a'), line(2, 'P3', 'b')],
      [line(1, 'P1', 'a')],
    ];
    expect(digest(lines)).toBe(digest([...lines]));
    expect(new Set([lines, ...others].map(digest)).size).toBe(5);
  });

  it('keeps the end of it for a person, or all of it where told to', () => {
    for (const [keepAll, first] of [
      [true, 'line 0'],
      [false, 'line 2600'],
    ] as const) {
      const trace = new Trace(keepAll);
      for (let index = 0; index < 3_000; index += 1) trace.note(index, 'P1', `line ${index}`);
      expect(trace.lines()[0]).toContain(first);
      expect(trace.lines().at(-1)).toContain('line 2999');
    }
  });

  it('reads an id by its name', () => {
    const id = '00000000-0000-7000-8100-00000000002a';
    const trace = new Trace(false);
    trace.note(0, 'P1', `load ${id}`);
    expect(trace.lines()[0]).toContain('load …002a');
    trace.name(id, 'Alice');
    expect(trace.lines()[0]).toContain('load Alice');
  });
});

describe('faults', () => {
  const SEEDS = Array.from({ length: 200 }, (_, seed) => seed);
  const faults = (seed: number) => new Faults(new Dice(seed, 'faults'), 10_000);

  it('are the same for the same seed, and happen in their time only', () => {
    expect(faults(7).incidents).toEqual(faults(7).incidents);
    for (const seed of SEEDS) {
      const drawn = faults(seed);
      const often = () => Array.from({ length: 500 }, () => drawn.happens('lockHeld')).filter(Boolean).length;
      expect(often()).toBe(0);
      drawn.begin();
      const while_ = often();
      drawn.end();
      expect(often()).toBe(0);
      if (while_ > 0) return;
    }
    throw new Error('no fault ever happened');
  });

  it('leave some worlds without each kind, some with it, and some in peace', () => {
    const worlds = SEEDS.map(faults);
    for (const kind of INCIDENTS) {
      const having = worlds.filter(({ incidents }) => incidents.some((incident) => incident.kind === kind));
      expect(having.length).toBeGreaterThan(0);
      expect(having.length).toBeLessThan(worlds.length);
    }
    const quiet = worlds.filter((world) => world.quiet);
    expect(quiet.length).toBeGreaterThan(0);
    expect(quiet.every(({ incidents }) => incidents.length === 0)).toBe(true);
  });
});
