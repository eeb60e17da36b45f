/** A directive done in a session of its own, through real workers with one slot a pool. */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { SessionRef } from '../../../src/db/contract.ts';
import { childIds } from '../../../src/ledger/child-ids.ts';
import type { RecordKind } from '../../../src/ledger/kinds.ts';
import { MACHINES } from '../../../src/machines/registry.ts';
import { clearSession } from '../../../src/runtime/clear.ts';
import { delegationOf } from '../../../src/runtime/delegation.ts';
import { rebuildSession } from '../../../src/runtime/rebuild.ts';
import { verifySession } from '../../../src/runtime/verify-session.ts';
import { defineTool } from '../../../src/tools/define.ts';
import { turnTopic } from '../../../src/workers/deltas.ts';
import { until } from '../../support/await.ts';
import { BACKENDS, openTestStack, type TestStack, type TestWorker } from '../../support/stack.ts';
import { heldTool } from '../../support/tools.ts';

/** Asks for a task that goes on from what was said. */
const branch = defineTool({
  name: 'branch',
  description: 'Waits at the branch.',
  input: z.strictObject({}),
  effect: 'idempotent',
  run: async (_, { delegation }) => {
    const found = await delegation?.ask('What is the ferry called?', true);
    if (found?.kind === 'pending')
      return { content: 'the branch', isError: false, againAfterMs: found.delayMs };
    return found?.kind === 'ended' ? (found.answer ?? '') : { content: 'refused', isError: true };
  },
});

