/** A process that starts a turn's next call itself: the queue is left out, and stays the way back. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SessionRef } from '../../../src/db/contract.ts';
import { gate, until } from '../../support/await.ts';
import { BACKENDS, openTestStack, type TestStack } from '../../support/stack.ts';
import { type HeldTool, heldTool } from '../../support/tools.ts';

const CALL_IT = 'Call the weir tool.';
const LEASE_MS = 900;

describe.each(BACKENDS)('calls started where they were made, on %s', (backend) => {
  let stack: TestStack;
  let weir: HeldTool;
  let session: SessionRef;

  beforeEach(async () => {
    weir = heldTool('weir', 'once');
    stack = await openTestStack({ backend, leaseMs: LEASE_MS, tools: [weir.tool] });
    session = await stack.session({ tools: ['weir'] });
  });
  afterEach(() => stack.close());

  /** Without the prefix, which the first turn of a session stores for all, and without what early calls teach. */
  const kinds = async (turn: string) =>
    (await stack.records(session, turn))
      .map(({ kind }) => kind)
      .filter((kind) => !['prefix', 'capacity-feedback', 'capacity-probe'].includes(kind));
  const handedOver = (turn: string) => stack.admitted.filter(({ actor }) => actor === turn);

  it('RUN-03 a turn ends as it does through the queue, which is given its first call alone', async () => {
    weir.releaseAll();
    const queued = await stack.worker({ startHere: false });
    const first = await stack.ask(session, CALL_IT);
    await queued.stop();
    await stack.worker({ startHere: true });
    const second = await stack.ask(session, CALL_IT);
    expect(second).toMatchObject({ outcome: 'completed', steps: 2 });
    expect(await kinds(second.turn)).toEqual(await kinds(first.turn));
    expect(handedOver(first.turn).length).toBeGreaterThan(1);
    expect(handedOver(second.turn).map(({ child }) => child)).toEqual(['step-1']);
    expect(await stack.sql('SELECT 1 FROM turnwright.outbox WHERE actor_id = $1', [second.turn])).toEqual([]);
    expect(await stack.verify(session)).toMatchObject({ ok: true });
  });

  it('RUN-04 RUN-05 a call whose process is gone before it claimed it comes back through the queue', async () => {
    const doomed = await stack.worker({ startHere: true, sweeps: false });
    const never = gate();
    const { store } = doomed.services;
    const [claim, claimKnown] = [store.claim.bind(store), store.claimKnown.bind(store)];
    const lost: string[] = [];
    const isLost = (child: string): boolean => child.startsWith('tool') && lost.push(child) > 0;
    store.claim = async (ref, ...rest) =>
      isLost(ref.child) ? never.opened.then(() => null) : claim(ref, ...rest);
    store.claimKnown = async (ref, ...rest) =>
      isLost(ref.child) ? never.opened.then(() => null) : claimKnown(ref, ...rest);
    const turn = await stack.accept(session, CALL_IT);
    await until('the call is lost', () => lost.length > 0);
    await stack.worker();
    weir.releaseAll();
    expect(await stack.ended(session, turn)).toMatchObject({ outcome: 'completed', steps: 2 });
    expect(weir.runs).toHaveLength(1);
    expect(handedOver(turn).some(({ child }) => child.startsWith('tool'))).toBe(true);
    never.open();
  });

  it('RUN-06 a cancel reaches it', async () => {
    await stack.worker({ startHere: true });
    const turn = await stack.accept(session, CALL_IT);
    const run = await until('the tool runs', () => weir.runs[0]);
    await stack.cancel(session, turn);
    await until('the tool was told', () => run.signal.aborted);
    expect(await stack.ended(session, turn)).toMatchObject({ outcome: 'cancelled' });
  });

  it('RUN-12 a process told to stop waits for what it started, and leaves what follows to others', async () => {
    const stopping = await stack.worker({ startHere: true });
    const turn = await stack.accept(session, CALL_IT);
    const run = await until('the tool runs', () => weir.runs[0]);
    const drained = stopping.drain();
    run.release();
    await drained;
    expect(await kinds(turn)).toContain('tool-result');
    await stack.worker();
    expect(await stack.ended(session, turn)).toMatchObject({ outcome: 'completed', steps: 2 });
    expect(weir.runs).toHaveLength(1);
  });
});
