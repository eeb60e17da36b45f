import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openTestStack, type TestStack, type TestWorker } from '../../support/stack.ts';

const TURNS = 60;
/** Turns of a session whose history has reached what the model of 8k tokens can use. */
const EARLY = [10, 20] as const;
const METHODS = [
  'claim',
  'claimKnown',
  'load',
  'apply',
  'history',
  'toPlan',
  'indexedTurns',
  'closings',
  'turnRecords',
  'recordBody',
  'prefix',
] as const;

interface Cost {
  readonly statements: number;
  readonly loadedBytes: number;
}

describe('a long session', () => {
  let stack: TestStack;
  beforeAll(async () => {
    const files = Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`note-${n}.md`, noteText(n)]));
    stack = await openTestStack({ backend: 'postgres', files });
  });
  afterAll(() => stack.close());

  it('PLN-01 RUN-01 loads no more for turn 60 than for turn 10 on a model of 8k tokens', {
    timeout: 90_000,
  }, async () => {
    const worker = await stack.worker();
    const cost = meter(worker);
    const session = await stack.session({ model: 'sim-small' });
    const costs: Cost[] = [];
    for (let turn = 1; turn <= TURNS; turn++) {
      cost.reset();
      const n = turn % 12;
      const end = await stack.ask(session, `Read note-${n}.md and tell me the name of boat ${n}.`);
      expect(end).toMatchObject({ outcome: 'completed' });
      costs.push(cost.read());
    }
    const early = costs.slice(EARLY[0] - 1, EARLY[1]);
    const late = costs.slice(-10);
    const most = (of: readonly Cost[], member: keyof Cost) => Math.max(...of.map((one) => one[member]));
    expect(most(late, 'statements')).toBeLessThanOrEqual(most(early, 'statements'));
    // The index of closed turns a claim brings is bounded by its limit of 64 pairs, a dozen bytes each.
    expect(most(late, 'loadedBytes')).toBeLessThanOrEqual(most(early, 'loadedBytes') * 1.2);
    const plans = (await stack.records(session)).filter(({ kind }) => kind === 'context-plan');
    expect(Math.max(...plans.map(({ bytes }) => bytes))).toBeLessThan(2_048);
    expect(await stack.verify(session)).toMatchObject({ ok: true });
  });

  /** What the store of a worker that served the whole session is asked, and brings. */
  function meter(worker: TestWorker) {
    let statements = 0;
    let loadedBytes = 0;
    const { store } = worker.services;
    for (const method of METHODS) {
      const original = store[method].bind(store) as (...args: readonly unknown[]) => Promise<unknown>;
      Object.assign(store, {
        [method]: async (...args: readonly unknown[]) => {
          const answer = await original(...args);
          statements += 1;
          loadedBytes += JSON.stringify(answer ?? null).length;
          return answer;
        },
      });
    }
    return {
      reset: () => {
        statements = 0;
        loadedBytes = 0;
      },
      read: (): Cost => ({ statements, loadedBytes }),
    };
  }
});

function noteText(n: number): string {
  const filler = Array.from(
    { length: 12 },
    (_, line) => `Berth ${line} holds crates and rope for the season.`,
  );
  return [`# Note ${n}`, `Boat ${n} has the name Wigeon-${n}.`, ...filler].join('\n');
}
