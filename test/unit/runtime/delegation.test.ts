/** Delegation over a store in memory, as several processes that run the same call share it. */
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { ActorRef, Claim, RawRecord, SessionRef } from '../../../src/db/contract.ts';
import { childIds } from '../../../src/ledger/child-ids.ts';
import { TurnwrightError } from '../../../src/ledger/errors.ts';
import { acceptTurn } from '../../../src/runtime/accept.ts';
import { delegationOf } from '../../../src/runtime/delegation.ts';
import { forkSession } from '../../../src/runtime/fork.ts';
import { createSession, type SessionConfig } from '../../../src/runtime/sessions.ts';
import { SIMPLE_CONFIG } from '../../support/conversation.ts';
import { memoryParts, type OneProcess, openProcess, type ProcessOptions } from '../../support/one-process.ts';

const LIMITS = { stepBudget: 7, deadlineMs: 90_000, escalate: false };
const BUDGET = { microUsd: 1_200, tokens: 9_000 };
const PRIORITY = 3;
const DIRECTIVE = 'Count the buoys.';
const above = (depth: number) => ({ delegated: { session: randomUUID(), turn: randomUUID(), depth } });

interface Place {
  readonly step?: number;
  readonly index?: number;
  readonly dispatch?: number;
  /** Names of the calls of each step so far. */
  readonly steps?: readonly (readonly string[])[];
}

/** A session whose turn asks, and the ways to ask for it. */
async function asking(config: Partial<SessionConfig> = {}, options: Partial<ProcessOptions> = {}) {
  const parts = memoryParts();
  const process = openProcess({ ...parts, ...options });
  const { engine } = process;
  const ref: SessionRef = { tenant: randomUUID(), session: randomUUID() };
  await createSession(engine, ref, randomUUID(), { ...SIMPLE_CONFIG, ...config });
  const { turn } = await acceptTurn(engine, ref, {
    turn: randomUUID(),
    input: [{ type: 'text', text: 'How many buoys are there?' }],
    mode: 'enqueue',
    priority: PRIORITY,
    idempotencyKey: null,
    budget: BUDGET,
    limits: LIMITS,
  });
  const at: ActorRef = { ...ref, actor: turn };
  const child = childIds({ ...ref, turn, step: 1, index: 0 });
  const ask = async (by: OneProcess = process, place: Place = {}, inherit = false) => {
    const { step = 1, index = 0 } = place;
    const call = { claim: await claimOf(by, at, place), step, index, tool: 'delegate' };
    return delegationOf(by.engine, call).ask(DIRECTIVE, inherit);
  };
  const records = async () => {
    const found: { readonly kind: string; readonly body: Record<string, unknown> }[] = [];
    for await (const { kind, body } of parts.store.records({ ...ref, session: child.session }))
      found.push({ kind, body: JSON.parse(body ?? '{}') });
    return found;
  };
  const of = async (kind: string) =>
    (await records()).flatMap((record) => (record.kind === kind ? [record.body] : []));
  return { parts, process, ref, turn, child, ask, records, of };
}

async function claimOf(
  { engine }: OneProcess,
  at: ActorRef,
  { step = 1, index = 0, dispatch = 1, steps = [] }: Place,
): Promise<Claim> {
  const loaded = await engine.store.load(at);
  if (loaded === null) throw new Error('the turn is not there');
  const call = { child: `tool-${step}-${index}`, src: 'tool', input: '', attempt: 1, dispatch };
  const claimed = { ...call, started: false, deaths: 0, fence: dispatch, token: 1 };
  return { call: claimed, loaded, records: steps.map(messageOf), whole: false, toPlan: null };
}

function messageOf(tools: readonly string[], at: number): RawRecord {
  const content = tools.map((name, index) => ({ type: 'tool_call', id: `c${index}`, name, args: {} }));
  const body = JSON.stringify({ item: at + 2, step: at + 1, content, finish: 'tool_calls' });
  return { seq: at + 10, kind: 'assistant-message', class: 'protocol', turnId: null, body };
}

