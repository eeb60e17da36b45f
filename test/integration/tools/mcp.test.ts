import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/app/clock.ts';
import type { Clock } from '../../../src/ledger/clock.ts';
import type { JsonObject } from '../../../src/ledger/json.ts';
import type { ToolOutput } from '../../../src/tools/contract.ts';
import { createMcpBroker } from '../../../src/tools/mcp/broker.ts';
import type { McpServerSettings, McpServers } from '../../../src/tools/mcp/settings.ts';
import { mcpTool } from '../../../src/tools/mcp/tool.ts';
import { runTool } from '../../../src/tools/run.ts';
import { until } from '../../support/await.ts';
import { type Harbour, httpHarbour, SECRET_VARIABLE, stdioHarbour } from '../../support/mcp-process.ts';
import { contextIn } from '../../unit/tools/folder.ts';

const SECRET = 'marker-secret-9f3a"7';
/** Unlike every other delay of the broker. */
const TIMEOUT_MS = 43_210;
const FOREIGN = 'TURNWRIGHT_TEST_FOREIGN';

interface Reached {
  /** Of everything a server or the broker said for people. */
  readonly notes: string[];
  call(tool: string, args?: JsonObject, signal?: AbortSignal): Promise<ToolOutput>;
  list(tool?: string): Promise<ToolOutput>;
  close(): Promise<void>;
}

function reach(servers: McpServers, clock: Clock = systemClock): Reached {
  const notes: string[] = [];
  const lookup = (variable: string): string | undefined =>
    variable === SECRET_VARIABLE ? SECRET : process.env[variable];
  const broker = createMcpBroker({
    servers,
    lookup,
    clock,
    onNote: ({ server, text }) => void notes.push(`${server} ${text}`),
  });
  onTestFinished(() => broker.close());
  const tool = mcpTool(broker, servers);
  const run = async (args: JsonObject, signal = new AbortController().signal): Promise<ToolOutput> => {
    const outcome = await runTool(tool, args, contextIn('/', { signal }), systemClock);
    return outcome.kind === 'aborted' ? { content: 'aborted', isError: true } : outcome.output;
  };
  return {
    notes,
    call: (name, args = {}, signal) =>
      run({ action: 'call', server: 'harbour', tool: name, arguments: args }, signal),
    list: (name) => run({ action: 'list', server: 'harbour', ...(name === undefined ? {} : { tool: name }) }),
    close: () => broker.close(),
  };
}

type Open = (overrides?: Partial<McpServerSettings>) => Promise<Harbour>;
const transports: [string, Open][] = [
  ['stdio', async (overrides) => stdioHarbour(overrides)],
  ['streamable HTTP', httpHarbour],
];

