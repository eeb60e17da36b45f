/** What a turn's calls do to the requests that follow, in one process with a scripted model. */
import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../../src/context/request.ts';
import type { SessionRef } from '../../../src/db/contract.ts';
import type { JsonObject } from '../../../src/ledger/json.ts';
import { type BodyOf, parseBody, type RecordKind } from '../../../src/ledger/kinds.ts';
import { rebuildSent } from '../../../src/runtime/sent-request.ts';
import { contextOf } from '../../../src/runtime/session-context.ts';
import { SessionConfigs } from '../../../src/runtime/sessions.ts';
import type { Tool } from '../../../src/tools/contract.ts';
import { openConversation, SIMPLE_CONFIG } from '../../support/conversation.ts';
import { memoryParts, type OneProcess, openProcess, type Scripted } from '../../support/one-process.ts';
import { harbourTool } from './surface-sample.ts';

const TENANT = randomUUID();
const GREETING = 'Good morning to you.';
const TOOLS: readonly Tool[] = [
  harbourTool('dredge', { deferred: true }),
  harbourTool('anchor', { deferred: true }),
];

function call(name: string, args: JsonObject): Scripted {
  return [{ type: 'tool_call', id: 'x', name, args }];
}

function text(said: string): Scripted {
  return [{ type: 'text', text: said }];
}

/** A process whose model says these replies in order, then that it is done. */
function scripted(replies: Scripted[], parts = memoryParts(), tools = TOOLS): OneProcess {
  return openProcess({ ...parts, tools, reply: () => replies.shift() ?? text('Done.') });
}

function namesOf(request: ChatRequest | undefined): readonly string[] {
  return request?.tools.map(({ name }) => name) ?? [];
}

async function bodiesOf<K extends RecordKind>(
  { engine }: OneProcess,
  ref: SessionRef,
  turn: string,
  kind: K,
): Promise<readonly BodyOf<K>[]> {
  const records = await engine.store.turnRecords(ref, turn);
  return records
    .filter((record) => record.kind === kind)
    .map(({ body }) => parseBody(kind, JSON.parse(body)));
}

async function opened(replies: Scripted[], tools: readonly string[] | null = null) {
  const parts = memoryParts();
  const process = scripted(replies, parts);
  const config = { ...SIMPLE_CONFIG, tools: tools === null ? null : [...tools] };
  const { ref, head } = await openConversation(process.engine, TENANT, config);
  return { parts, process, ref, head };
}

/** Every answered step, made again in a process that has read nothing. */
async function rebuilt(parts: ReturnType<typeof memoryParts>, ref: SessionRef, head: string, turn: string) {
  const { engine, requests } = scripted([], parts);
  const deps = { store: engine.store, requests, configs: new SessionConfigs(engine.store) };
  const receipts = (await engine.store.turnRecords(ref, turn))
    .filter(({ kind }) => kind === 'work-receipt')
    .map(({ body }) => parseBody('work-receipt', JSON.parse(body)));
  return Promise.all(receipts.map(({ step }) => rebuildSent(deps, ref, { turn, head }, step)));
}

