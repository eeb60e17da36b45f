/** Servers, skills and services as a turn reaches them, on the whole stack. */
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { z } from 'zod';
import type { SessionRef } from '../../../src/db/contract.ts';
import { MACHINES } from '../../../src/machines/registry.ts';
import type { Leg } from '../../../src/providers/contract.ts';
import { verifySession } from '../../../src/runtime/verify-session.ts';
import { httpTool } from '../../../src/tools/http/http-tool.ts';
import { verifySignature } from '../../../src/tools/http/signature.ts';
import { SECRET_VARIABLE, stdioHarbour } from '../../support/mcp-process.ts';
import { sayingTool } from '../../support/tools.ts';
import { openAiDialect, WireServer, whole } from '../../support/wire-server.ts';
import { serviceThat } from '../../unit/tools/http-server.ts';
import type { LegWorld } from '../runtime/leg-process.ts';
import { openToolWorld, requestsOf } from './tool-world.ts';

const GREETING = 'Good morning to you.';
const LEG = 'sim-large';
const EVERY_TOOL = { tools: null } as const;

async function results(world: LegWorld, ref: SessionRef, turn: string) {
  return world.bodies(ref, 'tool-result', turn);
}

async function expectSound(world: LegWorld, ref: SessionRef): Promise<void> {
  const at = { store: world.stack.producer.store, registry: MACHINES };
  expect(await verifySession(at, ref)).toMatchObject({ chain: { ok: true }, broken: null });
}

function count(text: string, part: string): number {
  return text.split(part).length - 1;
}

describe('a server behind mcp', () => {
  const LIST = 'Use the mcp tool to list the server pilots.';
  const call = (tool: string): string =>
    `Use the mcp tool to run one of the server pilots, where the tool is "${tool}".`;
  const SECRET = 'marker-harbour-77ab';
  beforeEach(() => {
    process.env[SECRET_VARIABLE] = SECRET;
  });
  afterEach(() => {
    delete process.env[SECRET_VARIABLE];
  });

  it('SUR-02 is started by the first demand of a model, and the next request names its tools', async () => {
    const harbour = stdioHarbour();
    const world = await openToolWorld({ mcp: { servers: { pilots: harbour.settings } } });
    const ref = await world.session(LEG, EVERY_TOOL);
    const greeted = await world.ask(ref, GREETING);
    expect(harbour.logged('start')).toEqual([]);
    const [first] = await requestsOf(world, ref, greeted.turn);
    expect(first?.system).toMatch(/\npilots\n<\/servers>/u);

    const { turn } = await world.ask(ref, LIST);
    expect(harbour.logged('start')).toHaveLength(1);
    const [listed] = await results(world, ref, turn);
    expect(listed).toMatchObject({ name: 'mcp', status: 'ok' });
    expect(listed?.content).toContain('add: Adds two whole numbers.');
    const growths = await world.bodies(ref, 'surface-grown', turn);
    expect(growths).toMatchObject([{ step: 1, by: 'listed', server: { name: 'pilots' } }]);
    expect(growths[0]?.server?.tools).toContain('environment');

    const [before, after] = await requestsOf(world, ref, turn);
    expect(before?.system).toBe(first?.system);
    expect(after?.system).toMatch(/\npilots: add, ask, crash, environment, [^\n]*wait\n<\/servers>/u);
    const changes = await world.bodies(ref, 'prefix-changed', turn);
    expect(changes).toMatchObject([{ part: 'system' }]);
    expect(changes[0]?.bytes).toBeGreaterThan(after?.system.length ?? Number.POSITIVE_INFINITY);
    await expectSound(world, ref);
  });

  it('SUR-02 runs once for list and calls of several turns, and what was listed stays in later prefixes', async () => {
    const harbour = stdioHarbour();
    const world = await openToolWorld({ mcp: { servers: { pilots: harbour.settings } } });
    const ref = await world.session(LEG, EVERY_TOOL);
    const { turn } = await world.ask(ref, LIST);
    const after = (await requestsOf(world, ref, turn)).at(-1);
    const called = await world.ask(ref, call('environment'));
    const [answer] = await results(world, ref, called.turn);
    expect(answer).toMatchObject({ name: 'mcp', status: 'ok' });
    expect(harbour.logged('start')).toEqual([`start ${/"pid":(\d+)/u.exec(answer?.content ?? '')?.[1]}`]);
    expect(harbour.logged('call')).toEqual(['call environment']);
    expect(answer?.content).toContain('"KEY":"[redacted]"');
    const later = await requestsOf(world, ref, called.turn);
    expect(new Set(later.map(({ system }) => system))).toEqual(new Set([after?.system]));

    const again = await world.ask(ref, LIST);
    expect(await world.bodies(ref, 'prefix-changed', again.turn)).toEqual([]);
    await world.ask(ref, call('grow'));
    const grown = await world.ask(ref, LIST);
    expect(await world.bodies(ref, 'prefix-changed', grown.turn)).toMatchObject([{ part: 'system' }]);
    const system = (await requestsOf(world, ref, grown.turn)).at(-1)?.system ?? '';
    expect(system).toContain('grown11');
    expect(count(system, '\npilots')).toBe(1);
    await expectSound(world, ref);
  });

  it('SUR-02 is not named to a session that may not call mcp', async () => {
    const harbour = stdioHarbour();
    const world = await openToolWorld({ mcp: { servers: { pilots: harbour.settings } } });
    const ref = await world.session(LEG, { tools: ['read'] });
    const { turn } = await world.ask(ref, LIST);
    expect(JSON.stringify(await requestsOf(world, ref, turn))).not.toMatch(/<servers>|"name":"mcp"/u);
    expect(harbour.logged('start')).toEqual([]);
  });
});