describe.each(transports)('an MCP server over %s', (_, open) => {
  it('SUR-02 is not contacted before a model asks for it, and then lists every page of its tools', async () => {
    const harbour = await open();
    const { list } = reach({ harbour: harbour.settings });
    expect([...harbour.logged('list'), ...harbour.logged('session')]).toEqual([]);
    const { content, isError, listed } = await list();
    expect(isError).toBe(false);
    expect(listed?.tools).toEqual([
      'add',
      'ask',
      'crash',
      'environment',
      'forget',
      'grow',
      'junk',
      'refuse',
      'say',
      'wait',
    ]);
    expect(listed?.digest).toMatch(/^[0-9a-f]{64}$/);
    expect(content).toContain('- add: Adds two whole numbers.');
    expect(content).toContain('"required":["a","b"]');
    expect(content).toContain('Says \uFFFD[31mred\uFFFD things.');
    expect(content).toContain('(1 more cannot be called');
    expect(content).not.toContain('two words');
  });

  it('SUR-02 answers calls, one process and one list for all of them', async () => {
    const harbour = await open();
    const { call, list } = reach({ harbour: harbour.settings });
    const sums = await Promise.all([1, 2, 3, 4, 5, 6].map((b) => call('add', { a: 10, b })));
    expect(sums.map(({ content }) => content)).toEqual(['11', '12', '13', '14', '15', '16']);
    await list();
    expect(harbour.logged('start')).toHaveLength(1);
    expect(harbour.logged('list')).toEqual(['list first', 'list rest']);
  });

  it('SUR-02 never hears of arguments that do not fit or a tool it has not, and the model learns what does', async () => {
    const harbour = await open();
    const { call, list } = reach({ harbour: harbour.settings });
    const wrong = await call('add', { a: 'one', c: 1 });
    expect(wrong.isError).toBe(true);
    expect(wrong.content).toContain('- a: found "one"; allowed is a whole number.');
    expect(wrong.content).toContain('- b: found nothing');
    expect(wrong.content).toContain('- c: no such property; the properties are a, b.');
    const unknown = await call('Add', {});
    expect(unknown).toMatchObject({ isError: true });
    expect(unknown.content).toMatch(/no tool of harbour "Add"\. Did you mean add\? There are: add, ask, /);
    expect(await list('nope')).toMatchObject({ isError: true, listed: { server: 'harbour' } });
    expect(harbour.logged('call')).toEqual([]);
  });

  it('SUR-02 lists anew once it says that its tools have changed', async () => {
    const harbour = await open();
    const { call, list } = reach({ harbour: harbour.settings });
    const before = await list();
    await call('grow');
    const after = await until('the grown list', async () => {
      const now = await list();
      return now.listed?.digest !== before.listed?.digest && now;
    });
    expect(after.listed?.tools).toContain('grown11');
  });

  it('SUR-02 gives back text as data: joined, without control characters, other kinds by name and size', async () => {
    const { call } = reach({ harbour: (await open()).settings });
    expect(await call('say', { what: 'control' })).toEqual({
      content: 'a\uFFFD]0;owned\uFFFDb\uFFFDc\td\ne',
      isError: false,
    });
    const mixed = await call('say', { what: 'mixed' });
    expect(mixed.content.split('\n')).toEqual([
      'before',
      '[image image/png, 1000 bytes]',
      'words of it',
      '[resource file:///blob, 10 bytes]',
      'after',
    ]);
    expect(await call('say', { what: 'structured' })).toEqual({
      content: '{"b":1,"a":[true]}',
      isError: false,
    });
    expect(await call('say', { what: 'failure' })).toEqual({ content: 'The disk is full.', isError: true });
    expect((await call('say', { what: 'nothing' })).content).toBe('(The tool returned nothing.)');
  });

  it('SUR-02 has its results cut to the limit, and goes on after an answer that no limit could hold', async () => {
    const { call } = reach({ harbour: (await open({ maxResultBytes: 1_000 })).settings });
    const huge = await call('say', { what: 'huge' });
    expect(Buffer.byteLength(huge.content)).toBeLessThanOrEqual(1_000);
    expect(huge.content).toMatch(/^é+\n\[cut off: the first \d+ of 4194304 bytes; ask for less\]$/);
    const enormous = await call('say', { what: 'enormous' });
    expect(enormous.isError).toBe(true);
    expect(enormous.content).toMatch(/^The server harbour could not be used: it sent more than is taken/);
    expect((await call('add', { a: 1, b: 1 })).content).toBe('2');
  });

  it('SUR-02 may fail or answer nonsense, which the model is told', async () => {
    const { call } = reach({ harbour: (await open()).settings });
    const refused = await call('refuse');
    expect(refused).toMatchObject({ isError: true });
    expect(refused.content).toMatch(
      /^The server harbour could not be used: it answered with an error: .*refused/,
    );
    expect(refused.content).not.toContain('may have taken effect');
    const junk = await call('junk');
    expect(junk.content).toMatch(/its answer has not the form of one\. The call may have taken effect/);
    expect((await call('add', { a: 1, b: 1 })).content).toBe('2');
  });

  it('SUR-02 gets no wish of its own granted: no sampling, no elicitation, no roots', async () => {
    const { call } = reach({ harbour: (await open()).settings });
    const { content } = await call('ask');
    const answers = content.split('\n');
    expect(answers).toHaveLength(3);
    for (const answer of answers) expect(answer).toMatch(/Method not found/);
  });

  it('SUR-02 is told of a call that is aborted, and the call ends', async () => {
    const harbour = await open();
    const { call } = reach({ harbour: harbour.settings });
    const controller = new AbortController();
    const waiting = call('wait', {}, controller.signal);
    await until('the call runs', () => harbour.logged('waiting').length === 1);
    controller.abort();
    expect((await waiting).content).toBe('aborted');
    await until('it was told', () => harbour.logged('cancelled').length === 1);
    expect((await call('add', { a: 1, b: 1 })).content).toBe('2');
  });

  it('SUR-02 is told of a call whose time is up; the model learns that it may have taken effect', async () => {
    const harbour = await open({ timeoutMs: TIMEOUT_MS });
    const words = `The server harbour could not be used: it did not answer within ${TIMEOUT_MS} ms.`;
    const doubt = ' The call may have taken effect all the same: check before making it again.';
    const declared = [
      [{}, words + doubt],
      [{ wait: { effect: 'read' } }, words],
    ] as const;
    for (const [index, [tools, message]] of declared.entries()) {
      const { clock, fire } = deadlines();
      const { call } = reach({ harbour: { ...harbour.settings, tools } }, clock);
      const waiting = call('wait');
      await until('the call runs', () => harbour.logged('waiting').length === index + 1);
      fire();
      expect((await waiting).content).toBe(message);
      await until('it was told', () => harbour.logged('cancelled').length === index + 1);
    }
  });

  it('SUR-02 may crash in a call: a clear error, and the next call works', async () => {
    const harbour = await open();
    const { call } = reach({ harbour: harbour.settings });
    const crashed = await call('crash');
    expect(crashed.isError).toBe(true);
    expect(crashed.content).toMatch(
      /^The server harbour could not be used: it .*\. The call may have taken effect/,
    );
    await harbour.restart();
    expect((await call('add', { a: 1, b: 1 })).content).toBe('2');
    expect(harbour.logged('start')).toHaveLength(2);
  });

  it('SUR-02 is stopped when it idles, and comes back on demand', async () => {
    const harbour = await open({ idleMs: 50 });
    const { call } = reach({ harbour: harbour.settings });
    const first = await call('environment');
    const { pid } = JSON.parse(first.content) as { readonly pid: number };
    if (harbour.settings.endpoint.kind === 'stdio') await until('its process ended', () => !isAlive(pid));
    else await until('its session ended', () => harbour.logged('goodbye').length === 1);
    expect((await call('add', { a: 1, b: 1 })).content).toBe('2');
  });

  it('SUR-02 is stopped with the broker, which refuses whatever comes later', async () => {
    const harbour = await open();
    const { call, close } = reach({ harbour: harbour.settings });
    const { pid } = JSON.parse((await call('environment')).content) as { readonly pid: number };
    const waiting = call('wait');
    await until('the call runs', () => harbour.logged('waiting').length === 1);
    await Promise.all([close(), close()]);
    expect((await waiting).content).toMatch(/ended or closed the connection/);
    if (harbour.settings.endpoint.kind === 'stdio') expect(isAlive(pid)).toBe(false);
    expect((await call('add', { a: 1, b: 1 })).content).toMatch(/not started any more/);
  });

  it('SUR-02 gets the secrets it is meant to get, and none appears in a result, an error or a note', async () => {
    const harbour = await open();
    const { call, list, notes } = reach({ harbour: harbour.settings });
    const outputs = [
      await call('environment'),
      await call('say', { what: SECRET }),
      await call('say', { what: Buffer.from(`user:${SECRET}!`).toString('base64') }),
      await call('refuse'),
      await list(),
      await call('crash'),
    ];
    expect(outputs[0]?.content).toMatch(/"(KEY|x-key)":"\[redacted\]"/);
    expect(outputs[1]?.content).toBe('[redacted]');
    const all = JSON.stringify([outputs, notes]);
    expect(all).not.toContain('marker-secret');
    expect(all).not.toContain(Buffer.from(SECRET).toString('base64').slice(4, 16));
  });
});

