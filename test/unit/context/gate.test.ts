/** The evaluation gates on their fixture: thirty closed turns of prose, tools and cards, and an open one. */
import { beforeEach, describe, expect, it } from 'vitest';
import { renderFull } from '../../../src/context/assemble/full-record.ts';
import { rendered } from '../../../src/context/assemble/weigh.ts';
import { tokensOf } from '../../../src/context/capacity/tokens.ts';
import type { ChatRequest } from '../../../src/context/request.ts';
import type { Commit } from '../../../src/db/contract.ts';
import type { AssistantBlock, ToolCallBlock } from '../../../src/ledger/blocks.ts';
import { canonicalJson } from '../../../src/ledger/json.ts';
import { parseBody, type RecordKind } from '../../../src/ledger/kinds.ts';
import { SUMMARY_MACHINE, SUMMARY_VERSION } from '../../../src/machines/summary.ts';
import { beginActor } from '../../../src/runtime/actor.ts';
import { sessionPrefix } from '../../../src/runtime/session-prefix.ts';
import type { SessionConfig } from '../../../src/runtime/sessions.ts';
import { type Conversation, openConversation, SIMPLE_CONFIG } from '../../support/conversation.ts';
import {
  measure,
  memoryParts,
  type OneProcess,
  openProcess,
  type ProcessOptions,
  type Scripted,
} from '../../support/one-process.ts';
import {
  expectAppendOnly,
  expectEachTurnOnce,
  expectNothingCut,
  expectUnique,
  expectWeighed,
  type GateSession,
} from './gate-checks.ts';
import {
  allText,
  asked,
  fixture,
  lookupTool,
  measured,
  metric,
  occurrences,
  prefixOfTokens,
  prepareOpen,
  projectionOf,
  requestOf,
  resultsIn,
  TENANT,
  textsOf,
  turnSaid,
  viewsOf,
} from './gate-sample.ts';

const TURNS = 30;
const HORIZON = 13_000;
const PREFIX_TOKENS = 400;
const TAIL_TOKENS = 100;
const DIRECTIVE = 'What does the record say about the orchard wall?';
const OFFERED = ['emit_metric_card', 'lookup', 'recall'];

const text = (said: string): readonly AssistantBlock[] => [{ type: 'text', text: said }];
const call = (name: string, args: ToolCallBlock['args'], id = 'x'): ToolCallBlock => ({
  type: 'tool_call',
  id,
  name,
  args,
});
const lookup = (number: number, lines: number) => call('lookup', { number, lines });
const isSummary = ({ tools }: ChatRequest): boolean => tools.length === 0;

interface Opened extends GateSession {
  readonly parts: ReturnType<typeof memoryParts>;
  readonly config: SessionConfig;
}

interface Opening {
  readonly turns?: number;
  readonly horizon?: number;
  readonly reply?: ProcessOptions['reply'];
  readonly config?: Partial<SessionConfig>;
}

/** The fixture with its open turn accepted and not begun. */
async function open({ turns = TURNS, horizon = HORIZON, reply, config }: Opening = {}): Promise<Opened> {
  const parts = memoryParts();
  const process = openProcess({ ...parts, tools: [lookupTool], ...(reply === undefined ? {} : { reply }) });
  await measure(parts, process, measured(horizon));
  const settings = { ...SIMPLE_CONFIG, tools: OFFERED, ...config };
  const conversation = await openConversation(process.engine, TENANT, settings);
  const said = fixture(turns);
  await conversation.write(said);
  const closed = await viewsOf(process, conversation, turns);
  const turn = await process.accept(conversation.ref, DIRECTIVE);
  const directives = said.map((one) => one.asked);
  return { parts, config: settings, process, conversation, closed, directives, directive: DIRECTIVE, turn };
}

/** Tokens of a tail with a work contract of so many bytes. */
const WORK_CONTRACT = 'c'.repeat(4 * TAIL_TOKENS - 180);

function fixtureAt(horizon: number) {
  return {
    profile: measured(horizon),
    prefix: prefixOfTokens(PREFIX_TOKENS),
    workContract: WORK_CONTRACT,
    options: { steady: false, wholeShare: 1, safetyMarginRatio: 0 },
  };
}

async function kindsOf({ process, conversation, turn }: GateSession): Promise<readonly string[]> {
  return (await process.engine.store.turnRecords(conversation.ref, turn)).map(({ kind }) => kind);
}

