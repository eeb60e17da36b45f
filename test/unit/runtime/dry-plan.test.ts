/** Dry plans and compaction against the loop: the same planner, over the same session, with the same answer. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { PlanOptions } from '../../../src/context/plan/contract.ts';
import type { SessionRef } from '../../../src/db/contract.ts';
import { parseBody } from '../../../src/ledger/kinds.ts';
import { compactSession } from '../../../src/runtime/compact.ts';
import { dryPlan } from '../../../src/runtime/dry-plan.ts';
import { SummariesAhead } from '../../../src/runtime/summaries-ahead.ts';
import { openConversation } from '../../support/conversation.ts';
import { memoryParts, type OneProcess, openProcess } from '../../support/one-process.ts';
import { Tally } from '../ledger/sample.ts';

const RUNS = 150;
const LIMIT_MS = 120_000;
const TENANT = '01890000-0000-7000-8000-00000000000f';
const SUMMARY_ACTOR = '01890000-0000-7000-8000-0000000000bb';
/** New turns of a packet that a turn waits for. */
const AWAITED_TURNS = 32;

const choice = fc.record({
  before: fc.constantFrom(0, 2, 9, 30, 50, 90, 160),
  window: fc.constantFrom(900, 1_000, 1_050, 1_200, 1_400, 2_000, 2_600, 3_600, 200_000),
  text: fc.constantFrom('What of the Petrel 6?', 'And that again?', 'Open papers/k2.md.', 'Good evening.'),
  options: fc.record(
    {
      promotedShare: fc.constantFrom(0, 0.25, 0.6),
      eligibility: fc.constantFrom('recency', 'signal'),
      signals: fc.constantFrom('all', 'minimal'),
      steady: fc.boolean(),
      reserve: fc.constantFrom('window', 'horizon'),
      reserveTokens: fc.constantFrom(0, 200),
    },
    { requiredKeys: [] },
  ) as fc.Arbitrary<Partial<PlanOptions>>,
  workContract: fc.option(fc.constant('Keep the harbour book.'), { nil: undefined }),
});
type Choice = typeof choice extends fc.Arbitrary<infer T> ? T : never;

async function opened({ before, window, options, workContract }: Omit<Choice, 'text'>) {
  const parts = memoryParts();
  const process = openProcess({ ...parts, leg: { window, maxOutputTokens: 300 } });
  const { ref, write } = await openConversation(process.engine, TENANT, {
    policy: { name: 'plan', options: { ...options } },
    tools: ['recall'],
    ...(workContract === undefined ? {} : { workContract }),
  });
  await write(
    Array.from({ length: before }, (_, at) => ({
      asked: `Who lies at berth ${at + 1}?`,
      steps: [
        {
          prose: '',
          calls: [
            {
              tool: 'read',
              args: {},
              result: `The Petrel ${at + 1} lies there.`,
              files: [{ kind: 'read' as const, path: `papers/k${at + 1}.md` }],
            },
          ],
        },
      ],
      answer: `The Petrel ${at + 1} lies at berth ${at + 1}, with coal for ${at + 4} days.`,
    })),
  );
  return { parts, process, ref };
}

function depsOf({ engine, planning, profiles, surface }: OneProcess) {
  const ahead = new SummariesAhead(engine, planning, () => SUMMARY_ACTOR);
  return { engine, planning, profiles, surface, configs: engine.configs, ahead };
}

/** Everything stored of a session, but for when. */
async function stored({ engine }: OneProcess, ref: SessionRef) {
  const state = await engine.store.sessionState(ref);
  return { ...state, events: state?.events.map((event) => ({ ...event, receivedInMs: 0 })) };
}

/** What the turn's first step came to: its plan, or the packet it waits for. */
async function firstStep(process: OneProcess, ref: SessionRef, turn: string) {
  await process.run(({ pool }) => pool === 'summary');
  const state = await process.engine.store.sessionState(ref);
  const awaited = state?.calls.find(({ actor, src }) => actor === turn && src === 'summary');
  const plan = (await process.engine.store.turnRecords(ref, turn)).find(
    ({ kind }) => kind === 'context-plan',
  );
  return {
    awaited: awaited === undefined ? null : (JSON.parse(awaited.input) as { from: number; to: number }),
    plan: plan === undefined ? null : parseBody('context-plan', JSON.parse(plan.body)),
  };
}