describe('an MCP server that is started here', () => {
  it('SUR-02 sees PATH, HOME and what is named for it of the environment, and nothing else', async () => {
    process.env[FOREIGN] = 'not for others';
    onTestFinished(() => void delete process.env[FOREIGN]);
    const { call, notes } = reach({ harbour: stdioHarbour().settings });
    const { environment } = JSON.parse((await call('environment')).content) as {
      readonly environment: Readonly<Record<string, string>>;
    };
    expect(Object.keys(environment).sort()).toEqual(['HOME', 'KEY', 'PATH']);
    await until('its standard error', () => notes.length >= 2);
    expect(notes[0]).toBe('harbour harbour is up');
    expect(notes[1]).toContain('"KEY":"[redacted]"');
  });

  it('SUR-02 may have a command that does not exist, or that ends at once, which is not tried in a loop', async () => {
    const { settings } = stdioHarbour();
    const { endpoint } = settings;
    for (const [command, reason] of [
      ['/nowhere/to/be/found', 'its program was not found'],
      ['false', 'it ended or closed the connection'],
    ] as const) {
      const { call } = reach({ harbour: { ...settings, endpoint: { ...endpoint, command } as never } });
      const first = await call('add', { a: 1, b: 1 });
      expect(first.content).toBe(`The server harbour could not be used: ${reason}.`);
      const second = await call('add', { a: 1, b: 1 });
      expect(second.content).toMatch(new RegExp(`${reason}; it can be tried again in 1 s`));
    }
  });

  it('SUR-02 is not started while a variable it needs is not set, and the message names the variable', async () => {
    const { settings, logged } = stdioHarbour();
    const endpoint = { ...settings.endpoint, environment: { KEY: 'NOT_SET_ANYWHERE' } };
    const { call } = reach({ harbour: { ...settings, endpoint: endpoint as never } });
    expect((await call('add', { a: 1, b: 1 })).content).toBe(
      'The server harbour could not be used: it needs environment variables that are not set: NOT_SET_ANYWHERE.',
    );
    expect(logged('start')).toEqual([]);
  });
});

