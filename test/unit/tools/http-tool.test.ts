import type { ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { systemClock } from '../../../src/app/clock.ts';
import { TurnwrightError } from '../../../src/ledger/errors.ts';
import { canonicalJson, type Json } from '../../../src/ledger/json.ts';
import type { Outbound } from '../../../src/tools/contract.ts';
import { type HttpToolSpec, httpTool } from '../../../src/tools/http/http-tool.ts';
import { verifySignature } from '../../../src/tools/http/signature.ts';
import { runTool } from '../../../src/tools/run.ts';
import { contextIn } from './folder.ts';
import { type Respond, type Service, serviceThat } from './http-server.ts';

const NOW_MS = 1_790_000_000_500;
const SIGNING = 'marker-signing-5d1e8c0b';
const TOKEN = 'Bearer marker-token-91aa77';
const ENV: Readonly<Record<string, string>> = { DEPOT_SECRET: SIGNING, DEPOT_TOKEN: TOKEN };

const input = z.strictObject({
  berth: z.int(),
  ship: z.string().optional(),
  tags: z.array(z.string()).optional(),
  urgent: z.boolean().optional(),
});
type Spec = HttpToolSpec<typeof input>;

function depot(url: string, spec: Partial<Spec> = {}) {
  return httpTool({ name: 'book_berth', description: 'Books a berth.', input, url, ...spec });
}

async function call(
  url: string,
  spec: Partial<Spec> = {},
  args: Readonly<Record<string, Json>> = { berth: 7 },
  outbound: Partial<Outbound> = {},
) {
  const granted: Outbound = {
    allow: ['127.0.0.1'],
    secret: (name) => ENV[name],
    clock: { ...systemClock, nowMs: () => NOW_MS },
    ...outbound,
  };
  const context = contextIn('/', { idempotencyKey: 'turn-1~tool-1-0', outbound: granted });
  const outcome = await runTool(depot(url, spec), args, context, systemClock);
  if (outcome.kind === 'aborted') throw new Error('nobody aborted it');
  return outcome.output;
}

const at = ({ port }: Service, path = '/book'): string => `http://127.0.0.1:${port}${path}`;
const answering = (status: number, body: string, type = 'application/json'): Promise<Service> =>
  serviceThat((response) => response.writeHead(status, { 'content-type': type }).end(body));

describe('what an HTTP tool sends', () => {
  it('a POST of its name, its arguments and its idempotency key as canonical JSON', async () => {
    const service = await answering(200, '{"booked":true}');
    expect(await call(at(service), {}, { ship: 'Wigeon', berth: 7 })).toEqual({
      content: '{"booked":true}',
      isError: false,
    });
    const body = { tool: 'book_berth', arguments: { berth: 7, ship: 'Wigeon' }, call: 'turn-1~tool-1-0' };
    expect(service.received).toHaveLength(1);
    expect(service.received[0]).toMatchObject({ method: 'POST', url: '/book', body: canonicalJson(body) });
    expect(service.received[0]?.headers).toMatchObject({
      'content-type': 'application/json',
      'idempotency-key': 'turn-1~tool-1-0',
    });
    expect(service.received[0]?.headers).not.toHaveProperty('turnwright-signature');
  });

  it.each(['PUT', 'PATCH', 'DELETE'] as const)('a %s with the same body', async (method) => {
    const service = await answering(200, '{}');
    await call(at(service), { method });
    expect(service.received[0]).toMatchObject({ method, body: expect.stringContaining('"berth":7') });
  });

  it('a GET with its arguments in the query, beside what the address holds', async () => {
    const service = await answering(200, '{}');
    const args = { berth: 7, ship: 'a&b=c', tags: ['x', 'y'], urgent: true };
    await call(at(service, '/book?v=2'), { method: 'GET' }, args);
    expect(service.received[0]).toMatchObject({ method: 'GET', body: '' });
    const sent = new URL(service.received[0]?.url ?? '', 'http://x');
    expect([...sent.searchParams].sort(([a], [b]) => a.localeCompare(b))).toEqual([
      ['berth', '7'],
      ['ship', 'a&b=c'],
      ['tags', '["x","y"]'],
      ['urgent', 'true'],
      ['v', '2'],
    ]);
  });

  it('nothing for a GET whose arguments make the address too long', async () => {
    const service = await answering(200, '{}');
    const output = await call(at(service), { method: 'GET' }, { berth: 1, ship: 'x'.repeat(9_000) });
    expect(output).toMatchObject({ isError: true, content: expect.stringContaining('8000 characters') });
    expect(service.received).toEqual([]);
  });

  it('a signature that its receiver can verify over the body as it came', async () => {
    const service = await answering(200, '{}');
    await call(at(service), { secretEnv: 'DEPOT_SECRET' });
    const [received] = service.received;
    const header = String(received?.headers['turnwright-signature']);
    expect(verifySignature(SIGNING, header, received?.body ?? '', NOW_MS)).toBe(true);
    expect(verifySignature(SIGNING, header, `${received?.body} `, NOW_MS)).toBe(false);
    expect(verifySignature('another', header, received?.body ?? '', NOW_MS)).toBe(false);
    expect(header).toMatch(/^t=1790000000,v1=[0-9a-f]{64}$/u);
  });

  it('a signature over path and query of a GET, which has no body', async () => {
    const service = await answering(200, '{}');
    await call(at(service), { method: 'GET', secretEnv: 'DEPOT_SECRET' });
    const [received] = service.received;
    const header = String(received?.headers['turnwright-signature']);
    expect(verifySignature(SIGNING, header, received?.url ?? '', NOW_MS)).toBe(true);
  });

  it('headers whose values the environment holds', async () => {
    const service = await answering(200, '{}');
    await call(at(service), { headersEnv: { Authorization: 'DEPOT_TOKEN' } });
    expect(service.received[0]?.headers.authorization).toBe(TOKEN);
  });

  it.each([{ secretEnv: 'DEPOT_MISSING' }, { headersEnv: { 'X-Key': 'DEPOT_MISSING' } }])(
    'nothing where a variable is not set: %j',
    async (spec) => {
      const service = await answering(200, '{}');
      const output = await call(at(service), spec);
      expect(output).toMatchObject({ isError: true, content: expect.stringContaining('DEPOT_MISSING') });
      expect(service.received).toEqual([]);
    },
  );

  it('nothing to a host that is neither public nor allowed, and nothing where no network is granted', async () => {
    const service = await answering(200, '{}');
    const refused = await call(at(service), {}, { berth: 1 }, { allow: [] });
    expect(refused).toMatchObject({ isError: true, content: expect.stringContaining('no public network') });
    const outcome = await runTool(depot(at(service)), { berth: 1 }, contextIn('/'), systemClock);
    expect(outcome).toMatchObject({ kind: 'done', output: { isError: true } });
    expect(service.received).toEqual([]);
  });

  it('a request to a host that the tool itself allows by name', async () => {
    const service = await answering(200, 'there', 'text/plain');
    const allow = [`127.0.0.1:${service.port}`];
    expect(await call(at(service), { allow }, { berth: 1 }, { allow: [] })).toEqual({
      content: 'there',
      isError: false,
    });
  });
});

describe('what an HTTP tool answers', () => {
  it.each([
    [200, 'Berth 7 is yours.', 'text/plain; charset=utf-8'],
    [201, '{"a":1}', 'application/problem+json'],
    [200, '<a/>', 'application/xml'],
    [200, 'plain', ''],
  ])('a success %i: its text', async (status, body, type) => {
    const service = await serviceThat((response) =>
      response.writeHead(status, type === '' ? {} : { 'content-type': type }).end(body),
    );
    expect(await call(at(service))).toEqual({ content: body, isError: false });
  });

  it('a success without content, and content that is no text, said in words', async () => {
    expect((await call(at(await serviceThat((response) => response.writeHead(204).end())))).content).toBe(
      '(no content, status 204)',
    );
    const image = await answering(200, '\u0000\u0001', 'image/png');
    expect((await call(at(image))).content).toBe('(2 bytes of "image/png", which is no text, are not shown)');
  });

  it('a success longer than its limit, cut between characters and marked', async () => {
    const service = await answering(200, 'ä'.repeat(1_000), 'text/plain');
    const { content, isError } = await call(at(service), { maxResultBytes: 101 });
    expect(isError).toBe(false);
    expect(content).toBe(
      `${'ä'.repeat(50)}\n(cut: the answer is longer than the 101 bytes that are kept of it)`,
    );
  });

  it.each([400, 404, 409, 422, 429])(
    'a refusal %i: an error with what was said, in short',
    async (status) => {
      const service = await answering(status, `{"why":"full"}${'.'.repeat(9_000)}`);
      const { content, isError } = await call(at(service));
      expect(isError).toBe(true);
      expect(content).toMatch(
        new RegExp(`^book_berth was refused by the service, status ${status}\\.\\n`, 'u'),
      );
      expect(content).toContain('{"why":"full"}');
      expect(content.length).toBeLessThan(4_300);
      expect(content).not.toContain('may have taken effect');
    },
  );

  it.each([500, 502, 503])('a failure %i: an error that leaves the effect open', async (status) => {
    const service = await answering(status, 'oops', 'text/plain');
    const { content, isError } = await call(at(service));
    expect(isError).toBe(true);
    expect(content).toContain(`status ${status}`);
    expect(content).toContain('may have taken effect');
  });

  const breaking: Respond = (response: ServerResponse) => response.destroy();
  it('a connection that broke leaves the effect open, except for a read', async () => {
    const service = await serviceThat(breaking);
    const once = await call(at(service));
    expect(once).toMatchObject({ isError: true, content: expect.stringContaining('may have taken effect') });
    const read = await call(at(service), { effect: 'read' });
    expect(read.isError).toBe(true);
    expect(read.content).not.toContain('may have taken effect');
  });

  it('what was never sent leaves nothing open', async () => {
    const { content } = await call('http://10.255.0.1/book');
    expect(content).toContain('was not sent');
    expect(content).not.toContain('may have taken effect');
  });

  it('a redirect that is not followed leaves the effect open', async () => {
    const service = await serviceThat((response) => response.writeHead(303, { location: '/done' }).end());
    const { content, isError } = await call(at(service));
    expect(isError).toBe(true);
    expect(content).toContain('may have taken effect');
    expect(service.received).toHaveLength(1);
  });

  it('a service that never answers: a timeout that leaves the effect open', async () => {
    const service = await serviceThat(() => {});
    const { content, isError } = await call(at(service), { timeoutMs: 100 });
    expect(isError).toBe(true);
    expect(content).toContain('100 ms');
    expect(content).toContain('may have taken effect');
  });

  it('arguments that do not fit are told without a request', async () => {
    const service = await answering(200, '{}');
    const output = await call(at(service), {}, { berth: 'seven' });
    expect(output).toMatchObject({ isError: true, content: expect.stringContaining('berth') });
    expect(service.received).toEqual([]);
  });
});

describe('secrets of an HTTP tool', () => {
  const echoing: Respond = (response, { headers, body }) =>
    response
      .writeHead(200, { 'content-type': 'application/json' })
      .end(
        JSON.stringify({ headers, body, base64: Buffer.from(SIGNING).toString('base64'), secret: SIGNING }),
      );
  const spec = { secretEnv: 'DEPOT_SECRET', headersEnv: { Authorization: 'DEPOT_TOKEN' } } as const;
  const leaks = /marker-signing|marker-token|bWFya2Vy|v1=[0-9a-f]/u;

  it.each([200, 400, 500])('are masked in an answer %i that echoes them', async (status) => {
    const service = await serviceThat((response, received) => {
      response.statusCode = status;
      echoing(response, received);
    });
    const { content } = await call(at(service), spec);
    expect(service.received[0]?.headers.authorization).toBe(TOKEN);
    expect(content).not.toMatch(leaks);
  });

  it('are masked where an answer is cut in the middle of one', async () => {
    const service = await answering(200, `${'.'.repeat(90)}${SIGNING}`, 'text/plain');
    for (let maxResultBytes = 80; maxResultBytes < 120; maxResultBytes++) {
      const { content } = await call(at(service), { ...spec, maxResultBytes });
      expect(content, `cut at ${maxResultBytes}`).not.toContain('mark');
    }
  });

  it('stand in no failure', async () => {
    const failures = [
      await call('http://10.0.0.1/book', spec),
      await call(at(await serviceThat((response) => response.destroy())), spec),
      await call(at(await answering(200, '{}')), spec, { berth: 1 }, { secret: () => `${SIGNING}\r\nx: y` }),
    ];
    for (const { content, isError } of failures) {
      expect(isError).toBe(true);
      expect(content).not.toMatch(leaks);
    }
  });
});

describe('how an HTTP tool is declared', () => {
  it('it runs once unless declared, and keeps what was declared', () => {
    expect(depot('https://depot.example/')).toMatchObject({
      effect: 'once',
      approval: false,
      byClient: false,
    });
    const declared = { effect: 'read', approval: true, serves: ['live-data'], timeoutMs: 5 } as const;
    const tool = depot('https://depot.example/', { ...declared, observes: true });
    expect(tool).toMatchObject(declared);
    expect(tool.traitsOf({})).toEqual({ effect: 'read', observes: true, retrieves: true });
  });

  it.each([
    ['an address without a scheme', 'depot.example/a', {}],
    ['another scheme', 'ftp://depot.example/', {}],
    ['a password in the address', 'https://a:b@depot.example/', {}],
    ['an unknown method', 'https://depot.example/', { method: 'TRACE' as never }],
    ['a secret instead of its name', 'https://depot.example/', { secretEnv: 'whsec-7f/3a' }],
    ['a header value instead of a name', 'https://depot.example/', { headersEnv: { A: 'Bearer x' } }],
    ['a header with a blank', 'https://depot.example/', { headersEnv: { 'A b': 'X' } }],
    ['a header the request decides', 'https://depot.example/', { headersEnv: { Host: 'X' } }],
    ['a pattern of hosts', 'https://depot.example/', { allow: ['*.internal'] }],
    ['no size', 'https://depot.example/', { maxResultBytes: 0 }],
  ])('%s is refused', (_what, url, spec) => {
    expect(() => depot(url, spec)).toThrow(TurnwrightError);
    expect(() => depot(url, spec)).not.toThrow(/whsec|Bearer x/u);
  });
});