describe('a skill', () => {
  const BODY = 'By the tide-tables skill the reference port is Brenholm.';
  const ASKS = 'Use the tide-tables skill: which port is the reference port?';
  const TAG = '<skill name="tide-tables">';
  let dir: string;

  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'turnwright-skills-'));
    const skills = {
      'tide-tables': ['Reads tide tables. All of them.', BODY],
      'sail-care': ['Mends sails.', 'Sew.'],
    };
    for (const [name, [description, body]] of Object.entries(skills)) {
      await mkdir(join(dir, name));
      await writeFile(
        join(dir, name, 'SKILL.md'),
        `---\nname: ${name}\ndescription: ${description}\n---\n${body}\n`,
      );
    }
  });
  afterEach(() => rm(dir, { recursive: true }));

  it('SUR-02 is listed by a line, and its body enters the system text once it is activated, never twice', async () => {
    const world = await openToolWorld({ skills: { dirs: [dir] } });
    const ref = await world.session(LEG, EVERY_TOOL);
    const end = await world.ask(ref, ASKS);
    expect(end).toMatchObject({ outcome: 'completed' });
    expect(end.answer).toContain('Brenholm');
    expect(await world.bodies(ref, 'surface-grown', end.turn)).toMatchObject([
      { step: 1, by: 'activated', tools: [], skills: ['tide-tables'] },
    ]);
    const [before, after] = await requestsOf(world, ref, end.turn);
    expect(before?.system).toContain('\nsail-care — Mends sails.\ntide-tables — Reads tide tables.');
    expect(before?.system).not.toContain(BODY);
    expect(after?.system).toBe(`${before?.system}\n\n${TAG}\n${BODY}\n</skill>`);
    expect(JSON.stringify(after?.messages)).not.toContain(BODY);

    const again = await world.ask(ref, 'Call the activate_skill tool for tide-tables.');
    const [repeated] = await results(world, ref, again.turn);
    expect(repeated).toMatchObject({ name: 'activate_skill', status: 'ok' });
    const later = await requestsOf(world, ref, again.turn);
    expect(later.length).toBeGreaterThan(1);
    for (const { system } of later) expect(system).toBe(after?.system);
    expect(await world.bodies(ref, 'prefix-changed', again.turn)).toEqual([]);
    expect(count(later.at(-1)?.system ?? '', TAG)).toBe(1);
    await expectSound(world, ref);
  });
});