async function bodiesOf<K extends RecordKind>({ process, conversation, turn }: GateSession, kind: K) {
  const records = await process.engine.store.turnRecords(conversation.ref, turn);
  return records
    .filter((record) => record.kind === kind)
    .map(({ body }) => parseBody(kind, JSON.parse(body)));
}

describe('the gates, on the fixture of thirty turns', () => {
  it('EVA-01 EVA-02 EVA-05 at every horizon the plan keeps its budget, has each turn once and cuts nothing', async () => {
    const session = await open();
    expectWeighed(session);
    const fidelities: string[] = [];
    for (const horizon of [1_500, 3_000, HORIZON, 2_000_000]) {
      const at = fixtureAt(horizon);
      const { ref } = session.conversation;
      const { assembled, plan } = await requestOf(session.process, ref, session.turn, at);
      expect(tokensOf(at.prefix.bytes, at.profile)).toBe(PREFIX_TOKENS);
      expect(plan.spentTokens).toBeLessThanOrEqual(plan.budgetTokens);
      expect(tokensOf(assembled.requestBytes, at.profile)).toBeLessThanOrEqual(horizon);
      expect(plan.leftOut).toBe(0);
      expectEachTurnOnce(session, assembled.request, 0);
      expectUnique(session, assembled.request);
      await expectNothingCut(session, assembled.request);
      fidelities.push([...new Set(plan.runs.map(({ fidelity }) => fidelity))].sort().join(' '));
    }
    expect(fidelities.map((one) => one.includes('packet'))).toEqual([true, true, false, false]);
    expect(fidelities.slice(2)).toEqual(['card full', 'full']);
  });

  it('EVA-01 at a horizon of 13,000 tokens nearly all of the budget is used, and no packet is made', async () => {
    const { process, conversation, turn } = await open();
    const prepared = await prepareOpen(process, conversation.ref, turn, fixtureAt(HORIZON));
    if (prepared.kind !== 'request') throw new Error(`not a request: ${prepared.kind}`);
    const { budgetTokens, spentTokens, packet } = prepared.plan;
    expect(packet).toBeNull();
    expect(budgetTokens).toBeGreaterThan(HORIZON - PREFIX_TOKENS - TAIL_TOKENS - 100);
    expect(budgetTokens).toBeLessThanOrEqual(HORIZON - PREFIX_TOKENS - TAIL_TOKENS);
    expect(spentTokens).toBeGreaterThan(0.9 * budgetTokens);
  });

  it('F13 what a closed turn is counted as is what it weighs, the arguments of its calls included', async () => {
    const session = await open({ turns: 3 });
    const [, tool] = session.closed;
    if (tool === undefined) throw new Error('there is no second turn');
    const without = {
      ...tool,
      steps: tool.steps.map((step) => ({
        ...step,
        content: step.content.map((block) => (block.type === 'tool_call' ? { ...block, args: {} } : block)),
      })),
    };
    expect(tool.closed?.card?.fullBytes).toBeGreaterThan(rendered(renderFull(without)).bytes);
    expectWeighed(session);
  });
});