describe('a delegated directive', () => {
  it('LIN-04 has one session and one turn, however many workers run its call at once', async () => {
    const { parts, process, child, ask, of } = await asking();
    const others = [openProcess(parts), openProcess(parts)];
    const all = await Promise.all([process, ...others, process].map((by) => ask(by)));
    for (const found of all) expect(found).toEqual({ kind: 'pending', session: child.session, delayMs: 250 });
    expect(await of('session-created')).toHaveLength(1);
    expect(await of('turn-accepted')).toMatchObject([
      { number: 1, input: [{ type: 'text', text: DIRECTIVE }] },
    ]);
  });

  it('LIN-04 a fork, too, is made once', async () => {
    const { parts, process, ask, of } = await asking();
    const other = openProcess(parts);
    await Promise.all([process, other, process].map((by) => ask(by, {}, true)));
    expect(await of('inherited')).toHaveLength(1);
    expect(await of('turn-accepted')).toMatchObject([{ number: 2 }]);
  });

  it('LIN-04 goes on where a worker died between the session and its turn', async () => {
    const { parts, process, child, ask, records, of } = await asking();
    let commits = 0;
    const dying = openProcess({
      ...parts,
      store: committing(parts.store, async (commit) => {
        commits += 1;
        if (commits === 2) throw new Error('the worker died');
        return parts.store.apply(commit);
      }),
    });
    await expect(ask(dying)).rejects.toThrow('the worker died');
    expect((await records()).map(({ kind }) => kind)).toEqual(['session-created', 'head-created']);
    expect(await ask()).toMatchObject({ kind: 'pending', session: child.session });
    await process.run();
    expect(await ask()).toMatchObject({ kind: 'ended', outcome: 'completed' });
    expect(await of('session-created')).toHaveLength(1);
    expect(await of('turn-accepted')).toHaveLength(1);
  });

  it('LIN-04 an outage of storage is no answer: it is looked at again', async () => {
    const { parts, child, ask } = await asking();
    const away = openProcess({
      ...parts,
      store: committing(parts.store, async () => {
        throw new TurnwrightError('database_unreachable', 'gone for a while');
      }),
    });
    expect(await ask(away)).toMatchObject({ kind: 'pending', session: child.session });
    expect(await ask()).toMatchObject({ kind: 'pending', session: child.session });
  });

  it('LIN-04 ends with the answer of its turn, as often as it is asked', async () => {
    const reply = () => [{ type: 'text' as const, text: 'There are four.' }];
    const { process, child, ask } = await asking({}, { reply });
    await ask();
    await process.run();
    const ended = {
      kind: 'ended',
      session: child.session,
      outcome: 'completed',
      reason: 'answered',
      answer: 'There are four.',
    };
    expect(await ask()).toEqual(ended);
    expect(await ask()).toEqual(ended);
  });

  it('LIN-04 ends without an answer where its turn failed', async () => {
    const reply = () => ({ kind: 'auth', message: 'no such key' }) as const;
    const { process, ask } = await asking({}, { reply });
    await ask();
    await process.run();
    expect(await ask()).toMatchObject({ kind: 'ended', outcome: 'failed', reason: 'auth', answer: null });
  });

  it('LIN-04 its turn has the limits, the budget and the priority of the one that asks, and its session the settings', async () => {
    const config = { system: 'Keep the log.', metadata: { team: 'blue' }, workContract: 'Count twice.' };
    const { parts, ref, turn, child, ask, of } = await asking(config);
    await ask();
    expect(await of('session-created')).toEqual([
      {
        ...SIMPLE_CONFIG,
        ...config,
        metadata: {},
        delegated: { session: ref.session, turn, depth: 1 },
      },
    ]);
    expect(await of('turn-accepted')).toMatchObject([{ priority: PRIORITY, budget: BUDGET }]);
    const loaded = await parts.store.load({ tenant: ref.tenant, session: child.session, actor: child.turn });
    expect(JSON.parse(loaded?.actor.snapshot ?? '')).toMatchObject({ context: LIMITS });
    const state = await parts.store.sessionState({ ...ref, session: child.session });
    expect(state?.session.parent).toEqual({ session: ref.session, turn });
  });

  it('LIN-04 three sessions may stand one below the other, and a fourth is refused', async () => {
    const third = await asking(above(2));
    expect(await third.ask()).toMatchObject({ kind: 'pending' });
    expect(await third.of('session-created')).toMatchObject([{ delegated: { depth: 3 } }]);
    const fourth = await asking(above(3));
    expect(await fourth.ask()).toEqual({ kind: 'refused', reason: expect.stringContaining('3') });
    expect(await fourth.records()).toEqual([]);
  });

  it('LIN-04 the eighth call of a turn is answered, and the ninth is refused, whoever runs it first', async () => {
    const { ask } = await asking();
    const steps = [
      ['delegate', 'read', 'delegate', 'delegate'],
      ['read', ...Array.from({ length: 7 }, () => 'delegate')],
    ];
    const at = (step: number, index: number) => ask(undefined, { step, index, steps });
    expect(await at(2, 6)).toEqual({ kind: 'refused', reason: expect.stringContaining('8') });
    expect(await at(2, 5)).toMatchObject({ kind: 'pending' });
    expect(await at(1, 3)).toMatchObject({ kind: 'pending' });
    expect(await at(2, 7)).toMatchObject({ kind: 'refused' });
  });

  it('LIN-04 is looked at after 250 ms, then ever more seldom, and every 5 s in the end', async () => {
    const { ask } = await asking();
    const delays: number[] = [];
    for (let dispatch = 1; dispatch <= 20; dispatch++) {
      const found = await ask(undefined, { dispatch });
      delays.push(found.kind === 'pending' ? found.delayMs : Number.NaN);
    }
    expect(delays[0]).toBe(250);
    expect(delays.at(-1)).toBe(5_000);
    let waitedMs = 0;
    for (const [at, delayMs] of delays.entries()) {
      expect(delayMs).toBeGreaterThanOrEqual(delays[at - 1] ?? 0);
      // Nobody waits long for what was there soon.
      expect(delayMs).toBeLessThanOrEqual(250 + waitedMs / 3);
      waitedMs += delayMs;
    }
  });

  it('LIN-04 a fork of a session that was made for a task belongs to nobody', async () => {
    const { parts, process, ref, child, ask } = await asking();
    await ask();
    const fork = { session: randomUUID(), head: randomUUID() };
    await forkSession(process.engine, { ...ref, session: child.session }, fork);
    const state = await parts.store.sessionState({ ...ref, session: fork.session });
    expect(state?.session.parent).toBeNull();
    expect(JSON.parse(state?.session.config ?? '')).not.toHaveProperty('delegated');
  });
});

/** The same store with another way to commit. */
function committing(
  store: ProcessOptions['store'],
  apply: ProcessOptions['store']['apply'],
): ProcessOptions['store'] {
  return new Proxy(store, {
    get: (target, name) => {
      if (name === 'apply') return apply;
      const member: unknown = Reflect.get(target, name);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}
