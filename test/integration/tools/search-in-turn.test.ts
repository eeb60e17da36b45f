/** Deferred tools that a provider searches by itself, over whole turns: what is sent, cached, replayed, and gone again. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import type { SessionRef } from '../../../src/db/contract.ts';
import { MACHINES } from '../../../src/machines/registry.ts';
import type { Leg } from '../../../src/providers/contract.ts';
import { verifySession } from '../../../src/runtime/verify-session.ts';
import type { SimModel, Simulator } from '../../../src/sim/index.ts';
import { defineTool } from '../../../src/tools/define.ts';
import { LegWorld } from '../runtime/leg-process.ts';
import { requestsOf } from './tool-world.ts';

const SEARCHING = 'claude-opus-5';
const MODEL: SimModel = {
  name: SEARCHING,
  window: 65_536,
  horizon: 60_000,
  tokensPerByte: 0.25,
  maxOutputTokens: 1_024,
  prefillTokensPerSecond: 4_000,
  decodeTokensPerSecond: 100,
  quantisation: 'none',
  supportsImages: false,
};
/** Long enough for the least prefix that is cached. */
const SYSTEM = 'Answer from what the tools return, and name the berth. '.repeat(120);
const ASKS = 'Use the berth_depth tool for berth 4.';
const SAID = 'By the berth_depth tool the water at berth 4 is 11 m deep.';
const NATIVE =
  /srvtoolu|tool_reference|server_tool_use|"native"|defer_loading|tool_search|crane_count\W+description/u;

interface Sent {
  readonly path: string;
  readonly text: string;
  readonly tools: readonly { readonly name: string; readonly defer_loading?: boolean }[];
}

/** Stands before the simulator, and keeps what is sent to it. */
class Relay {
  readonly sent: Sent[] = [];
  readonly #server = createServer((request, response) => void this.#pass(request, response));
  readonly #to: Simulator;

  constructor(to: Simulator) {
    this.#to = to;
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const { method = 'GET', url: path = '' } = request;
    const text = Buffer.concat(parts).toString('utf8');
    const headers = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' };
    if (method === 'POST') this.sent.push({ path, text, tools: toolsIn(text) });
    const answer = await fetch(`${this.#to.url}${path}`, {
      method,
      headers,
      ...(method === 'POST' ? { body: text } : {}),
    });
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
    response.end(await answer.text());
  }
}

function toolsIn(body: string): Sent['tools'] {
  const { tools = [] } = JSON.parse(body) as { readonly tools?: Sent['tools'] };
  return tools;
}