describe('a turn that finds a tool', () => {
  it('SUR-01 F20 sends its schema from the next step on and not before, priced, and keeps it in later turns', async () => {
    const { parts, process, ref, head } = await opened([
      call('find_tools', { query: 'dredge' }),
      call('dredge', { boat: 'Wigeon' }),
      text('It is dredged.'),
    ]);
    const view = await process.ask(ref, GREETING);
    expect(process.errors).toEqual([]);
    const [first, second, third] = process.sent;
    expect(namesOf(first)).not.toContain('dredge');
    expect(first?.system).toContain('\ndredge — Sees to the dredge of the harbour.');
    expect(namesOf(second)).toEqual([...namesOf(first), 'dredge']);
    expect(second?.system).toBe(first?.system);
    expect(third?.tools).toEqual(second?.tools);
    expect(view.steps[1]?.results.get(0)).toMatchObject({ status: 'ok' });

    const grown = await bodiesOf(process, ref, view.turnId, 'surface-grown');
    expect(grown).toEqual([{ step: 1, by: 'found', tools: ['dredge'] }]);
    const [change, ...others] = await bodiesOf(process, ref, view.turnId, 'prefix-changed');
    expect(others).toEqual([]);
    expect(change?.part).toBe('tool dredge');
    expect(change?.bytes).toBeGreaterThan(50);
    const receipts = await bodiesOf(process, ref, view.turnId, 'work-receipt');
    expect(receipts.map(({ prefixDigest }) => prefixDigest)).toEqual([change?.from, change?.to, change?.to]);

    const made = await rebuilt(parts, ref, head, view.turnId);
    expect(made.map((one) => one?.same)).toEqual([true, true, true]);
    expect(made.map((one) => namesOf(one?.rebuilt?.request).includes('dredge'))).toEqual([false, true, true]);

    const next = await process.ask(ref, GREETING);
    expect(namesOf(process.sent.at(-1))).toContain('dredge');
    expect(next.plan?.prefixDigest).toBe(change?.to);
    expect(next.plan?.loaded).toContain('dredge');
    for (const kind of ['prefix', 'prefix-changed'] as const)
      expect(await bodiesOf(process, ref, next.turnId, kind)).toEqual([]);
  });

  it('SUR-01 shows as the context of the session the prefix its last request had', async () => {
    const { process, ref, head } = await opened([call('find_tools', { query: 'dredge' }), text('Found.')]);
    const { turnId: turn } = await process.ask(ref, GREETING);
    const { engine, turns } = process;
    const deps = { store: engine.store, indexes: engine.indexes, turns };
    const [change] = await bodiesOf(process, ref, turn, 'prefix-changed');
    const context = await contextOf(deps, { ...ref, epoch: 0 }, { turn, head, number: 1 });
    expect(context?.prefix.digest).toBe(change?.to);
  });

  it('SUR-01 F46 is told that what it finds is loaded already, and its prefix stays', async () => {
    const { process, ref } = await opened([
      call('find_tools', { query: 'dredge', limit: 1 }),
      call('find_tools', { query: 'the dredge of the harbour', limit: 1 }),
      text('Found.'),
    ]);
    const view = await process.ask(ref, GREETING);
    expect(view.steps[1]?.results.get(0)?.content).toContain('all are loaded already');
    expect(await bodiesOf(process, ref, view.turnId, 'prefix-changed')).toHaveLength(1);
  });
});

describe('a turn that starts', () => {
  it('SUR-01 F20 has the tools its reading needs and the card it asks for, and keeps them for the turns behind it', async () => {
    const tools = [harbourTool('gauge', { serves: ['observability'] }), ...TOOLS];
    const process = scripted([], memoryParts(), tools);
    const { ref } = await openConversation(process.engine, TENANT, { ...SIMPLE_CONFIG, tools: null });
    const own = ['gauge', 'emit_chart_card', 'emit_table_card'];
    const sentFor = async (directive: string): Promise<readonly string[]> => {
      const view = await process.ask(ref, directive);
      const loaded = namesOf(process.sent.at(-1)).filter((name) => own.includes(name));
      expect((view.plan?.loaded ?? []).filter((name) => own.includes(name))).toEqual(loaded);
      return loaded;
    };
    expect(await sentFor(GREETING)).toEqual([]);
    expect(await sentFor('Show the tides of May as a chart.')).toEqual(['emit_chart_card']);
    expect(await sentFor('Verify that the lock gate closes.')).toEqual(['emit_chart_card', 'gauge']);
    expect(await sentFor(GREETING)).toEqual(['emit_chart_card', 'gauge']);
  });
});

describe('a turn that calls a tool by its name', () => {
  it('SUR-01 F46 has it run, loads it for the next step, and records that the reading missed it', async () => {
    const { process, ref } = await opened([call('anchor', { boat: 'Wigeon' }), text('It is anchored.')]);
    const view = await process.ask(ref, GREETING);
    expect(process.errors).toEqual([]);
    expect(namesOf(process.sent[0])).not.toContain('anchor');
    expect(view.steps[0]?.results.get(0)).toMatchObject({
      status: 'ok',
      content: 'The anchor of the Wigeon is seen to.',
    });
    expect(namesOf(process.sent[1])).toContain('anchor');
    expect(await bodiesOf(process, ref, view.turnId, 'surface-grown')).toEqual([
      { step: 1, by: 'called', tools: ['anchor'] },
    ]);
    expect(await bodiesOf(process, ref, view.turnId, 'misread')).toMatchObject([{ step: 1, tool: 'anchor' }]);
  });

  it('SUR-01 is refused one that its session does not admit, and nothing is loaded', async () => {
    const { process, ref } = await opened([call('anchor', { boat: 'Wigeon' })], ['dredge', 'find_tools']);
    const view = await process.ask(ref, GREETING);
    const result = view.steps[0]?.results.get(0);
    expect(result?.status).toBe('unknown_tool');
    expect(result?.content).toContain('The tools are: dredge, find_tools.');
    expect(view.growths).toEqual([]);
    expect(await bodiesOf(process, ref, view.turnId, 'misread')).toEqual([]);
  });
});

