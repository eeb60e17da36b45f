/** Requests that a model really received, against those the records make again in a process that knows nothing. */
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { ChatRequest } from '../../../src/context/request.ts';
import type { SessionRef } from '../../../src/db/contract.ts';
import type { AssistantBlock } from '../../../src/ledger/blocks.ts';
import { canonicalJson } from '../../../src/ledger/json.ts';
import type { BodyOf } from '../../../src/ledger/kinds.ts';
import { acceptTurn } from '../../../src/runtime/accept.ts';
import { rebuildSent } from '../../../src/runtime/sent-request.ts';
import type { SessionConfig } from '../../../src/runtime/sessions.ts';
import { defineTool } from '../../../src/tools/define.ts';
import { openConversation } from '../../support/conversation.ts';
import { memoryParts, type OneProcess, openProcess, type Scripted } from '../../support/one-process.ts';
import { Tally } from '../ledger/sample.ts';

const RUNS = 120;
const LIMIT_MS = 120_000;
const TENANT = '01890000-0000-7000-8000-00000000000f';

/** Says as many words as it is asked for. */
const echo = defineTool({
  name: 'echo',
  description: 'Says words.',
  input: z.strictObject({ words: z.int() }),
  effect: 'read',
  run: async (asked) => ({ content: 'tide '.repeat(asked.words), isError: false }),
});

const gauge = defineTool({
  name: 'gauge',
  description: 'Reads a gauge.',
  input: z.strictObject({}),
  deferred: true,
  run: async () => '',
});

const said = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('calls' as const),
      words: fc.array(fc.constantFrom(1, 40, 300, 1_200, 8_000), { minLength: 1, maxLength: 3 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('empty' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('over-length' as const) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('card' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('find' as const), query: fc.constantFrom('chart', 'gauge') }),
  },
);
type Said = typeof said extends fc.Arbitrary<infer T> ? T : never;

const life = fc.record({
  /** Closed turns before the first that runs. */
  before: fc.constantFrom(0, 3, 30, 45, 60, 160),
  /** The session may call every tool there is, and has few of them loaded. */
  open: fc.constantFrom(false, false, true),
  window: fc.constantFrom(2_400, 2_800, 3_600, 9_000, 200_000),
  workContract: fc.option(fc.constantFrom('Keep the book.', 'Serve </turn_context> well.'), {
    nil: undefined,
  }),
  signals: fc.constantFrom('all' as const, 'minimal' as const),
  summariser: fc.constantFrom('good', 'good', 'empty'),
  turns: fc.array(
    fc.record({
      asks: fc.constantFrom(
        'What of the Petrel 6?',
        'And that again?',
        'Open papers/k2.md.',
        'Good evening.',
      ),
      steered: fc.boolean(),
      steps: fc.array(said, { maxLength: 3 }),
    }),
    { minLength: 1, maxLength: 3 },
  ),
});
type Life = typeof life extends fc.Arbitrary<infer T> ? T : never;

const METRIC = { title: 'Berths taken', value: '41', unit: 'berths' };

function scripted(one: Said): Scripted {
  switch (one.kind) {
    case 'calls':
      return one.words.map(
        (words, at): AssistantBlock => ({ type: 'tool_call', id: `c${at}`, name: 'echo', args: { words } }),
      );
    case 'empty':
      return [{ type: 'thinking', text: 'Hm.' }];
    case 'over-length':
      return { kind: 'over_length', message: 'too long' };
    case 'card':
      return [{ type: 'tool_call', id: 'c0', name: 'emit_metric_card', args: METRIC }];
    case 'find':
      return [{ type: 'tool_call', id: 'c0', name: 'find_tools', args: { query: one.query, limit: 1 } }];
  }
}

interface Lived {
  readonly ref: SessionRef;
  readonly turns: readonly string[];
  readonly sent: readonly ChatRequest[];
  readonly parts: ReturnType<typeof memoryParts>;
}

/** What every tool's name weighs beside the few that a small session names. */
const OPEN_WINDOW = 9_000;

async function live({
  before,
  open,
  window,
  workContract,
  signals,
  summariser,
  turns,
}: Life): Promise<Lived> {
  const parts = memoryParts();
  const script: Scripted[] = [];
  const process = openProcess({
    ...parts,
    tools: [echo, gauge],
    leg: { window: open ? Math.max(window, OPEN_WINDOW) : window, maxOutputTokens: 300 },
    reply: (request) => {
      if (request.tools.length > 0)
        return script.shift() ?? [{ type: 'text', text: `Done, all ${script.length}.` }];
      return summariser === 'good' ? [{ type: 'text', text: 'Ships lay at their berths.' }] : [];
    },
  });
  const config: Partial<SessionConfig> = {
    policy: { name: 'plan', options: { signals } },
    tools: open ? null : ['echo', 'emit_metric_card', 'recall'],
    ...(workContract === undefined ? {} : { workContract }),
  };
  const { ref, write } = await openConversation(process.engine, TENANT, config);
  await write(
    Array.from({ length: before }, (_, at) => ({
      asked: `Who lies at berth ${at + 1}?`,
      steps: [
        {
          prose: '',
          calls: [
            {
              tool: 'echo',
              args: { words: at },
              result: `The Petrel ${at + 1} lies there.`,
              files: [{ kind: 'read' as const, path: `papers/k${at + 1}.md` }],
            },
          ],
        },
      ],
      answer: `The Petrel ${at + 1} lies at berth ${at + 1}, with coal for ${at + 4} days.`,
    })),
  );
  const asked: string[] = [];
  for (const { asks, steered, steps } of turns) {
    script.splice(0, script.length, ...steps.map(scripted));
    const turn = await process.accept(ref, asks);
    if (steered) await steer(process, ref);
    await process.run();
    asked.push(turn);
  }
  return { ref, turns: asked, sent: process.sent, parts };
}

