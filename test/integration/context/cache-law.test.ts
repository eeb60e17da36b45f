import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../../src/context/request.ts';
import { createProvider } from '../../../src/providers/index.ts';
import { RequestBuilder } from '../../../src/runtime/request.ts';
import { type SimModel, type Simulator, startSimulator } from '../../../src/sim/index.ts';
import { openConversation } from '../../support/conversation.ts';
import { memoryParts, openProcess } from '../../support/one-process.ts';
import { openTestStack, type TestStack } from '../../support/stack.ts';
import { sayingTool } from '../../support/tools.ts';
import { expectCached, firstDifference, type Sent, sentRequests } from './sent-requests.ts';

const TURNS = 40;
const LIMIT_MS = 180_000;
/** Room for a few turns whole and some as cards; the rest needs a packet. */
const MODEL: SimModel = {
  name: 'narrow',
  window: 4_200,
  horizon: 4_200,
  tokensPerByte: 0.27,
  maxOutputTokens: 512,
  prefillTokensPerSecond: 5_000,
  decodeTokensPerSecond: 200,
  quantisation: 'Q4',
  supportsImages: false,
};
/** An explicit cache stores nothing shorter than 1,024 tokens. */
const SYSTEM = 'Say where each fact was found. '.repeat(160);
const OFFERED = ['emit_metric_card', 'read', 'recall'];
const TENANT = '01890000-0000-7000-8000-0000000000cc';

const noteOf = (n: number): string =>
  [
    `# Boat ${n}`,
    `The displacement of boat ${n} is ${40 + n} t.`,
    ...Array.from(
      { length: 30 },
      (_, line) => `Entry ${line} of the yard: plank ${line} was caulked and oiled.`,
    ),
    `Boat ${n} is called the Wigeon ${n}.`,
  ].join('\n');

const directive = (turn: number): string =>
  turn % 4 === 0
    ? `Show the displacement of boat ${turn} from note-${turn}.md as a metric.`
    : `Read note-${turn}.md and tell me what boat ${turn} is called.`;

const files = Object.fromEntries(
  Array.from({ length: TURNS }, (_, n) => [`note-${n + 1}.md`, noteOf(n + 1)]),
);

describe('the cache law, over the OpenAI wire of the whole stack', () => {
  let stack: TestStack;
  let sent: readonly Sent[] = [];

  beforeAll(async () => {
    stack = await openTestStack({ backend: 'postgres', files, models: [MODEL] });
    await stack.worker();
    const session = await stack.session({ model: MODEL.name, tools: OFFERED, system: SYSTEM });
    for (let turn = 1; turn <= TURNS; turn++)
      expect(await stack.ask(session, directive(turn)), directive(turn)).toMatchObject({
        outcome: 'completed',
      });
    const { store, planning, turns } = stack.producer;
    const head = (await store.loadSession(session, null))?.session.liveHead ?? '';
    sent = await sentRequests({ store, requests: new RequestBuilder(planning, turns) }, session, head);
  }, LIMIT_MS);
  afterAll(() => stack.close());

  it('EVA-03 each step finds in the cache what the one before it sent, and each turn at least the prefix', () => {
    const report = expectCached(sent, MODEL);
    process.stderr.write(`OpenAI wire, ${TURNS} turns: ${JSON.stringify(report)}\n`);
    expect(report.growths).toBe(0);
    expect(report.acrossTurns).toBe(TURNS - 1);
    expect(report.withinTurn).toBeGreaterThanOrEqual(TURNS);
  });

  it('EVA-03 the requests held cards, whole turns and a packet', () => {
    const text = JSON.stringify(sent.map(({ request }) => request.messages));
    for (const piece of ['<turn_cards>', '<context_summary turns=', 'emit_metric_card'])
      expect(text).toContain(piece);
  });

  it('EVA-03 names the piece in which a request first departs from the one before it', () => {
    const directives = new Map(sent.map(({ turn, directive: text }) => [turn, text]));
    const last = sent.at(-1)?.request;
    if (last === undefined) throw new Error('nothing was sent');
    const changed = (change: Partial<ChatRequest>) =>
      firstDifference(last, { ...last, ...change }, directives);
    const [first, ...rest] = last.messages;
    if (first === undefined) throw new Error('the request has no message');
    const other = {
      role: 'user',
      content: [{ type: 'text', text: '<context_summary turns="1-2">\nx' }],
    } as const;
    expect(changed({ system: 'x' })).toBe('prefix (system)');
    expect(changed({ tools: [] })).toBe('prefix (tools)');
    expect(changed({ messages: [other, ...rest] })).toBe('packet');
    const cards = last.messages.findIndex((message) => JSON.stringify(message).includes('<turn_cards'));
    expect(
      changed({
        messages: last.messages.map((one, at) => (at === cards ? withText(one, '<turn_cards>\nT1: x') : one)),
      }),
    ).toBe('cards');
    const isWhole = (turn: number) => (message: ChatRequest['messages'][number]) =>
      message.content.some((block) => block.type === 'text' && block.text === directives.get(turn));
    const number = [...directives.keys()].findLast(
      (turn) => turn < TURNS && last.messages.some(isWhole(turn)),
    );
    if (number === undefined) throw new Error('no turn stands whole in the last request');
    const whole = last.messages.findIndex(isWhole(number));
    expect(changed({ messages: last.messages.filter((_, at) => at !== whole + 1) })).toBe(`full T${number}`);
    expect(changed({ messages: [...last.messages.slice(0, -1)] })).toBe('open turn, which is gone');
  });
});

const withText = (message: ChatRequest['messages'][number], text: string): ChatRequest['messages'][number] =>
  message.role === 'user' ? { role: 'user', content: [{ type: 'text', text }] } : message;

describe('the cache law, over the Anthropic wire', () => {
  let sim: Simulator;
  beforeAll(async () => {
    sim = await startSimulator({ seed: 11, models: [MODEL] });
  });
  afterAll(() => sim.close());

  it(
    'EVA-03 ASM-03 holds with explicit breakpoints; a deploy that changes a tool counts as one growth',
    async () => {
      const parts = memoryParts();
      const leg = {
        name: MODEL.name,
        provider: 'anthropic' as const,
        model: MODEL.name,
        baseUrl: sim.url,
        window: MODEL.window,
        maxOutputTokens: 512,
        timeoutMs: 60_000,
      };
      const provider = createProvider(leg, () => undefined);
      const open = (described: string) =>
        openProcess({
          ...parts,
          leg,
          provider,
          tools: [sayingTool('survey', described, 'The hull is sound.')],
        });
      const first = open('Looks at the hull.');
      const config = { leg: leg.name, tools: ['survey', 'recall', 'emit_metric_card'], system: SYSTEM };
      const { ref, head } = await openConversation(first.engine, TENANT, config);
      const ask = (turn: number) =>
        `Call the survey tool for boat ${turn} and say whether hull ${turn} is sound.`;
      for (let turn = 1; turn <= 10; turn++) await first.ask(ref, ask(turn));
      const second = open('Looks at the hull and at the keel.');
      for (let turn = 11; turn <= 20; turn++) await second.ask(ref, ask(turn));
      expect([...first.errors, ...second.errors]).toEqual([]);
      const sent = await sentRequests({ store: parts.store, requests: second.requests }, ref, head);
      const report = expectCached(sent, MODEL);
      process.stderr.write(`Anthropic wire, 20 turns: ${JSON.stringify(report)}\n`);
      expect(report.growths).toBe(1);
      expect(report.acrossTurns).toBe(18);
      expect(report.withinTurn).toBeGreaterThanOrEqual(20);
    },
    LIMIT_MS,
  );
});