describe('EVA-04 replay under two models', () => {
  const asks: string[] = [];
  const reply = (request: ChatRequest): Scripted => {
    if (!isSummary(request)) return text('Found.');
    asks.push('summary');
    return text('Matters of the harbour were looked up; nothing is open.');
  };
  beforeEach(() => {
    asks.length = 0;
  });

  it('EVA-04 F9 the packet of a small model does not bind a large one, and is used again by the small one, byte for byte', async () => {
    // The summariser has the window of the model: it needs more room than a history of 1,500 tokens.
    const session = await open({ horizon: 4_000, reply });
    const { process, conversation, turn, directives } = session;
    const small = fixtureAt(1_500);
    const wanted = await prepareOpen(process, conversation.ref, turn, small);
    if (wanted.kind !== 'packet-wanted') throw new Error(`no packet is wanted: ${wanted.kind}`);
    await writePacket(session, wanted);
    const first = await requestOf(process, conversation.ref, turn, { ...small, packetless: false });
    expect(first.plan.packet).toMatchObject({ quality: 'model', from: wanted.from, to: wanted.to });
    expect(allText(first.assembled.request.messages)).toContain('nothing is open.');

    const large = await requestOf(process, conversation.ref, turn, fixtureAt(2_000_000));
    const { shown } = projectionOf(large.assembled.request, directives, DIRECTIVE);
    expect([...shown.values()]).toEqual(directives.map(() => ['full']));
    expect(allText(large.assembled.request.messages)).not.toContain('context_summary');

    const again = await requestOf(process, conversation.ref, turn, { ...small, packetless: false });
    expect(canonicalJson(again.assembled.request)).toBe(canonicalJson(first.assembled.request));
    expect(again.assembled.requestDigest).toBe(first.assembled.requestDigest);
    const restarted = openProcess({ ...session.parts, tools: [lookupTool], reply });
    const later = await requestOf(restarted, conversation.ref, turn, { ...small, packetless: false });
    expect(canonicalJson(later.assembled.request)).toBe(canonicalJson(first.assembled.request));
    expect(asks).toEqual(['summary']);
  });

  /** The summariser's call as production makes it: a background packet of exactly this range. */
  async function writePacket(
    { process, conversation }: Opened,
    { from, to, bytes }: { readonly from: number; readonly to: number; readonly bytes: number },
  ): Promise<void> {
    const { ref, head } = conversation;
    const actor = '01890000-0000-7000-8000-00000000aaaa';
    await process.engine.append({ ...ref, actor: await anyActor(process, conversation) }, [], (builder) => {
      beginActor(
        builder,
        process.engine.hopContext(),
        {
          actor,
          turn: null,
          machine: SUMMARY_MACHINE,
          version: SUMMARY_VERSION,
          input: { from, to, bytes, head },
        },
        { actor, turn: null, head, priority: 0 },
      );
    });
    await process.run(({ pool }) => pool !== 'summary');
  }

  const anyActor = async ({ engine }: OneProcess, { ref }: Conversation): Promise<string> =>
    (await engine.store.loadSession(ref, null))?.openTurn ?? '';
});