describe('a deployment that changes', () => {
  it('ASM-03 SUR-01 changes no prefix inside a turn: a tool found before is sent as it was, until the next turn', async () => {
    const { parts, process, ref } = await opened([
      call('find_tools', { query: 'dredge' }),
      call('dredge', { boat: 'Wigeon' }),
    ]);
    await process.accept(ref, GREETING);
    await process.run(({ ref: job }) => job.child === 'step-3');
    const anew = TOOLS.map(({ name }) => harbourTool(name, { deferred: true, description: 'Anew.' }));
    const next = scripted([text('Done.')], parts, anew);
    for (const job of process.waiting) await next.perform(job);
    expect(next.sent[0]?.tools).toEqual(process.sent[1]?.tools);
    expect(next.sent[0]?.system).toBe(process.sent[1]?.system);
    const after = await next.ask(ref, GREETING);
    const own = next.sent.at(-1)?.tools.find(({ name }) => name === 'dredge');
    expect(own?.description).toBe('Anew.');
    expect(await bodiesOf(next, ref, after.turnId, 'prefix-changed')).toHaveLength(1);
  });
});

describe('a session on a leg that searches tools itself', () => {
  it('SUR-03 is sent what is not loaded beside its tools; what it called is loaded from the next turn on', async () => {
    const replies = [call('anchor', { boat: 'Wigeon' }), text('It is anchored.')];
    const parts = memoryParts();
    const process = openProcess({ ...parts, tools: TOOLS, provider: searching(replies) });
    const { ref, head } = await openConversation(process.engine, TENANT, { ...SIMPLE_CONFIG, tools: null });
    const view = await process.ask(ref, GREETING);
    expect(process.errors).toEqual([]);
    const [first, second] = process.sent;
    const deferred = first?.deferred?.map(({ name }) => name) ?? [];
    expect(deferred).toEqual([...deferred].sort());
    expect(deferred).toContain('anchor');
    expect(deferred.some((name) => namesOf(first).includes(name))).toBe(false);
    expect([second?.tools, second?.deferred]).toEqual([first?.tools, first?.deferred]);
    expect(await bodiesOf(process, ref, view.turnId, 'prefix-changed')).toEqual([]);
    const made = await rebuilt(parts, ref, head, view.turnId);
    expect(made.map((one) => [one?.same, one?.rebuilt?.request.deferred])).toEqual([
      [true, first?.deferred],
      [true, first?.deferred],
    ]);
    await process.ask(ref, GREETING);
    const third = process.sent.at(-1);
    expect(namesOf(third)).toEqual([...namesOf(first), 'anchor']);
    expect(third?.deferred?.map(({ name }) => name)).toEqual(deferred.filter((name) => name !== 'anchor'));
  });

  function searching(replies: Scripted[]) {
    const usage = { inputTokens: 900, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 5 };
    const metadata = { declaredWindow: null, maxOutputTokens: null, quantisation: null };
    return {
      searchesTools: true,
      embed: null,
      describe: () => Promise.resolve({ ok: true, metadata } as const),
      call: () => {
        const content = (replies.shift() ?? text('Done.')) as Extract<Scripted, readonly unknown[]>;
        const finish = content.some(({ type }) => type === 'tool_call') ? 'tool_calls' : 'stop';
        const reply = { content, finish, usage, model: 'scripted', firstTokenMs: 1, totalMs: 1 } as const;
        return Promise.resolve({ ok: true, reply } as const);
      },
    };
  }
});

describe('a request that no answer came to', () => {
  it('SUR-01 ASM-03 of a prefix that had grown for it alone says so, and is no damage', async () => {
    const broken: Scripted = { kind: 'auth', message: 'no' };
    const { parts, process, ref, head } = await opened([call('find_tools', { query: 'dredge' }), broken]);
    const view = await process.ask(ref, GREETING);
    expect(view.closed?.outcome).toBe('failed');
    const made = await rebuilt(parts, ref, head, view.turnId);
    expect(made.map((one) => one?.same)).toEqual([true, null]);
    expect(made[1]?.notice).toMatch(/kept only with an answer/);
  });
});
