import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Json } from '../../../src/ledger/json.ts';
import { traitsFrom } from '../../../src/tools/define.ts';
import type { McpBroker, McpCall } from '../../../src/tools/mcp/broker.ts';
import { McpFailure } from '../../../src/tools/mcp/failure.ts';
import { MCP_DEFAULTS, type McpServerSettings } from '../../../src/tools/mcp/settings.ts';
import { mcpTool } from '../../../src/tools/mcp/tool.ts';
import { contextIn, textOf } from './folder.ts';

const endpoint = { kind: 'http', url: 'http://h/mcp', headers: {} } as const;
const settings: McpServerSettings = { ...MCP_DEFAULTS, endpoint, declared: {}, tools: {} };
const servers = {
  plain: settings,
  harbour: {
    ...settings,
    timeoutMs: 90_000,
    declared: { effect: 'idempotent', serves: ['documents'] },
    tools: { tide: { effect: 'read', serves: ['live-data'], observes: true }, log: { observes: false } },
  },
} as const;

const ONCE = { effect: 'once', observes: true, retrieves: false };

function tool(call: (asked: McpCall) => Promise<{ content: string; isError: boolean }> = async () => fail()) {
  const broker: McpBroker = {
    servers: ['harbour', 'plain'],
    list: async () => ({
      tools: [{ name: 'tide', description: '', inputSchema: {} }],
      digest: 'd',
      leftOut: 0,
    }),
    call,
    close: async () => {},
  };
  return mcpTool(broker, servers);
}

function fail(): never {
  throw new Error('not to be called');
}

describe('the tool mcp', () => {
  it('SUR-02 says what a call means by what is declared of the tool, else of the server, else once', () => {
    const traitsOf = (server: string, name: string) =>
      tool().traitsOf({ action: 'call', server, tool: name });
    expect(traitsOf('plain', 'any')).toEqual(ONCE);
    expect(traitsOf('harbour', 'any')).toEqual(traitsFrom({ effect: 'idempotent', serves: ['documents'] }));
    expect(traitsOf('harbour', 'tide')).toEqual({ effect: 'read', observes: true, retrieves: true });
    expect(traitsOf('harbour', 'log')).toEqual({ effect: 'idempotent', observes: false, retrieves: false });
    expect(tool().traitsOf({ action: 'list', server: 'harbour' })).toEqual({
      effect: 'read',
      observes: false,
      retrieves: false,
    });
    expect(tool().effect).toBe('once');
  });

  it('SUR-02 takes every other call for one that must not run twice, whatever the model sent', () => {
    const names = ['constructor', '__proto__', 'toString', 'hasOwnProperty'];
    for (const server of [...names, 'harbour']) {
      for (const name of names) {
        const { effect } = tool().traitsOf({ action: 'call', server, tool: name });
        expect([server, name, effect]).toEqual([server, name, server === 'harbour' ? 'idempotent' : 'once']);
      }
    }
    for (const args of [null, 'list', [], { server: { toString: 1 }, tool: { toString: 1 } }, {}]) {
      expect(tool().traitsOf(args as Json)).toEqual(ONCE);
    }
    fc.assert(fc.property(fc.jsonValue(), (args) => tool().traitsOf(args as Json).effect === 'once'));
  });

  it('SUR-02 is always loaded, serves what its servers are declared to serve, and waits longer than they may take', () => {
    expect(tool()).toMatchObject({
      name: 'mcp',
      alwaysLoaded: true,
      serves: ['live-data', 'documents'],
      timeoutMs: 100_000,
    });
    expect(tool().description).toContain('The servers: harbour, plain.');
  });

  it('SUR-02 answers an unknown server and a call without a tool with what there is', async () => {
    const ask = (args: Json) => textOf(tool(), args, contextIn('/'));
    expect(await ask({ action: 'list', server: 'Harbour' })).toBe(
      'error: There is no server "Harbour". Did you mean harbour? There are: harbour, plain.',
    );
    expect(await ask({ action: 'call', server: 'constructor', tool: 'x' })).toMatch(
      /^error: There is no server/,
    );
    expect(await ask({ action: 'call', server: 'plain', tool: '' })).toBe(
      'error: A call needs the name of its tool. plain offers: tide.',
    );
    expect(await ask({ action: 'dance', server: 'plain' })).toMatch(/allowed is one of "list", "call"/);
  });

  it('SUR-02 takes arguments also as JSON text, null for none, and keeps empty values in them', async () => {
    const asked: unknown[] = [];
    const made = tool(async ({ args }) => {
      asked.push(args);
      return { content: 'ok', isError: false };
    });
    for (const given of [{ a: '', b: null, c: 0 }, '{"a":1}', null, '']) {
      const call = { action: 'call', server: 'plain', tool: 'x', arguments: given } as Json;
      expect(await textOf(made, call, contextIn('/'))).toBe('ok');
    }
    expect(asked).toEqual([{ a: '', b: null, c: 0 }, { a: 1 }, {}, {}]);
    for (const wrong of ['{', '[1]', 7]) {
      const call = { action: 'call', server: 'plain', tool: 'x', arguments: wrong } as Json;
      expect(await textOf(made, call, contextIn('/'))).toMatch(/^error: .*\n- arguments: found/);
    }
  });

  it('SUR-02 warns of an effect only where a call may have had one', async () => {
    const ask = (server: string, name: string, mayHaveRun: boolean) => {
      const made = tool(async () => {
        throw new McpFailure('it fell', { mayHaveRun });
      });
      return textOf(made, { action: 'call', server, tool: name }, contextIn('/'));
    };
    const plain = 'error: The server plain could not be used: it fell.';
    expect(await ask('plain', 'x', false)).toBe(plain);
    expect(await ask('plain', 'x', true)).toBe(
      `${plain} The call may have taken effect all the same: check before making it again.`,
    );
    expect(await ask('harbour', 'tide', true)).toBe('error: The server harbour could not be used: it fell.');
  });
});
