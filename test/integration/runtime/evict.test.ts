/** The policy `evict` through the handlers that production runs, over a store in memory, with a model that a test scripts. */
import { describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../../src/context/request.ts';
import type { AssistantBlock } from '../../../src/ledger/blocks.ts';
import { canonicalJson, type Json } from '../../../src/ledger/json.ts';
import type { RecordKind } from '../../../src/ledger/kinds.ts';
import { rebuildSent } from '../../../src/runtime/sent-request.ts';
import type { SessionConfig } from '../../../src/runtime/sessions.ts';
import { openConversation, SIMPLE_CONFIG } from '../../support/conversation.ts';
import { memoryParts, openProcess, type ProcessOptions, type Scripted } from '../../support/one-process.ts';
import { sayingTool } from '../../support/tools.ts';

const WINDOW = 8_000;
const CONFIG: SessionConfig = {
  ...SIMPLE_CONFIG,
  leg: 'scripted',
  policy: { name: 'evict', options: { contextWindow: WINDOW } },
  tools: ['report'],
};
/** About 700 tokens. */
const REPORT = `The lamp of station nine burns oil.\n${'It was looked at and found as it was.\n'.repeat(70)}`;

const say = (text: string): readonly AssistantBlock[] => [{ type: 'text', text }];
const call = (name: string, args: Json = {}): readonly AssistantBlock[] => [
  { type: 'tool_call', id: 'c', name, args },
];
const textOf = ({ messages }: ChatRequest): string =>
  messages.map((message) => canonicalJson(message)).join('\n');

async function open(reply: NonNullable<ProcessOptions['reply']>, config: SessionConfig = CONFIG) {
  const parts = memoryParts();
  const process = openProcess({ ...parts, reply, tools: [sayingTool('report', 'Reports.', REPORT)] });
  const { ref, head } = await openConversation(process.engine, 'tenant', config);
  const bodies = async (kind: RecordKind) => {
    const found: { readonly seq: number; readonly body: Record<string, Json> }[] = [];
    for await (const record of parts.store.records(ref))
      if (record.kind === kind) found.push({ seq: record.seq, body: JSON.parse(record.body ?? '{}') });
    return found;
  };
  return { parts, process, ref, head, bodies };
}

/** Of every so many requests and one, all but the last call the report; each answer is another. */
function working(calls: number): (request: ChatRequest) => Scripted {
  let asked = 0;
  return () => {
    asked += 1;
    return asked % (calls + 1) !== 0 ? call('report') : say(`That is what reading ${asked} says.`);
  };
}

describe('a session that evicts', () => {
  it('EVT-01 EVT-02 keeps every item as it was sent until the window is nearly full, then the older half leaves as one span', async () => {
    const { process, ref, bodies } = await open(working(2));
    for (let turn = 1; turn <= 8; turn++) {
      const view = await process.ask(ref, `What does report ${turn} say?`);
      expect(view.closed?.outcome).toBe('completed');
    }
    const evicted = await bodies('evicted');
    expect(evicted.length).toBeGreaterThan(0);
    for (const { body } of evicted) expect(body).toMatchObject({ author: 'harness', note: null });
    let rewrites = 0;
    for (const [at, request] of process.sent.entries()) {
      const before = process.sent[at - 1];
      if (before === undefined) continue;
      const sent = request.messages.map((message) => canonicalJson(message));
      const kept = before.messages.every((message, place) => canonicalJson(message) === sent[place]);
      if (!kept) rewrites += 1;
    }
    expect(rewrites).toBe(evicted.length);
    const last = textOf(process.sent.at(-1) as ChatRequest);
    expect(last).toContain('[evicted #1–');
    expect(last).toContain('[item #');
    expect(process.errors).toEqual([]);
  });

  it('EVT-01 no measure stands after an edit: one eviction does not bring the next', async () => {
    const { process, ref, bodies } = await open(working(2));
    for (let turn = 1; turn <= 8; turn++) await process.ask(ref, `What does report ${turn} say?`);
    const evicted = await bodies('evicted');
    const receipts = await bodies('work-receipt');
    for (const [at, { seq }] of evicted.entries()) {
      const next = evicted[at + 1];
      if (next === undefined) continue;
      const between = receipts.filter((receipt) => receipt.seq > seq && receipt.seq < next.seq);
      expect(between.length).toBeGreaterThan(0);
    }
  });

  it('LIN-03 every request is made again from the records, byte for byte, in another process', async () => {
    const { parts, process, ref, head } = await open(working(2));
    const turns: string[] = [];
    for (let turn = 1; turn <= 6; turn++) turns.push((await process.ask(ref, `Report ${turn}?`)).turnId);
    const other = openProcess({
      ...parts,
      reply: working(2),
      tools: [sayingTool('report', 'Reports.', REPORT)],
    });
    const deps = { store: parts.store, requests: other.requests, configs: other.engine.configs };
    for (const turn of turns)
      for (const step of [1, 2, 3]) {
        const sent = await rebuildSent(deps, ref, { turn, head }, step);
        expect([turn, step, sent?.same]).toEqual([turn, step, true]);
      }
  });

  it('EVT-05 EVT-03 the model takes a span out at once, leaves a note, and reads how the context stands', async () => {
    const answers = [
      call('report'),
      say('That is what it says.'),
      call('context', { op: 'evict', from: 1, to: 3, note: 'station nine burns oil' }),
      say('It still burns oil.'),
    ];
    const { process, ref, bodies } = await open((_, at) => answers[at - 1] ?? say('?'));
    await process.ask(ref, 'What does the report say?');
    const view = await process.ask(ref, 'And now?');
    const [result] = view.steps[0]?.results.values() ?? [];
    expect(result).toMatchObject({ name: 'context', status: 'ok', evidence: null });
    expect(result?.content).toContain('#1–#3 evicted, "station nine burns oil"');
    expect((await bodies('evicted')).map(({ body }) => body)).toEqual([
      { from: 1, to: 3, note: 'station nine burns oil', author: 'model' },
    ]);
    const last = textOf(process.sent.at(-1) as ChatRequest);
    expect(last).toContain('station nine burns oil');
    expect(last).not.toContain('What does the report say?');
  });

  it('EVT-05 refuses a span that names open work, and one it does not have, and says what there is', async () => {
    const answers = [
      call('context', { op: 'evict', from: 1, to: 2 }),
      call('context', { op: 'evict', from: 40, to: 50 }),
      call('context', { op: 'evict', through: 4 }),
      say('So be it.'),
    ];
    const { process, ref, bodies } = await open((_, at) => answers[at - 1] ?? say('?'));
    const view = await process.ask(ref, 'Good morning.');
    const contents = view.steps.flatMap(({ results }) => [...results.values()].map(({ content }) => content));
    expect(contents[0]).toContain('#2');
    expect(contents[1]).toContain('#40');
    expect(contents[2]).toContain('through');
    expect(await bodies('evicted')).toEqual([]);
  });

  it('EVT-04 is told once that an eviction is near, behind the results, and the reminder names the call', async () => {
    const { process, ref, bodies } = await open(working(2));
    for (let turn = 1; turn <= 8; turn++) await process.ask(ref, `What does report ${turn} say?`);
    const told = await bodies('pressure-told');
    const evicted = await bodies('evicted');
    expect(told.length).toBeGreaterThan(0);
    // Once for each time the history came into the range.
    expect(told.length).toBeLessThanOrEqual(evicted.length + 1);
    expect(told[0]?.seq).toBeLessThan(evicted[0]?.seq ?? 0);
    const shown = process.sent.find((request) => textOf(request).includes('[pressure]'));
    expect(textOf(shown as ChatRequest)).toContain('"op\\":\\"evict\\"');
  });
});