describe('a service behind an HTTP tool', () => {
  const SECRET_ENV = 'BERTH_REPORT_SECRET';
  const SECRET = 'marker-berth-2f71c0';
  const ASKS = 'Use the berth_report tool: the berth is "B4". How deep is the water there?';

  function berthReport(port: number) {
    process.env[SECRET_ENV] = SECRET;
    onTestFinished(() => void delete process.env[SECRET_ENV]);
    return httpTool({
      name: 'berth_report',
      description: 'Reports how deep the water at a berth is.',
      input: z.strictObject({ berth: z.string() }),
      effect: 'read',
      url: `http://127.0.0.1:${port}/berths`,
      secretEnv: SECRET_ENV,
    });
  }

  it('SUR-02 is called once, with a signature that its secret verifies and no other', async () => {
    const service = await serviceThat((response) =>
      response.writeHead(200, { 'content-type': 'text/plain' }).end('The water at berth B4 is 11 m deep.'),
    );
    const world = await openToolWorld({
      tools: [berthReport(service.port)],
      outbound: { allow: [`127.0.0.1:${service.port}`] },
    });
    const ref = await world.session(LEG, EVERY_TOOL);
    const end = await world.ask(ref, ASKS);
    expect(end).toMatchObject({ outcome: 'completed' });
    expect(end.answer).toContain('11 m deep');

    expect(service.received).toHaveLength(1);
    const [first] = service.received;
    if (first === undefined) throw new Error('nothing was received');
    const { headers, body } = first;
    const key = String(headers['idempotency-key']);
    expect(JSON.parse(body)).toEqual({ tool: 'berth_report', arguments: { berth: 'B4' }, call: key });
    expect(key).toContain(end.turn);
    const signature = String(headers['turnwright-signature']);
    const verify = (secret: string, text: string) => verifySignature(secret, signature, text, Date.now());
    expect([verify(SECRET, body), verify(SECRET, `${body} `), verify('other', body)]).toEqual([
      true,
      false,
      false,
    ]);
    const records = JSON.stringify(await world.stack.records(ref));
    expect(records).not.toContain(SECRET);
    expect(records).not.toContain(signature);
    await expectSound(world, ref);
  });

  it('SUR-02 is not reached on a private network that is not allowed by name, and the model is told', async () => {
    const service = await serviceThat((response) => response.end('never'));
    const world = await openToolWorld({ tools: [berthReport(service.port)], outbound: { allow: [] } });
    const ref = await world.session(LEG, EVERY_TOOL);
    const { turn } = await world.ask(ref, ASKS);
    expect(service.received).toEqual([]);
    const [refused] = await results(world, ref, turn);
    expect(refused).toMatchObject({ name: 'berth_report', status: 'error' });
  });
});

describe('a tool that the session does not admit', () => {
  const runs: string[] = [];
  const tools = [
    sayingTool('crane_log', 'Reads the log of a crane.', 'The crane rests.'),
    sayingTool('vault_door', 'Opens the door of the vault.', 'It is open.', runs),
  ];
  const ANSWER = openAiDialect.text(['There is no way.'], {
    fresh: 3,
    cacheRead: 0,
    cacheWrite: 0,
    output: 2,
  });
  /** An answer after a call that failed may go back twice, and the model is asked for its window beside that. */
  const ANSWERS = 5;

  const scriptedLeg = ({ url }: WireServer): Leg => ({
    name: 'scripted',
    provider: 'compatible',
    model: 'scripted',
    baseUrl: `${url}/v1`,
    window: 32_768,
    maxOutputTokens: 512,
    timeoutMs: 60_000,
  });

  /** A turn of a model that calls what it was not offered, twice, and looks for it. */
  async function insists() {
    const wire = await WireServer.start();
    onTestFinished(() => wire.close());
    const asked = { id: 'call-1', name: 'vault_door', args: '{}' };
    const search = { id: 'call-2', name: 'find_tools', args: '{"query":"vault door"}' };
    wire.script(
      whole(openAiDialect.calls([asked, search])),
      whole(openAiDialect.calls([{ ...asked, id: 'call-3' }])),
      ...Array.from({ length: ANSWERS }, () => whole(ANSWER)),
    );
    const world = await openToolWorld({ tools }, [scriptedLeg(wire)]);
    const ref = await world.session('scripted', { tools: ['crane_log', 'find_tools'] });
    const end = await world.ask(ref, 'Open the vault.');
    expect(end).toMatchObject({ outcome: 'completed' });
    return { world, ref, ...end };
  }

  it('SUR-02 is neither offered nor found nor run: a call of it is answered with the names there are', async () => {
    const { world, ref, turn } = await insists();
    expect(runs).toEqual([]);
    const all = await results(world, ref, turn);
    expect(all.map(({ name, status }) => `${name} ${status}`)).toEqual([
      'vault_door unknown_tool',
      'find_tools ok',
      'vault_door unknown_tool',
    ]);
    for (const { content } of all.filter(({ name }) => name === 'vault_door'))
      expect(content).toContain('There is no tool "vault_door". The tools are: crane_log, find_tools.');
    for (const { system, tools: sent } of await requestsOf(world, ref, turn))
      expect(JSON.stringify([system, sent])).not.toContain('vault_door');
    expect(await world.bodies(ref, 'surface-grown', turn)).toEqual([]);
  });

  // It fails as long as `hintedBy` of `src/workers/tool.ts` looks the tool up without asking whether it is admitted.
  it('SUR-02 is neither advised nor described when its call has failed', async () => {
    const { world, ref, turn } = await insists();
    for (const { content } of await results(world, ref, turn))
      expect(content).not.toMatch(/call vault_door again|arguments of vault_door/u);
  });
});
