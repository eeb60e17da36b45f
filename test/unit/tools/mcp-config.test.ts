import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Config, loadConfig } from '../../../src/app/config.ts';

async function load(value: unknown): Promise<Config & { readonly cwd: string }> {
  const cwd = await mkdtemp(join(tmpdir(), 'turnwright-mcp-config-'));
  onTestFinished(() => rm(cwd, { recursive: true, force: true }));
  await writeFile(join(cwd, 'turnwright.config.mjs'), `export default ${JSON.stringify(value)};`);
  return { ...(await loadConfig({ env: {}, cwd })), cwd };
}

const refusal = (server: object): Promise<string> =>
  load({ mcp: { servers: { harbour: server } } }).then(
    () => 'no refusal',
    (error: Error) => error.message,
  );

describe('the configuration of MCP servers and skills', () => {
  it('SUR-02 says nothing unless it is given, and has defaults for the rest', async () => {
    const nothing = await load({});
    expect([nothing.mcp, nothing.skills]).toEqual([undefined, undefined]);
    const { mcp, skills, cwd } = await load({
      skills: { dirs: ['skills', '/srv/skills'] },
      mcp: {
        servers: {
          started: { command: 'x', cwd: 'sub', env: { KEY: 'MY_KEY' }, tools: { a: { effect: 'read' } } },
          elsewhere: {
            url: 'https://host/mcp',
            headersEnv: { Authorization: 'MY_AUTH' },
            effect: 'read',
            idleMs: 5,
          },
        },
      },
    });
    expect(skills).toEqual({ dirs: [join(cwd, 'skills'), '/srv/skills'] });
    const rest = { idleMs: 300_000, timeoutMs: 60_000, concurrent: 4, maxResultBytes: 1_048_576 };
    expect(mcp?.servers).toEqual({
      started: {
        ...rest,
        endpoint: {
          kind: 'stdio',
          command: 'x',
          args: [],
          cwd: join(cwd, 'sub'),
          environment: { KEY: 'MY_KEY' },
        },
        declared: {},
        tools: { a: { effect: 'read' } },
      },
      elsewhere: {
        ...rest,
        idleMs: 5,
        endpoint: { kind: 'http', url: 'https://host/mcp', headers: { Authorization: 'MY_AUTH' } },
        declared: { effect: 'read' },
        tools: {},
      },
    });
  });

  const wrong: [object, RegExp][] = [
    [{}, /mcp\.servers\.harbour is wrong: .* either command, .* or url/],
    [{ command: 'x', url: 'https://h/' }, /either command, .* or url/],
    [{ command: 'x', headersEnv: { A: 'B' } }, /headersEnv together with url only/],
    [{ url: 'https://h/', args: [] }, /args together with command only/],
    [{ url: 'https://u:p@h/' }, /a url without user and password/],
    [{ url: 'ftp://h/' }, /mcp\.servers\.harbour\.url is wrong: .* a URL like https:\/\/host\/mcp/],
    [{ url: 'nonsense' }, /mcp\.servers\.harbour\.url is wrong/],
    [
      { command: 'x', env: { KEY: 'not a name!' } },
      /mcp\.servers\.harbour\.env\.KEY is wrong: .* never the value/,
    ],
    [
      { command: 'x', tools: { a: { effect: 'twice' } } },
      /tools\.a\.effect is wrong: .* one of once, idempotent, read/,
    ],
    [{ comand: 'x' }, /the key mcp\.servers\.harbour\.comand is unknown; .* Did you mean command\?/],
    [{ command: 'x', timeoutMs: 0 }, /harbour\.timeoutMs is wrong: found 0/],
  ];
  it.each(wrong)('SUR-02 is refused where it is wrong: %j', async (server, message) => {
    expect(await refusal(server)).toMatch(message);
  });
});