describe.each(BACKENDS)('a delegated directive on %s', (backend) => {
  const weir = heldTool('weir', 'read');
  const sluice = heldTool('sluice', 'read');
  let stack: TestStack;
  let worker: TestWorker;

  beforeAll(async () => {
    stack = await openTestStack({
      backend,
      tools: [weir.tool, sluice.tool, branch],
      files: { 'harbour.md': 'The pilot boat is called Wigeon.\n' },
    });
    worker = await stack.worker({ concurrency: 1 });
  });
  afterAll(() => stack.close());

  const childOf = ({ tenant, session }: SessionRef, turn: string, step = 1, index = 0) => {
    const ids = childIds({ tenant, session, turn, step, index });
    return { ref: { tenant, session: ids.session }, ...ids };
  };
  const delegating = (directive: string) => `Call the delegate tool. The directive is: "${directive}"`;
  const results = async (session: SessionRef, turn: string) =>
    (await stack.records(session, turn)).flatMap(({ kind, data }) => (kind === 'tool-result' ? [data] : []));
  const delegated = async (session: SessionRef, turn: string, tool = 'delegate') =>
    (await results(session, turn)).filter(({ name }) => name === tool);
  const status = async ({ session }: SessionRef, turn: string) =>
    (
      await stack.sql<{ status: string }>(
        'SELECT status FROM turnwright.turns WHERE session_id = $1 AND turn_id = $2',
        [session, turn],
      )
    )[0]?.status;

  it('LIN-04 runs in a blank session with the settings of the first one, and its answer comes back once', async () => {
    const session = await stack.session({ tools: ['delegate', 'read'], system: 'Keep the log.' });
    await stack.ask(session, 'Good morning to you.');
    const end = await stack.ask(
      session,
      delegating('Read harbour.md and say what the pilot boat is called.'),
    );
    expect(end).toMatchObject({ outcome: 'completed' });
    expect(await delegated(session, end.turn)).toMatchObject([
      { status: 'ok', content: expect.stringContaining('Wigeon') },
    ]);

    const child = childOf(session, end.turn);
    const records = await stack.records(child.ref);
    expect(records[0]?.data).toMatchObject({
      tools: ['delegate', 'read'],
      system: 'Keep the log.',
      metadata: {},
      delegated: { session: session.session, turn: end.turn, depth: 1 },
    });
    expect(records.filter(({ kind }) => kind === 'inherited')).toEqual([]);
    const accepted = records.filter(({ kind }) => kind === 'turn-accepted');
    expect(accepted.map(({ turnId, data }) => [turnId, data.number])).toEqual([[child.turn, 1]]);
    expect(records.filter(({ kind }) => kind === 'turn-closed')).toHaveLength(1);
    // The child called a tool of its own: in a pool of one slot, nobody else can have held it.
    expect(await results(child.ref, child.turn)).toMatchObject([{ name: 'read', status: 'ok' }]);
  });

  it('LIN-04 no worker is held and no attempt counted while the child runs', async () => {
    const session = await stack.session({ tools: ['delegate', 'weir'] });
    await stack.sql(
      `UPDATE turnwright.sessions SET watched_until = now() + interval '1 hour' WHERE session_id = $1`,
      [session.session],
    );
    const ran = weir.runs.length;
    const turn = await stack.accept(session, delegating('Call the weir tool.'));
    const told: unknown[] = [];
    const stop = await stack.producer.bus.watch(turnTopic(session, turn), ({ type, data }) => {
      if (type === 'tool.started') told.push(data);
    });
    await until('the tool of the child runs', () => weir.runs.length > ran);
    const [call] = await stack.sql(
      `SELECT status, attempt, deaths, dispatch > 1 AS again FROM turnwright.side_calls
        WHERE session_id = $1 AND child_id = 'tool-1-0'`,
      [session.session],
    );
    expect(call).toMatchObject({ status: 'queued', attempt: 1, deaths: 0, again: true });
    weir.runs.at(-1)?.release();
    expect(await stack.ended(session, turn)).toMatchObject({ outcome: 'completed' });
    expect(await results(session, turn)).toMatchObject([{ name: 'delegate', status: 'ok' }]);
    // However often it looked, whoever watches is told once that it began.
    expect(told).toEqual([{ step: 1, index: 0, name: 'delegate' }]);
    await stop();
  });

  it('LIN-04 a child that inherits answers from what was said before it began', async () => {
    const session = await stack.session({ tools: ['branch', 'read'] });
    const log = join(stack.root, 'log.md');
    await writeFile(log, 'The ferry is called Petrel.\n');
    await stack.ask(session, 'Read log.md and tell me what the ferry is called.');
    await rm(log);
    const end = await stack.ask(session, 'Call the branch tool.');
    expect(end.outcome).toBe('completed');
    const child = childOf(session, end.turn);
    const records = await stack.records(child.ref);
    const of = (wanted: RecordKind) => records.flatMap(({ kind, data }) => (kind === wanted ? [data] : []));
    expect(of('inherited')).toMatchObject([{ session: session.session, next: { turn: 3 } }]);
    // The turn that asks is still open, and is not carried.
    expect(of('context-plan')).toMatchObject([{ runs: [{ from: 1, to: 1, fidelity: 'full' }] }]);
    expect(of('tool-result').filter(({ status }) => status === 'ok')).toEqual([]);
    expect(await delegated(session, end.turn, 'branch')).toMatchObject([
      { status: 'ok', content: expect.stringContaining('Petrel') },
    ]);
  });

  it('LIN-04 a child whose parent is cancelled is cancelled too, and so is the child below it', async () => {
    const session = await stack.session({ tools: ['delegate', 'sluice'] });
    const below = delegating('Call the sluice tool.').replaceAll('"', '`');
    const turn = await stack.accept(session, delegating(below));
    const ran = sluice.runs.length;
    await until('the tool of the grandchild runs', () => sluice.runs.length > ran);
    const child = childOf(session, turn);
    const grandchild = childOf(child.ref, child.turn);
    expect(await status(grandchild.ref, grandchild.turn)).toBe('running');

    await stack.cancel(session, turn);
    const ended = { outcome: 'cancelled', reason: 'parent_ended' };
    expect(await stack.ended(child.ref, child.turn)).toMatchObject(ended);
    expect(await stack.ended(grandchild.ref, grandchild.turn)).toMatchObject(ended);
    await until('the tool is told to stop', () => sluice.runs.at(-1)?.signal.aborted);
    sluice.runs.at(-1)?.release();
    expect(await results(session, turn)).toEqual([]);
  });

  it('LIN-04 a child whose parent is cleared away is cancelled too', async () => {
    const session = await stack.session({ tools: ['delegate', 'sluice'] });
    const turn = await stack.accept(session, delegating('Call the sluice tool.'));
    const ran = sluice.runs.length;
    await until('the tool of the child runs', () => sluice.runs.length > ran);
    expect(await clearSession(stack.producer.engine, session)).toEqual({ cleared: true, cancelled: [turn] });
    const child = childOf(session, turn);
    expect(await stack.ended(child.ref, child.turn)).toMatchObject({ reason: 'parent_ended' });
    sluice.runs.at(-1)?.release();
  });

  it('LIN-04 processes that run one call at the same time make one session and one turn', async () => {
    const session = await stack.session({ tools: ['delegate'] });
    const turn = await stack.accept(session, 'Good morning to you.');
    const loaded = await stack.producer.store.load({ ...session, actor: turn });
    if (loaded === null) throw new Error('the turn is not there');
    const call = { child: 'tool-1-0', src: 'tool', input: '', attempt: 1, dispatch: 1 };
    const claimed = { ...call, started: false, deaths: 0, fence: 1, token: 1 };
    const claim = { call: claimed, loaded, records: [], whole: false, toPlan: null };
    const engines = [stack.producer, stack.open(), stack.open(), worker.services].map(({ engine }) => engine);
    const asking = { claim, step: 1, index: 0, tool: 'delegate' };
    const all = await Promise.all(engines.map((engine) => delegationOf(engine, asking).ask('Wait.', false)));
    const child = childOf(session, turn);
    for (const found of all) expect(found).toMatchObject({ session: child.session });
    const kinds = (await stack.records(child.ref)).map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === 'session-created' || kind === 'turn-accepted')).toEqual([
      'session-created',
      'turn-accepted',
    ]);
  });

  it('LIN-04 a session that was a child takes turns of its own once its parent has ended', async () => {
    const session = await stack.session({ tools: ['delegate', 'read', 'weir'] });
    const directive = 'Read harbour.md and say what the pilot boat is called.';
    const end = await stack.ask(session, delegating(directive));
    const child = childOf(session, end.turn);
    const ran = weir.runs.length;
    const own = await stack.accept(child.ref, 'Call the weir tool.');
    await until('the tool of the own turn runs', () => weir.runs.length > ran);
    await until('a sweep', () => worker.services.sweeper.sweep());
    weir.runs.at(-1)?.release();
    expect(await stack.ended(child.ref, own)).toMatchObject({ outcome: 'completed' });
  });

  it('LIN-04 a child that fails is an error that names its outcome, its reason and its session', async () => {
    const session = await stack.session({ tools: ['delegate', 'weir'] });
    const turn = await stack.accept(session, delegating('Call the weir tool.'));
    const ran = weir.runs.length;
    await until('the tool of the child runs', () => weir.runs.length > ran);
    const child = childOf(session, turn);
    await stack.cancel(child.ref, child.turn);
    weir.runs.at(-1)?.release();
    await stack.ended(session, turn);
    const [result] = await results(session, turn);
    expect(result).toMatchObject({ name: 'delegate', status: 'error' });
    expect(result?.content).toContain('ended cancelled (cancelled)');
    expect(result?.content).toContain(child.session);
  });

  it('LIN-04 the child verifies, and its row is made anew of its records', async () => {
    const session = await stack.session({ tools: ['delegate', 'read'] });
    const end = await stack.ask(
      session,
      delegating('Read harbour.md and say what the pilot boat is called.'),
    );
    const child = childOf(session, end.turn);
    const { store, upkeep } = stack.producer;
    expect(await verifySession({ store, registry: MACHINES }, child.ref)).toMatchObject({
      chain: { ok: true },
      broken: null,
    });
    const parents = () =>
      stack.sql(
        'SELECT parent_session AS session, parent_turn AS turn FROM turnwright.sessions WHERE session_id = $1',
        [child.session],
      );
    expect(await parents()).toEqual([{ session: session.session, turn: end.turn }]);
    await stack.sql(
      'UPDATE turnwright.sessions SET parent_session = NULL, parent_turn = NULL WHERE session_id = $1',
      [child.session],
    );
    const rebuilt = await rebuildSession({ store, upkeep, registry: MACHINES }, child.ref);
    expect(rebuilt.differences.map(({ table }) => table)).toEqual(['sessions']);
    expect(await parents()).toEqual([{ session: session.session, turn: end.turn }]);
  });
});