describe('an MCP server that runs elsewhere', () => {
  it('SUR-02 may not be there, or refuse: the message says so without its address', async () => {
    const { settings } = await httpHarbour();
    const endpoint = {
      kind: 'http',
      url: `http://127.0.0.1:${await closedPort()}/mcp`,
      headers: {},
    } as const;
    const { call } = reach({ harbour: { ...settings, endpoint } });
    expect((await call('add', { a: 1, b: 1 })).content).toBe(
      'The server harbour could not be used: it cannot be reached (ECONNREFUSED).',
    );
  });

  it('SUR-02 may have forgotten the session: one call fails, the next opens a new one', async () => {
    const harbour = await httpHarbour();
    const { call } = reach({ harbour: harbour.settings });
    await call('forget');
    const lost = await call('add', { a: 1, b: 2 });
    expect(lost.content).toMatch(/could not be used: it answered with the HTTP status 404\./);
    expect((await call('add', { a: 1, b: 2 })).content).toBe('3');
    expect(harbour.logged('session')).toHaveLength(2);
  });
});

/** A clock whose deadlines of `TIMEOUT_MS` come when the test says so. */
function deadlines(): { readonly clock: Clock; readonly fire: () => void } {
  const due = new Set<() => void>();
  const after: Clock['after'] = (delayMs, act) => {
    if (delayMs !== TIMEOUT_MS) return systemClock.after(delayMs, act);
    due.add(act);
    return () => void due.delete(act);
  };
  return {
    clock: { ...systemClock, after },
    fire: () => {
      for (const act of due) act();
    },
  };
}

async function closedPort(): Promise<number> {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
