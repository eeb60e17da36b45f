import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TurnText } from '../../../../src/runtime/transcript/contract.ts';
import { grepTurns } from '../../../../src/runtime/transcript/grep.ts';
import { altered, grep, limits } from './grep-sample.ts';
import { streamed, turnsSaying } from './transcript-sample.ts';

/** Far beyond what any of these searches may take, and still a bound. */
const HANG_MS = 15_000;

/** Longer than a thread takes to end. */
const CLOSING_MS = 1_000;
/** The thread would be at this line for the better part of a minute. */
const SLOW = '(?:a[ab]{90}|b[ab]{91})c';
const slow = (): TurnText => {
  let state = 1;
  const letter = (): string => {
    state = (state * 48_271) % 2_147_483_647;
    return state % 2 === 0 ? 'a' : 'b';
  };
  const [turn] = turnsSaying(`${Array.from({ length: 100_000 }, letter).join('').repeat(200)}cc`);
  if (turn === undefined) throw new Error('there is no turn');
  return turn;
};

let before: readonly string[];
const held = () => process.getActiveResourcesInfo().toSorted();
beforeEach(() => {
  before = held();
});
afterEach(async () => {
  // A closed port leaves on the loop's next rounds.
  for (let round = 0; round < 50 && held().length > before.length; round += 1)
    await new Promise((resolve) => setImmediate(resolve));
  expect(held().filter((kind) => kind.includes('Worker') || kind.includes('MessagePort'))).toEqual(
    before.filter((kind) => kind.includes('Worker') || kind.includes('MessagePort')),
  );
});

describe('a search that ends before its turns do', () => {
  it('DOR-02 fault 17: pulls a turn when the one before was searched, and asks for none ahead', async () => {
    const events: string[] = [];
    let alive = 0;
    const turns = turnsSaying('a', 'b', 'c', 'd');
    const source = (async function* () {
      for (const [at, turn] of turns.entries()) {
        events.push(`pulled ${at}`);
        alive += 1;
        expect(alive).toBe(1);
        yield await Promise.resolve(turn);
        alive -= 1;
        events.push(`done with ${at}`);
      }
    })();
    await grep(source, 'x');
    expect(events).toEqual([0, 1, 2, 3].flatMap((at) => [`pulled ${at}`, `done with ${at}`]));
  });

  it('DOR-02 at the deadline says how far it came, with what it has', async () => {
    const turns = turnsSaying('needle 1', 'needle 2', 'needle 3');
    let strike = (): void => undefined;
    const clock = {
      after: (delayMs: number, act: () => void) => {
        expect(delayMs).toBe(1_234);
        strike = act;
        return () => undefined;
      },
    };
    const source = (async function* () {
      for (const [at, turn] of turns.entries()) {
        if (at === 2) strike();
        yield await Promise.resolve(turn);
      }
    })();
    const asked = { pattern: 'needle', items: null, newest: 3 };
    const answer = await grepTurns(source, asked, limits({ clock, deadlineMs: 1_234 }));
    expect(answer).toMatchObject({
      kind: 'found',
      complete: false,
      total: 2,
      searchedTo: { item: 2, of: 3 },
    });
  });

  it('DOR-02 at the deadline ends a thread that is in the middle of a line', async () => {
    const startedMs = performance.now();
    const answer = await grep([slow()], SLOW, null, limits({ deadlineMs: 1_500 }));
    expect(answer).toMatchObject({ complete: false, total: 0, searchedTo: { item: 0, of: 1 } });
    expect(performance.now() - startedMs).toBeLessThan(HANG_MS);
  });

  it('DOR-02 that is called off in the middle of a line ends, and its clock is told', async () => {
    const off = new AbortController();
    let cancelled = 0;
    const clock = {
      after: () => () => {
        cancelled += 1;
      },
    };
    const source = (async function* () {
      setTimeout(() => off.abort(), 300);
      yield await Promise.resolve(slow());
    })();
    const startedMs = performance.now();
    const answer = await grep(source, SLOW, null, limits({ clock, signal: off.signal }));
    expect(answer).toMatchObject({ kind: 'found', complete: false });
    expect(performance.now() - startedMs).toBeLessThan(HANG_MS);
    expect(cancelled).toBe(1);
  });

  it('DOR-02 that was called off before it began pulls nothing', async () => {
    const signal = AbortSignal.abort();
    const source = (async function* (): AsyncGenerator<TurnText> {
      yield await Promise.reject(new Error('pulled'));
    })();
    expect(await grep(source, 'x', null, limits({ signal }))).toMatchObject({ complete: false, total: 0 });
  });

  it('DOR-02 that is called off while a turn is pulled does not wait for it, and lets its source close', async () => {
    const off = new AbortController();
    let closed = false;
    let arrive = (): void => undefined;
    const source = (async function* () {
      try {
        off.abort();
        await new Promise<void>((resolve) => {
          arrive = resolve;
        });
        yield* streamed(turnsSaying('late'));
      } finally {
        closed = true;
      }
    })();
    expect(await grep(source, 'late', null, limits({ signal: off.signal }))).toMatchObject({
      complete: false,
    });
    arrive();
    await new Promise((resolve) => setImmediate(resolve));
    expect(closed).toBe(true);
  });

  it('DOR-02 fails as its source does, and closes a source that it leaves early', async () => {
    const failing = (async function* () {
      yield* streamed(turnsSaying('a'));
      throw new Error('the database went away');
    })();
    await expect(grep(failing, 'x')).rejects.toThrow('the database went away');
    let closed = false;
    const source = (async function* () {
      try {
        yield* streamed(turnsSaying('the text', 'more').map(altered));
      } finally {
        await new Promise((resolve) => {
          setTimeout(resolve, CLOSING_MS);
        });
        closed = true;
      }
    })();
    expect(await grep(source, 'x', [1])).toMatchObject({ kind: 'unreadable' });
    expect(closed).toBe(true);
  });

  it('DOR-02 leaves this thread free to answer while it runs', async () => {
    let ticks = 0;
    const timer = setInterval(() => {
      ticks += 1;
    }, 5);
    await grep([slow()], SLOW, null, limits({ deadlineMs: 1_000 }));
    clearInterval(timer);
    expect(ticks).toBeGreaterThan(10);
  });
});