describe('within a turn', () => {
  const steps: readonly Scripted[] = [
    [{ type: 'thinking', text: 'Hm.' }, ...text('Looking.'), lookup(901, 5)],
    [],
    [lookup(902, 1_200), call('emit_metric_card', metric(903), 'y')],
    text('Here it is.'),
  ];
  const inOrder = (request: ChatRequest, n: number): Scripted =>
    isSummary(request) ? text('-') : (steps[n - 1] ?? text('Then nothing.'));

  it('EVA-03 ASM-02 F18 each step sends what the one before it sent and new messages, with the same tools and tail', async () => {
    const session = await open({ reply: inOrder });
    await session.process.run();
    const { sent } = session.process;
    expect(sent.length).toBe(steps.length);
    expectAppendOnly(sent);
    const last = sent.at(-1);
    if (last === undefined) throw new Error('nothing was sent');
    await expectNothingCut(session, last);
    expect(resultsIn(projectionOf(last, session.directives, DIRECTIVE).open).length).toBe(3);
    const receipts = await bodiesOf(session, 'work-receipt');
    expect(new Set(receipts.map(({ prefixDigest }) => prefixDigest)).size).toBe(1);
    expect(receipts[0]?.prefixDigest).toBe(sessionPrefix(session.config, session.process.surface).digest);
  });

  it('ASM-01 F17 F19 the tail stands before the directive in its own message, and neither the time nor the directive elsewhere', async () => {
    const session = await open({ config: { workContract: 'Answer in one sentence.' } });
    await session.process.run();
    const [request] = session.process.sent;
    if (request === undefined) throw new Error('nothing was sent');
    const { open: own } = projectionOf(request, session.directives, DIRECTIVE);
    const [tail = '', said = ''] = textsOf(own[0] ?? { role: 'user', content: [] });
    expect(said).toBe(DIRECTIVE);
    expect(tail).toMatch(/^<turn_context>[\s\S]*<intent>[\s\S]*<work_contract>\nAnswer in one sentence\./u);
    expect(occurrences(canonicalJson(request), DIRECTIVE)).toBe(1);
    expect(occurrences(canonicalJson(request), 'UTC: 20')).toBe(1);
    expect(canonicalJson({ system: request.system, tools: request.tools })).not.toMatch(/\d{4}-\d\d-\d\d/u);
  });

  it('F21 a nudge opens no turn, and the draft it sent back is no answer of the turn', async () => {
    const session = await open({ reply: inOrder });
    await session.process.run();
    const view = await session.process.view(session.conversation.ref, session.turn);
    expect(view.number).toBe(TURNS + 1);
    expect(view.steps.map(({ nudge }) => nudge?.check ?? null)).toEqual([null, 'empty-step', null, null]);
    const next = await session.process.ask(session.conversation.ref, 'And then?');
    expect(next.number).toBe(TURNS + 2);
    expect(allText(session.process.sent.at(-1)?.messages ?? [])).not.toContain('[empty-step]');
  });

  it('PLN-03 F18 a plan holds for its turn: a packet that is stored meanwhile changes no later step', async () => {
    const reply = (request: ChatRequest, n: number): Scripted =>
      isSummary(request) ? text('A summary.') : (([[lookup(901, 2)], text('Found.')] as const)[n - 1] ?? []);
    const session = await open({ reply });
    const { process, conversation, turn } = session;
    await process.run(({ ref }) => ref.child === 'step-2');
    await process.engine.append({ ...conversation.ref, actor: turn }, [], (builder) => {
      const body = { from: 1, to: 8, text: 'Late.', quality: 'model' } as const;
      const seq = builder.append(conversation.head, { kind: 'packet', turnId: null, body });
      builder.lists.packets.push({
        head: conversation.head,
        from: 1,
        to: 8,
        seq,
        bytes: 60,
        quality: 'model',
      });
    });
    await process.run();
    expectAppendOnly(process.sent);
    expect(await bodiesOf(session, 'context-plan')).toHaveLength(1);
  });

  it('PLN-03 a prompt that is refused as too long is planned once more, smaller, and sent once more', async () => {
    const session = await open({
      reply: (request, n) =>
        isSummary(request) || n !== 1
          ? text('Found.')
          : { kind: 'over_length', message: 'too long', limitTokens: 9_000 },
    });
    const { process } = session;
    await process.run();
    const plans = await bodiesOf(session, 'context-plan');
    expect(plans.at(-1)?.rejections).toBe(1);
    const sent = process.sent.filter((request) => !isSummary(request));
    expect(sent.length).toBe(2);
    const [first = 0, second = 0] = sent.map(({ messages }) => rendered(messages).bytes);
    expect(second).toBeLessThan(first);
    const closed = (await bodiesOf(session, 'turn-closed'))[0];
    expect(closed?.outcome).toBe('completed');
    for (const request of sent) expectEachTurnOnce(session, request, 0);
  });

  it('PLN-04 a prompt that is refused twice gets a handoff, and a third refusal ends the turn without a usable horizon', async () => {
    const refusal = { kind: 'over_length', message: 'too long' } as const;
    const session = await open({ reply: (request) => (isSummary(request) ? text('So far.') : refusal) });
    await session.process.run();
    const sent = session.process.sent;
    expect(sent.map(isSummary)).toEqual([false, false, true, false]);
    expect((await bodiesOf(session, 'turn-closed'))[0]).toMatchObject({
      outcome: 'failed',
      reason: 'no_usable_horizon',
    });
  });

  it('PLN-04 F16 a result that outgrows the model leaves a handoff with the directive, and no result without its call', async () => {
    const session = await open({
      turns: 0,
      horizon: 3_000,
      config: { tools: ['lookup'] },
      reply: (request, n) => {
        if (isSummary(request)) return text('The log was read: all was well.');
        return n === 1 ? [lookup(901, 260)] : text('All was well.');
      },
    });
    await session.process.run();
    const { sent } = session.process;
    expect(sent.map(isSummary)).toEqual([false, true, false]);
    const [recorded] = await bodiesOf(session, 'tool-result');
    expect(recorded?.content.length).toBeGreaterThan(14_000);
    const last = sent.at(-1);
    expect(allText(last?.messages ?? [])).toContain('The log was read: all was well.');
    expect(textsOf(last?.messages.at(-1) ?? { role: 'user', content: [] })).toContain(DIRECTIVE);
    expect(resultsIn(last?.messages ?? [])).toEqual([]);
  });

  it('F14 a summariser that fails is asked once in the turn, which goes on and says that it is degraded', async () => {
    const session = await open({
      horizon: 4_500,
      config: { system: 's'.repeat(9_000) },
      reply: (request, n) => {
        if (isSummary(request)) return { kind: 'retryable', code: 'server_error', message: 'down' };
        return n < 5 ? [lookup(900 + n, 1)] : text('Found.');
      },
    });
    const { process } = session;
    await process.run();
    const receipts = await bodiesOf(session, 'work-receipt');
    expect(receipts.filter(({ purpose }) => purpose === 'summary').length).toBe(1);
    expect(receipts.filter(({ purpose }) => purpose === 'step').length).toBeGreaterThan(2);
    expect((await bodiesOf(session, 'turn-closed'))[0]).toMatchObject({
      outcome: 'degraded',
      reason: 'degraded_summary',
    });
    expect(await kindsOf(session)).toContain('compaction-failed');
    const before = process.sent.length;
    await process.ask(session.conversation.ref, 'And what of the gate?');
    expect(process.sent.slice(before).some(isSummary)).toBe(true);
  });

  it('F14 PLN-02 a summariser that is late is not waited for: the turn goes on with a packet made from cards, and says so', async () => {
    const session = await open({
      horizon: 4_500,
      config: { system: 's'.repeat(9_000) },
      reply: (request) => text(isSummary(request) ? 'Too late.' : 'Found.'),
    });
    const { process, conversation, turn } = session;
    const slow = ({ pool }: { readonly pool: string }) => pool === 'summary';
    await process.run(slow);
    expect(process.waiting.map(({ ref }) => ref.child)).toEqual(['summary-1']);
    const late = { id: 'summary-late', event: { type: 'turn.summary-late' } };
    await process.engine.deliver({ ...conversation.ref, actor: turn }, late);
    await process.run(slow);
    expect((await bodiesOf(session, 'turn-closed'))[0]).toMatchObject({
      outcome: 'degraded',
      reason: 'degraded_summary',
    });
    expect((await bodiesOf(session, 'context-plan'))[0]?.packet).toMatchObject({ quality: 'deterministic' });
    await process.run(({ ref }) => ref.actor !== turn);
    expect(await kindsOf(session)).not.toContain('packet');
  });

  it('F22 the commit that closes a turn asks no model', async () => {
    const session = await open({ reply: inOrder });
    const { store } = session.process.engine;
    const commits: Commit[] = [];
    const apply = store.apply.bind(store);
    store.apply = (commit) => {
      commits.push(commit);
      return apply(commit);
    };
    await session.process.run();
    const closing = commits.filter(({ records }) => records.some(({ kind }) => kind === 'turn-closed'));
    expect(closing.length).toBe(1);
    expect(closing[0]?.calls.filter(({ src }) => src !== 'metadata')).toEqual([]);
    const record = closing[0]?.records.find(({ kind }) => kind === 'turn-closed');
    expect(parseBody('turn-closed', JSON.parse(record?.body ?? '')).card?.number).toBe(TURNS + 1);
  });
});

