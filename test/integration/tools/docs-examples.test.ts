/** The examples of the pages on tools and checks, taken from the pages and run. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/app/clock.ts';
import { type Config, loadConfig } from '../../../src/app/config.ts';
import type { JsonObject } from '../../../src/ledger/json.ts';
import type { Tool } from '../../../src/tools/contract.ts';
import { signatureOf } from '../../../src/tools/http/signature.ts';
import { createMcpBroker, mcpTool } from '../../../src/tools/mcp/index.ts';
import { runTool } from '../../../src/tools/run.ts';
import { loadSkills } from '../../../src/tools/skills/index.ts';
import { contextIn } from '../../unit/tools/folder.ts';

const ROOT = join(import.meta.dirname, '../../..');
const PAGES = ['docs/tools.md', 'docs/checks.md'] as const;
const BLOCK = /^```(\w+)\n([\s\S]*?)^```$/gmu;
const PACKAGE = pathToFileURL(join(ROOT, 'src/index.ts')).href;

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'turnwright-docs-'));
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
});
afterEach(() => rm(folder, { recursive: true }));

/** Blocks of a page that begin with the name of a file, or with `---`, as that file is written. */
async function blocks(page: string, opening: string): Promise<readonly string[]> {
  const text = await readFile(join(ROOT, page), 'utf8');
  return [...text.matchAll(BLOCK)]
    .map(([, , code = '']) => code.replace("'turnwright'", `'${PACKAGE}'`))
    .filter((code) => code.startsWith(opening));
}

async function configs(page: string): Promise<readonly Config[]> {
  const found: Config[] = [];
  for (const code of await blocks(page, '// turnwright.config.ts')) {
    const cwd = await mkdtemp(join(folder, 'config-'));
    await writeFile(join(cwd, 'turnwright.config.ts'), code);
    found.push(await loadConfig({ env: {}, cwd }));
  }
  return found;
}

async function run(tool: Tool, args: JsonObject): Promise<string> {
  const outcome = await runTool(tool, args, contextIn(folder, {}), systemClock);
  if (outcome.kind === 'aborted') throw new Error('nobody aborted it');
  expect(outcome.output.isError, outcome.output.content).toBe(false);
  return outcome.output.content;
}

describe('the examples of the pages', () => {
  it.each(PAGES)('are configurations that a process takes, on %s', async (page) => {
    expect((await configs(page)).length).toBe(2);
  });

  it('declare tools as their page says', async () => {
    const [config] = await configs('docs/tools.md');
    const tools = new Map(config?.tools.map((tool) => [tool.name, tool]));
    expect([...tools.keys()]).toEqual(['berth_depth', 'book_berth', 'open_chart']);
    expect(tools.get('berth_depth')?.traitsOf({})).toEqual({
      effect: 'read',
      observes: true,
      retrieves: true,
    });
    expect(tools.get('book_berth')).toMatchObject({
      effect: 'once',
      approval: true,
      onUnknown: 'ask',
      deferred: true,
    });
    expect(tools.get('open_chart')?.byClient).toBe(true);
    const depth = tools.get('berth_depth');
    if (depth === undefined) throw new Error('there is no such tool');
    expect(await run(depth, { berth: 'B4' })).toContain('11 m');
  });

  it('SUR-02 start the server of the page and call it as the page says', async () => {
    const [, config] = await configs('docs/tools.md');
    const servers = config?.mcp?.servers ?? {};
    const [code = ''] = await blocks('docs/tools.md', '// tides.mjs');
    await writeFile(join(folder, 'tides.mjs'), code);
    const { tides } = servers;
    if (tides?.endpoint.kind !== 'stdio') throw new Error('tides is no server that is started here');
    const endpoint = { ...tides.endpoint, cwd: folder };
    const here = { ...servers, tides: { ...tides, endpoint } };
    const broker = createMcpBroker({
      servers: here,
      lookup: (name) => (name === 'TIDES_KEY' ? 'any key' : process.env[name]),
      clock: systemClock,
    });
    onTestFinished(() => broker.close());
    const tool = mcpTool(broker, here);
    const page = await readFile(join(ROOT, 'docs/tools.md'), 'utf8');
    const calls = [...page.matchAll(/`(\{"action":.*?\})`/gu)].map(
      ([, json = '']) => JSON.parse(json) as JsonObject,
    );
    expect(calls).toHaveLength(2);
    const [list = {}, call = {}] = calls;
    expect(await run(tool, list)).toContain('high_water: Tells when the water is highest.');
    expect(await run(tool, call)).toBe('High water at Brenholm: 14:05.');
    expect(tool.traitsOf(call)).toEqual({ effect: 'read', observes: true, retrieves: true });
  });

  it('SUR-02 hold a skill that is read', async () => {
    const [text = ''] = await blocks('docs/tools.md', '---\nname:');
    await mkdir(join(folder, 'skills', 'any'), { recursive: true });
    await writeFile(join(folder, 'skills', 'any', 'SKILL.md'), text);
    const skills = loadSkills([join(folder, 'skills')]);
    expect(skills.all).toEqual([{ name: 'tide-tables', description: 'Reads tide tables.' }]);
    expect(skills.body('tide-tables')).toContain('Name the port beside every figure.');
  });

  it('verify a signature in the receiver, and refuse any other', { timeout: 30_000 }, async () => {
    const [code = ''] = await blocks('docs/tools.md', '// receiver.mjs');
    const file = join(folder, 'receiver.mjs');
    await writeFile(
      file,
      code.replace(
        'server.listen(',
        "server.on('listening', () => console.log(server.address().port));\nserver.listen(",
      ),
    );
    const child = spawn(process.execPath, ['--import', 'tsx', file], {
      cwd: folder,
      env: { PATH: process.env.PATH, BOOKINGS_SECRET: 'a shared secret', PORT: '0' },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void child.kill('SIGKILL'));
    const [line] = (await once(child.stdout, 'data')) as [Buffer];
    const body = JSON.stringify({
      tool: 'book_berth',
      arguments: { berth: 'B4', ship: 'Petrel' },
      call: 'c',
    });
    const send = (secret: string) =>
      fetch(`http://127.0.0.1:${Number(line.toString())}/bookings`, {
        method: 'POST',
        body,
        headers: { 'turnwright-signature': signatureOf(secret, body, Date.now()) },
      });
    const taken = await send('a shared secret');
    expect([taken.status, await taken.text()]).toEqual([200, 'Petrel lies at B4.']);
    expect((await send('another')).status).toBe(401);
  });
});
