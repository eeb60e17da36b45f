import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SessionRef } from '../../../src/db/contract.ts';
import { brokenLaw } from '../../../src/ledger/invariants.ts';
import { TURN_MODES, type TurnMode } from '../../../src/ledger/kinds.ts';
import { until } from '../../support/await.ts';
import { BACKENDS, openTestStack, type TestStack } from '../../support/stack.ts';
import { type HeldTool, heldTool } from '../../support/tools.ts';
import { Tally } from '../../unit/ledger/sample.ts';

/** Long enough to be seen in the size of a request. */
const MORE = `Mind that ${'the tide turns at noon and the harbour is shallow then. '.repeat(40)}`;
const LEAST_TOKENS = MORE.length / 10;

describe.each(BACKENDS)('modes on %s', (backend) => {
  let stack: TestStack;
  let weir: HeldTool;
  beforeAll(async () => {
    weir = heldTool('weir', 'read');
    stack = await openTestStack({ backend, tools: [weir.tool] });
    await stack.worker();
  });
  afterAll(() => stack.close());

  it('RUN-10 steer joins the running turn: its tool goes on, and the next request carries what was said', async () => {
    // A model that is offered a single tool calls it whatever is said.
    const session = await stack.session({ tools: ['weir', 'recall'] });
    const { turn, run } = await holding(session);
    expect(await stack.accept(session, MORE, { mode: 'steer', idempotencyKey: 'k' })).toBe(turn);
    expect(await stack.accept(session, MORE, { mode: 'steer', idempotencyKey: 'k' })).toBe(turn);
    expect(run.signal.aborted).toBe(false);
    run.release();
    expect(await stack.ended(session, turn)).toMatchObject({ outcome: 'completed', steps: 2 });
    expect(await kinds(session, turn, ['steering', 'turn-steered'])).toEqual(['steering', 'turn-steered']);
    const [first, second] = stack.sim.calls().slice(-2);
    expect((second?.promptTokens ?? 0) - (first?.promptTokens ?? 0)).toBeGreaterThan(LEAST_TOKENS);
    await lawful(session);
  });

  it('RUN-10 steer with a free head is a turn of its own', async () => {
    const session = await stack.session({ tools: [] });
    const turn = await stack.accept(session, 'Good morning.', { mode: 'steer' });
    expect(await stack.ended(session, turn)).toMatchObject({ outcome: 'completed' });
    expect(await kinds(session, turn, ['turn-accepted', 'steering'])).toEqual(['turn-accepted']);
  });

  it('RUN-10 RUN-06 interrupt stops the running turn and its call, keeps its records, and runs in its place', async () => {
    const session = await stack.session({ tools: ['weir', 'recall'] });
    const { turn, run } = await holding(session);
    const next = await stack.accept(session, 'Good morning.', { mode: 'interrupt' });
    await until('the tool was told', () => run.signal.aborted);
    expect(await stack.ended(session, turn)).toMatchObject({ outcome: 'cancelled', reason: 'interrupted' });
    expect(await stack.ended(session, next)).toMatchObject({ outcome: 'completed' });
    expect(await kinds(session, turn, ['assistant-message'])).toHaveLength(1);
    await lawful(session);
  });

  it('RUN-10 what was accepted before an interruption keeps its place before it', async () => {
    const session = await stack.session({ tools: ['weir', 'recall'] });
    const { turn } = await holding(session);
    const queued = await stack.accept(session, 'Good morning.');
    const urgent = await stack.accept(session, 'Good evening.', { mode: 'interrupt' });
    for (const each of [queued, urgent]) await stack.ended(session, each);
    expect(await stack.ended(session, turn)).toMatchObject({ outcome: 'cancelled' });
    expect(await order(session)).toEqual([turn, queued, urgent]);
  });

  it('RUN-10 any interleaving of producers and modes runs every turn once, in the order of acceptance', async () => {
    weir.releaseAll();
    const tally = new Tally();
    const sending = fc.record({
      mode: fc.constantFrom<TurnMode>(...TURN_MODES),
      producer: fc.nat({ max: 2 }),
      text: fc.constantFrom('Good morning.', 'Call the weir tool.'),
      waitsFor: fc.boolean(),
    });
    const producers = [stack.producer, stack.open(), stack.open()];
    await fc.assert(
      fc.asyncProperty(fc.array(sending, { minLength: 2, maxLength: 8 }), async (sendings) => {
        const session = await stack.session({ tools: ['weir'] });
        const sent: Promise<{ mode: TurnMode; turn: string | null }>[] = [];
        for (const { mode, producer, text, waitsFor } of sendings) {
          const options = { mode, ...withServices(producers[producer]) };
          const sentNow = stack.accept(session, text, options).then(
            (turn) => ({ mode, turn }),
            (error: { code?: string }) => {
              if (error.code !== 'turn_running') throw error;
              return { mode, turn: null };
            },
          );
          sent.push(sentNow);
          if (waitsFor) await sentNow;
        }
        const answers = await Promise.all(sent);
        for (const { turn } of answers) if (turn !== null) await stack.ended(session, turn);
        const refused = answers.filter(({ turn }) => turn === null);
        expect(refused.every(({ mode }) => mode === 'reject')).toBe(true);
        const accepted = await kindTurns(session, 'turn-accepted');
        expect(await order(session)).toEqual(accepted);
        expect(new Set(answers.flatMap(({ turn }) => turn ?? []))).toEqual(new Set(accepted));
        const steered = await kindTurns(session, 'steering');
        const messages = answers.filter(({ turn }) => turn !== null).length;
        expect(accepted.length + steered.length).toBe(messages);
        await lawful(session);
        tally.count({
          refused: refused.length > 0,
          steered: steered.length > 0,
          interrupted: (await reasons(session)).includes('interrupted'),
          'several turns': accepted.length > 1,
        });
      }),
      { numRuns: 12 },
    );
    tally.report(`interleavings on ${backend}`);
  });

  /** A turn whose tool runs and waits. */
  async function holding(session: SessionRef) {
    const before = weir.runs.length;
    const turn = await stack.accept(session, 'Call the weir tool.');
    const run = await until('the tool runs', () => weir.runs[before]);
    return { turn, run };
  }

  async function lawful(session: SessionRef): Promise<void> {
    expect(brokenLaw({ session: session.session, records: await stack.records(session) })).toBeNull();
  }

  async function kinds(session: SessionRef, turn: string, wanted: readonly string[]) {
    const records = await stack.records(session, turn);
    return records.map(({ kind }) => kind).filter((kind) => wanted.includes(kind));
  }

  async function kindTurns(session: SessionRef, wanted: string) {
    return (await stack.records(session)).flatMap(({ kind, turnId }) => (kind === wanted ? [turnId] : []));
  }

  async function reasons(session: SessionRef) {
    return (await stack.records(session)).flatMap(({ kind, data }) =>
      kind === 'turn-closed' ? [data.reason] : [],
    );
  }

  /** Turns in the order in which they started. */
  const order = (session: SessionRef) => kindTurns(session, 'turn-context');
});

function withServices(services: TestStack['producer'] | undefined) {
  return services === undefined ? {} : { services };
}