describe('across turns', () => {
  it('ASM-03 EVA-03 consecutive turns share the prefix, and a changed tool is recorded at the start of a turn, never inside', async () => {
    const session = await open({
      reply: (_, n) => (n === 2 ? [lookup(901, 1)] : text('Found.')),
    });
    const { process, conversation, parts, config } = session;
    await process.run();
    await process.accept(conversation.ref, 'And the gate?');
    await process.run(({ ref }) => ref.child === 'step-2');
    const renamed = { ...lookupTool, description: 'Looks a matter of the harbour up.' };
    const next = openProcess({ ...parts, tools: [renamed], reply: () => text('Found.') });
    for (const job of process.waiting) await next.perform(job);
    const inTurn = next.sent.at(-1);
    expect(inTurn?.tools).toEqual(process.sent[0]?.tools);
    const changed = await next.ask(conversation.ref, 'And the wall?');
    expect(next.sent.at(-1)?.tools).not.toEqual(process.sent[0]?.tools);
    const records = await next.engine.store.turnRecords(conversation.ref, changed.turnId);
    const change = records.find(({ kind }) => kind === 'prefix-changed');
    expect(parseBody('prefix-changed', JSON.parse(change?.body ?? '')).part).toBe('tool lookup');
    expect(parseBody('prefix-changed', JSON.parse(change?.body ?? '')).from).toBe(
      sessionPrefix(config, process.surface).digest,
    );
  });

  it('F10 the end of the packet stays where it is for eight turns', async () => {
    const session = await open({
      horizon: 4_000,
      config: { system: 's'.repeat(9_000) },
      reply: (request) => text(isSummary(request) ? 'Matters were looked up.' : 'Found.'),
    });
    const { process, conversation } = session;
    await process.run();
    const ends: number[] = [];
    for (let turn = 0; turn < 12; turn++) {
      const view = await process.ask(conversation.ref, asked(100 + turn, 'granite'));
      const packet = view.plan?.packet;
      if (packet == null) throw new Error(`turn ${view.number} has no packet`);
      expect(view.plan?.spentTokens).toBeGreaterThan(packet.bytes * 0.25 - 1);
      ends.push(packet.to);
    }
    const moves = ends.filter((end, at) => at > 0 && end !== ends[at - 1]);
    expect(moves.length).toBeGreaterThan(0);
    expect(moves.length).toBeLessThanOrEqual(2);
    for (const end of ends) expect(end % 8).toBe(0);
  });

  it('F11 F12 words that ask and not what is asked about make no turn whole; pointing back does, over an interjection', async () => {
    const session = await open({
      turns: 0,
      config: { policy: { name: 'plan', options: { eligibility: 'signal' } } },
    });
    const { process, conversation } = session;
    await process.run();
    const said = [
      'Define the number of times you reply with one word.',
      'Draft the notice for the orchard wall.',
    ];
    for (const ask of said) await process.ask(conversation.ref, ask);
    const generic = await process.ask(conversation.ref, 'Reply with the number of times the ferry sails.');
    expect(generic.plan?.promoted).toEqual([]);
    expect(generic.plan?.runs.some(({ fidelity }) => fidelity === 'full')).toBe(false);
    const again = await process.ask(conversation.ref, 'Draft it again, please.');
    expect(again.plan?.promoted.map(({ number, by }) => [number, by])).toContainEqual([3, 'anaphora']);
  });

  it('F20 the tools that a session is offered by default cost less than 2,000 tokens', async () => {
    const { process } = await open({ turns: 0 });
    const prefix = sessionPrefix({ ...SIMPLE_CONFIG, tools: null }, process.surface);
    expect(tokensOf(prefix.bytes, measured(1))).toBeLessThan(2_000);
    expect(prefix.tools.some(({ name }) => name.startsWith('emit_'))).toBe(false);
  });

  it('F23 F24 a turn that failed or was cancelled has its card, and a long card stands whole in a later request', async () => {
    const session = await open({ turns: 0 });
    const { process, conversation } = session;
    await process.run();
    const long = { ...metric(4), note: 'n'.repeat(900) };
    await conversation.write([
      turnSaid(2, { kind: 'cancelled', about: 'granite', lines: 3, words: 3 }),
      turnSaid(3, { kind: 'failed', about: 'granite', lines: 3, words: 3 }),
      {
        asked: 'Show it.',
        steps: [{ prose: '', calls: [{ card: 'metric', payload: long }] }],
        answer: 'There.',
      },
    ]);
    const next = await process.ask(conversation.ref, 'Thanks, go on.');
    const cards = await process.turns.cards(conversation.ref, { head: conversation.head, epoch: 0 }, 2, 4);
    expect(cards.map(({ card }) => card.outcome)).toEqual(['cancelled', 'failed', 'completed']);
    expect(next.plan?.runs).toEqual([{ from: 1, to: 4, fidelity: 'full' }]);
    expect(allText(process.sent.at(-1)?.messages ?? [])).toContain(long.note);
  });

  it('F15 a dry plan of the open turn is the plan its step makes', async () => {
    const session = await open({ reply: () => text('Found.') });
    const { process, conversation, turn, config } = session;
    const prefix = sessionPrefix(config, process.surface);
    const dry = await requestOf(process, conversation.ref, turn, { profile: measured(HORIZON), prefix });
    await process.run();
    expect(canonicalJson(process.sent[0] ?? null)).toBe(canonicalJson(dry.assembled.request));
    const [plan] = await bodiesOf(session, 'context-plan');
    expect(plan?.runs).toEqual(dry.plan.runs);
  });

  it('F26 calls of two steps that a provider gave one id keep their own results', async () => {
    const session = await open({
      turns: 0,
      reply: (_, n) => (n === 1 ? [lookup(901, 1)] : n === 2 ? [lookup(902, 1)] : text('Found.')),
    });
    await session.process.run();
    const last = session.process.sent.at(-1);
    const results = resultsIn(last?.messages ?? []);
    expect(new Set(results.map(({ callId }) => callId)).size).toBe(2);
    expect(results[0]?.content).toContain('hidden901middle');
    expect(results[1]?.content).toContain('hidden902middle');
  });
});