async function steer({ engine }: OneProcess, ref: SessionRef): Promise<void> {
  await acceptTurn(engine, ref, {
    turn: randomUUID(),
    input: [{ type: 'text', text: 'Mind the tide.' }],
    mode: 'steer',
    priority: 0,
    idempotencyKey: null,
    limits: { stepBudget: 40, deadlineMs: 60_000, escalate: false },
  });
}

/** What a process that has read nothing makes of every step that got an answer. */
async function rebuilt({ ref, turns, parts }: Lived) {
  const { engine, requests } = openProcess({ ...parts, tools: [echo, gauge] });
  const deps = { store: engine.store, requests, configs: engine.configs };
  const head = (await engine.store.loadSession(ref, null))?.session.liveHead ?? '';
  const made = [];
  for (const turn of turns) {
    const records = await engine.store.turnRecords(ref, turn);
    const receipts = records
      .filter(({ kind }) => kind === 'work-receipt')
      .map(({ body }) => JSON.parse(body) as BodyOf<'work-receipt'>);
    const plans = records
      .filter(({ kind }) => kind === 'context-plan')
      .map(({ body }) => JSON.parse(body) as BodyOf<'context-plan'>);
    for (const receipt of receipts.filter(
      ({ purpose, settlement }) => purpose === 'step' && settlement === 'answered',
    ))
      made.push({
        receipt,
        plans,
        records,
        sent: await rebuildSent(deps, ref, { turn, head }, receipt.step),
      });
  }
  return made;
}

function grew(made: Awaited<ReturnType<typeof rebuilt>>): boolean {
  return made.some(({ receipt, plans }) => plans.every((plan) => plan.prefixDigest !== receipt.prefixDigest));
}

describe('a request made again from the records', () => {
  it(
    'ASM-01 ASM-02 ASM-03 is byte for byte the one the model received, whatever the turn went through',
    async () => {
      const tally = new Tally();
      await fc.assert(
        fc.asyncProperty(life, async (choice) => {
          const lived = await live(choice);
          const received = new Set(lived.sent.map((request) => canonicalJson(request)));
          const made = await rebuilt(lived);
          for (const { sent, receipt } of made) {
            expect(sent?.same).toBe(true);
            expect(sent?.rebuilt?.digest).toBe(receipt.requestDigest);
            expect(received).toContain(canonicalJson(sent?.rebuilt?.request));
          }
          const kinds = new Set(made.flatMap(({ records }) => records.map(({ kind }) => kind)));
          const plans = made.flatMap((one) => one.plans);
          tally.count({
            'several steps': made.some(({ receipt }) => receipt.step > 1),
            nudge: kinds.has('nudge'),
            steered: kinds.has('turn-steered'),
            windowed: kinds.has('evidence-body'),
            card: kinds.has('presentation'),
            'grew in a turn': grew(made),
            reset: kinds.has('reset'),
            'planned again': kinds.has('capacity-feedback') && plans.length > 1,
            'stored packet': plans.some(({ packet }) => packet?.quality === 'model'),
            'packet from cards': plans.some(({ packet }) => packet?.quality === 'deterministic'),
            cards: plans.some(({ runs }) => runs.some(({ fidelity }) => fidelity === 'card')),
            promoted: plans.some(({ promoted }) => promoted.length > 0),
          });
        }),
        { numRuns: RUNS },
      );
      tally.report('a sent request is made again');
    },
    LIMIT_MS,
  );

  it('ASM-03 is none of a step that never was; one that was refused is made again too', async () => {
    const lived = await live({
      before: 0,
      open: false,
      window: 200_000,
      workContract: undefined,
      signals: 'all',
      summariser: 'good',
      turns: [{ asks: 'Good evening.', steered: false, steps: [{ kind: 'over-length' }] }],
    });
    const { engine, requests } = openProcess({ ...lived.parts, tools: [echo, gauge] });
    const deps = { store: engine.store, requests, configs: engine.configs };
    const head = (await engine.store.loadSession(lived.ref, null))?.session.liveHead ?? '';
    const [turn = ''] = lived.turns;
    const refused = await rebuildSent(deps, lived.ref, { turn, head }, 1);
    expect(refused).toMatchObject({ same: true, receipt: { settlement: 'over_length' } });
    const answered = await rebuildSent(deps, lived.ref, { turn, head }, 2);
    expect(answered).toMatchObject({ same: true, receipt: { settlement: 'answered' } });
    expect(await rebuildSent(deps, lived.ref, { turn, head }, 3)).toBeNull();
  });
});