describe('a leg whose provider searches tools', () => {
  let world: LegWorld;
  let relay: Relay;
  let sim: Simulator;
  let whileItRuns: () => void;

  beforeEach(async () => {
    whileItRuns = () => {};
    world = await LegWorld.open();
    sim = await world.sim([MODEL, { ...MODEL, name: 'second' }]);
    relay = new Relay(sim);
    const url = await relay.start();
    const base = { window: 65_536, maxOutputTokens: 512, timeoutMs: 60_000 };
    const legs: readonly Leg[] = [
      { ...base, name: 'first', provider: 'anthropic', model: SEARCHING, baseUrl: url },
      { ...base, name: 'second', provider: 'compatible', model: 'second', baseUrl: `${url}/v1` },
    ];
    const probe = { ...world.stack.producer.config.probe, local: 'off', hosted: 'off' } as const;
    await world.process(legs, { probe, tools: [depth(), cranes()] });
  });
  afterEach(async () => {
    await world.close();
    await relay.close();
  });

  const depth = () =>
    defineTool({
      name: 'berth_depth',
      description: 'Tells how deep the water is at a berth.',
      input: z.strictObject({ berth: z.string() }),
      effect: 'read',
      deferred: true,
      run: async () => {
        whileItRuns();
        return SAID;
      },
    });
  const cranes = () =>
    defineTool({
      name: 'crane_count',
      description: 'Counts the cranes of a yard.',
      input: z.strictObject({ yard: z.string() }),
      effect: 'read',
      deferred: true,
      run: async () => 'Three.',
    });
  const session = (ladder: readonly string[] = []): Promise<SessionRef> =>
    world.session('first', {
      tools: null,
      system: SYSTEM,
      ...(ladder.length === 0 ? {} : { ladder: [...ladder] }),
    });
  const receiptsOf = (ref: SessionRef, turn: string) => world.bodies(ref, 'work-receipt', turn);

  it('SUR-03 is sent them deferred, finds and calls one in a step, and the prefix holds within the turn', async () => {
    const ref = await session();
    const end = await world.ask(ref, ASKS);
    expect(end).toMatchObject({ outcome: 'completed', steps: 2 });
    expect(end.answer).toContain('11 m');

    const [first, second] = relay.sent;
    const deferred = (sent: Sent | undefined) =>
      sent?.tools.filter((tool) => tool.defer_loading).map(({ name }) => name);
    expect(deferred(first)).toEqual(expect.arrayContaining(['berth_depth', 'crane_count']));
    expect(JSON.stringify(second?.tools)).toBe(JSON.stringify(first?.tools));
    const [step] = await world.bodies(ref, 'assistant-message', end.turn);
    expect(step?.content.map(({ type }) => type)).toEqual(['native', 'native', 'tool_call']);

    const [before, after] = await receiptsOf(ref, end.turn);
    expect(after?.prefixDigest).toBe(before?.prefixDigest);
    const { inputTokens = 0, cacheReadTokens = 0, cacheWriteTokens = 0 } = before?.usage ?? {};
    expect(inputTokens + cacheReadTokens + cacheWriteTokens).toBeGreaterThan(1_024);
    expect(after?.usage?.cacheReadTokens).toBe(inputTokens + cacheReadTokens + cacheWriteTokens);
    expect(await world.bodies(ref, 'prefix-changed', end.turn)).toEqual([]);
    expect(await world.bodies(ref, 'surface-grown', end.turn)).toMatchObject([
      { by: 'called', tools: ['berth_depth'] },
    ]);
  });

  it('SUR-03 gets its search back byte for byte within the turn, and has the tool loaded from the next turn on', async () => {
    const ref = await session();
    const { turn } = await world.ask(ref, ASKS);
    const [step] = await world.bodies(ref, 'assistant-message', turn);
    const natives = step?.content.flatMap((block) => (block.type === 'native' ? [block.data] : [])) ?? [];
    expect(natives).toHaveLength(2);
    expect(relay.sent[1]?.text).toContain(natives.map((data) => JSON.stringify(data)).join(','));

    const next = await world.ask(ref, 'Good evening to you.');
    const last = relay.sent.at(-1);
    expect(last?.text).not.toMatch(/srvtoolu|tool_reference|server_tool_use/u);
    expect(last?.text).toContain(SAID);
    const of = (name: string) =>
      last?.tools.filter((tool) => tool.name === name).map((tool) => tool.defer_loading ?? false);
    expect([of('berth_depth'), of('crane_count')]).toEqual([[false], [true]]);
    expect(await world.bodies(ref, 'prefix-changed', next.turn)).toMatchObject([
      { part: 'tool berth_depth' },
    ]);
    const [plan] = await world.bodies(ref, 'context-plan', next.turn);
    expect(plan?.loaded).toContain('berth_depth');
    const again = await world.ask(ref, 'Use the berth_depth tool for berth 5.');
    const [direct] = await world.bodies(ref, 'assistant-message', again.turn);
    expect(direct?.content.map(({ type }) => type)).toEqual(['tool_call']);
    expect(await world.bodies(ref, 'prefix-changed', again.turn)).toEqual([]);
  });

  it('SUR-03 PRO-10 leaves no trace where a leg of another kind stands in: the same turns, rebuilt byte for byte', async () => {
    const ref = await session(['second']);
    whileItRuns = () =>
      sim.setFaults([{ match: { model: SEARCHING, count: 1 }, fault: { name: 'overloaded' } }]);
    const end = await world.ask(ref, ASKS);
    expect(end).toMatchObject({ outcome: 'completed', steps: 2 });
    expect(end.answer).toContain('11 m');
    const receipts = await receiptsOf(ref, end.turn);
    expect(receipts.map(({ leg, settlement }) => `${leg} ${settlement}`)).toEqual([
      'first answered',
      'first overloaded',
      'second answered',
    ]);
    expect(receipts[2]).toMatchObject({
      requestDigest: receipts[1]?.requestDigest,
      prefixDigest: receipts[0]?.prefixDigest,
    });
    const standIn = relay.sent.filter(({ path }) => path.startsWith('/v1/chat'));
    expect(standIn).toHaveLength(1);
    expect(standIn[0]?.text).toContain(SAID);
    expect(standIn[0]?.text).toContain('"berth_depth"');
    expect(standIn[0]?.text).not.toMatch(NATIVE);
    expect(standIn[0]?.tools.map((tool) => Object.keys(tool))).not.toContainEqual(
      expect.arrayContaining(['defer_loading']),
    );

    await world.ask(ref, 'Good evening to you.');
    expect(relay.sent.at(-1)?.path).toBe('/v1/messages');
    expect(
      relay.sent.at(-1)?.tools.find(({ name }) => name === 'berth_depth')?.defer_loading,
    ).toBeUndefined();
    const at = { store: world.stack.producer.store, registry: MACHINES };
    expect(await verifySession(at, ref)).toMatchObject({ chain: { ok: true }, broken: null });
  });

  it('SUR-03 rebuilds every request with what was deferred, and counts nothing for it', async () => {
    const ref = await session();
    const first = await world.ask(ref, ASKS);
    const second = await world.ask(ref, 'Good evening to you.');
    const names = async (turn: string) =>
      (await requestsOf(world, ref, turn)).map(({ tools, deferred = [] }) => ({
        loaded: tools.some(({ name }) => name === 'berth_depth'),
        deferred: deferred.map(({ name }) => name).filter((name) => /^(?:berth|crane)_/u.test(name)),
      }));
    const within = { loaded: false, deferred: ['berth_depth', 'crane_count'] };
    expect(await names(first.turn)).toEqual([within, within]);
    expect(await names(second.turn)).toEqual([{ loaded: true, deferred: ['crane_count'] }]);
    const [sent] = await requestsOf(world, ref, first.turn);
    const [receipt] = await receiptsOf(ref, first.turn);
    expect(JSON.stringify(sent?.deferred).length).toBeGreaterThan(500);
    const { deferred: _, ...counted } = sent ?? {};
    expect(receipt?.requestBytes).toBeLessThan(JSON.stringify(counted).length * 1.02);
  });
});
