import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type ApiStack, openApiStack } from './api-stack.ts';
import { type EventReader, readEvents, type SeenEvent } from './event-reader.ts';
import { harbourSession } from './harbour.ts';

/** So small that the oldest turns need a packet, and so few of them that a turn waits for it. */
const SMALL = { policy: { name: 'plan' as const, options: { contextWindow: 5_000 } } };
const TURNS = 100;

describe('events of a turn whose history is compacted', () => {
  let api: ApiStack;
  const readers: EventReader[] = [];
  beforeAll(async () => {
    api = await openApiStack({ backend: 'postgres' });
    await api.stack.worker();
  });
  afterEach(() => api.stack.sim.setFaults([]));
  afterAll(async () => {
    for (const reader of readers) reader.close();
    await api.close();
  });

  async function follow(input: string): Promise<readonly SeenEvent[]> {
    const session = await harbourSession(api.services, api.stack.tenant, TURNS, SMALL);
    const turn = await api.turn(session, { input });
    const reader = await readEvents(api.url, turn, api.key);
    readers.push(reader);
    return reader.all();
  }

  const dataOf = (events: readonly SeenEvent[], type: string) =>
    events.filter((event) => event.type === type).map(({ data }) => data);

  it('PLN-02 tell which turns a packet stands for, and the plan that carries it', async () => {
    const events = await follow('Good evening.');
    const [compacted] = dataOf(events, 'context.compacted');
    expect(compacted).toEqual({ by: 'packet', from: 1, to: compacted.to, quality: 'model' });
    const [plan] = dataOf(events, 'turn.plan');
    expect(plan).toMatchObject({
      policy: 'plan',
      packet: { from: 1, to: compacted.to, quality: 'model' },
      degraded: false,
      left_out: 0,
    });
    expect(plan.runs[0]).toEqual({ from: 1, to: compacted.to, fidelity: 'packet' });
    expect(plan.spent_tokens).toBeLessThanOrEqual(plan.budget_tokens);
    const types = events.map(({ type }) => type);
    expect(types.indexOf('context.compacted')).toBeLessThan(types.indexOf('turn.plan'));
  });

  it('PLN-02 tell that no summary could be had, and that the turn goes on without', async () => {
    api.stack.sim.setFaults([{ match: { count: 1 }, fault: { name: 'auth' } }]);
    const events = await follow('Good evening.');
    const [compacted] = dataOf(events, 'context.compacted');
    expect(compacted).toMatchObject({ by: 'packet', from: 1, failed: 'auth' });
    expect(dataOf(events, 'turn.plan')).toEqual([
      expect.objectContaining({
        degraded: true,
        packet: expect.objectContaining({ quality: 'deterministic' }),
      }),
    ]);
    expect(events.at(-1)?.type).toBe('turn.degraded');
  });

  it('PLN-01 tell which turns were promoted, by number', async () => {
    const events = await follow('What does papers/k7.md say?');
    const [plan] = dataOf(events, 'turn.plan');
    expect(plan.promoted).toContain(7);
  });
});