describe('a dry plan', () => {
  it(
    'PLN-01 PLN-06 is what the loop then plans, whoever asks, and changes nothing',
    async () => {
      const tally = new Tally();
      await fc.assert(
        fc.asyncProperty(choice, async (chosen) => {
          const { parts, process, ref } = await opened(chosen);
          const before = await stored(process, ref);
          const { text } = chosen;
          const { leg } = process;
          const dry = await dryPlan(depsOf(process), ref, { text, leg });
          const other = openProcess({ ...parts, leg: { window: chosen.window, maxOutputTokens: 300 } });
          expect(await dryPlan(depsOf(other), ref, { text, leg: other.leg })).toEqual(dry);
          expect(await stored(process, ref)).toEqual(before);
          expect([process.sent, process.waiting]).toEqual([[], []]);

          const { awaited, plan } = await firstStep(process, ref, await process.accept(ref, text));
          const { wants, packet, promoted, ...same } = dry.plan;
          const isAwaited = wants !== null && wants.to - wants.from < AWAITED_TURNS;
          expect(awaited !== null).toBe(isAwaited);
          if (awaited !== null) expect(awaited).toMatchObject(wants ?? {});
          if (plan !== null) {
            expect(plan).toMatchObject({ ...same, promoted });
            expect([plan.packet?.from, plan.packet?.to, plan.packet?.bytes]).toEqual([
              packet?.from,
              packet?.to,
              packet?.bytes,
            ]);
          }
          tally.count({
            'no turn yet': chosen.before === 0,
            awaited: awaited !== null,
            packet: plan?.packet !== null && plan?.packet !== undefined,
            promoted: promoted.length > 0,
            continues: dry.plan.continues !== null,
            'all whole': same.runs.length === 1 && same.runs[0]?.fidelity === 'full',
            'left out': same.leftOut > 0,
          });
        }),
        { numRuns: RUNS },
      );
      tally.report('a dry plan is the plan');
    },
    LIMIT_MS,
  );

  it('PLN-01 while a turn runs is made of the turns closed before it, and leaves what that turn reads as it was', async () => {
    const { process, ref } = await opened({
      before: 9,
      window: 200_000,
      options: {},
      workContract: undefined,
    });
    const { leg } = process;
    const running = await process.accept(ref, 'Good evening.');
    const waiting = await process.accept(ref, 'Good night.');
    const cancel = { id: 'cancel', event: { type: 'turn.cancel' } };
    await process.engine.deliver({ ...ref, actor: waiting }, cancel);
    const dry = await dryPlan(depsOf(process), ref, { text: 'Good morning.', leg });
    expect([dry.number, dry.plan.runs]).toEqual([10, [{ from: 1, to: 9, fidelity: 'full' }]]);
    const { plan } = await firstStep(process, ref, running);
    expect(plan?.runs).toEqual([{ from: 1, to: 9, fidelity: 'full' }]);
  });
});

describe('compaction on request', () => {
  it(
    'PLN-02 PLN-06 begins exactly what a plan without a directive wants, and nothing else',
    async () => {
      const tally = new Tally();
      await fc.assert(
        fc.asyncProperty(choice, async (chosen) => {
          const { process, ref } = await opened(chosen);
          const deps = depsOf(process);
          const { leg } = process;
          const { plan } = await dryPlan(deps, ref, { text: null, leg });
          const begun = await compactSession(deps, ref, leg);
          expect(begun).toEqual({ wants: plan.wants, actor: plan.wants === null ? null : SUMMARY_ACTOR });
          const state = await process.engine.store.sessionState(ref);
          const calls = state?.calls.filter(({ actor }) => actor === SUMMARY_ACTOR) ?? [];
          expect(calls.map(({ src }) => src)).toEqual(plan.wants === null ? [] : ['summary']);
          const input = JSON.parse(calls[0]?.input ?? '{}') as { from?: number; bytes?: number };
          expect([input.from, input.bytes]).toEqual([
            plan.wants?.from,
            plan.wants === null ? undefined : plan.packet?.bytes,
          ]);
          const again = await compactSession(deps, ref, leg);
          expect(again).toEqual({ wants: plan.wants, actor: null });
          tally.count({ begun: plan.wants !== null, nothing: plan.wants === null });
        }),
        { numRuns: RUNS },
      );
      tally.report('compaction begins what the plan wants');
    },
    LIMIT_MS,
  );
});
