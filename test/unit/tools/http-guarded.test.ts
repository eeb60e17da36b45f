import { createServer } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { systemClock } from '../../../src/app/clock.ts';
import {
  guardedRequest,
  type OutboundGuard,
  type OutboundRequest,
} from '../../../src/tools/http/guarded-request.ts';
import { type Service, serviceThat } from './http-server.ts';

const INSIDE = 'the harbour keys lie under the mat';

function ask(
  url: string,
  guard: Partial<OutboundGuard> = {},
  request: Partial<OutboundRequest> = {},
): ReturnType<typeof guardedRequest> {
  return guardedRequest(
    { url, method: 'GET', headers: {}, credentials: {}, body: null, ...request },
    {
      allow: [],
      timeoutMs: 5_000,
      maxResponseBytes: 10_000,
      signal: new AbortController().signal,
      after: systemClock.after,
      ...guard,
    },
  );
}

const insider = (): Promise<Service> => serviceThat((response) => response.end(INSIDE));
const redirecting = (location: string, status = 302): Promise<Service> =>
  serviceThat((response) => response.writeHead(status, { location }).end());
const textOf = (answer: Awaited<ReturnType<typeof ask>>): string =>
  answer.kind === 'answered' ? Buffer.from(answer.body).toString('utf8') : answer.reason;

describe('places that are not public', () => {
  it.each([
    'http://127.0.0.1',
    'http://localhost',
    'http://LOCALHOST',
    'http://localhost.',
    'http://[::1]',
    'http://[::ffff:127.0.0.1]',
    'http://[::ffff:7f00:1]',
    'http://[::127.0.0.1]',
    'http://2130706433',
    'http://0x7f000001',
    'http://0x7f.1',
    'http://0177.0.0.1',
    'http://127.1',
    'http://0.0.0.0',
    'http://0',
    'http://①②⑦.⓪.⓪.①',
  ])('%s is refused, and the service behind it hears nothing', async (host) => {
    const service = await insider();
    const answer = await ask(`${host}:${service.port}/`);
    expect(answer.kind).toBe('unsent');
    expect(textOf(answer)).toMatch(/is on no public network|was not resolved/u);
    expect(textOf(answer)).not.toContain('harbour');
    expect(service.received).toEqual([]);
  });

  it.each(['169.254.169.254', '10.0.0.1', '[fd00:ec2::254]', '100.100.100.200', '[fe80::1]', '224.0.0.1'])(
    'http://%s is refused',
    async (host) => {
      expect(await ask(`http://${host}/latest/meta-data`)).toMatchObject({
        kind: 'unsent',
        reason: expect.stringContaining('is on no public network'),
      });
    },
  );

  it.each(['file:///etc/passwd', 'ftp://example.com/', 'gopher://example.com/', 'data:text/plain,x'])(
    '%s is no address to request',
    async (url) => {
      expect(await ask(url)).toMatchObject({ kind: 'unsent', reason: expect.stringContaining('kind') });
    },
  );

  it.each(['ida:hunter2', 'ida', ':hunter2'])(
    'an address with "%s" before its host is refused, and the refusal does not repeat it',
    async (user) => {
      const service = await insider();
      const answer = await ask(`http://${user}@127.0.0.1:${service.port}/`, { allow: ['127.0.0.1'] });
      expect(answer).toMatchObject({ kind: 'unsent', reason: expect.stringContaining('password') });
      expect(textOf(answer)).not.toMatch(/hunter2|ida/u);
      expect(service.received).toEqual([]);
    },
  );

  it('what is no URL is refused', async () => {
    expect(await ask('not a url')).toMatchObject({ kind: 'unsent' });
  });
});

describe('names', () => {
  it('a public name that leads inside is refused after it was resolved', async () => {
    const service = await insider();
    const answer = await ask(`http://depot.example:${service.port}/`, { resolve: async () => ['127.0.0.1'] });
    expect(answer).toMatchObject({
      kind: 'unsent',
      reason: expect.stringContaining('is on no public network'),
    });
    expect(service.received).toEqual([]);
  });

  it('of several addresses only public ones are connected to', async () => {
    // Nobody has the last one: that block is not given out.
    const service = await insider();
    const answer = await ask(`http://depot.example:${service.port}/`, {
      resolve: async () => ['127.0.0.1', '::1', '2d00::1'],
      timeoutMs: 300,
    });
    expect(answer.kind).toBe('unsent');
    expect(textOf(answer)).not.toContain('no public network');
    expect(service.received).toEqual([]);
  });

  it('a name that leads elsewhere when it is asked again is asked once, and the connection goes to what was checked', async () => {
    const first = await serviceThat((response) => response.end('checked'));
    const second = await serviceThat((response) => response.end(INSIDE), '127.0.0.2', first.port);
    const asked: string[] = [];
    const answer = await ask(`http://depot.example:${first.port}/`, {
      allow: [`depot.example:${first.port}`],
      resolve: async (name) => {
        asked.push(name);
        return asked.length === 1 ? ['127.0.0.1'] : ['127.0.0.2'];
      },
    });
    expect(textOf(answer)).toBe('checked');
    expect(asked).toEqual(['depot.example']);
    expect(second.received).toEqual([]);
    expect(first.received[0]?.headers.host).toBe(`depot.example:${first.port}`);
  });

  it('a name is resolved and checked anew on every hop', async () => {
    const inside = await insider();
    const start = await redirecting(`http://rebound.example:${inside.port}/`);
    const asked: string[] = [];
    const answer = await ask(`http://start.example:${start.port}/`, {
      allow: [`start.example:${start.port}`],
      resolve: async (name) => {
        asked.push(name);
        return ['127.0.0.1'];
      },
    });
    expect(answer).toMatchObject({
      kind: 'lost',
      reason: expect.stringContaining('rebound.example'),
    });
    expect(asked).toEqual(['start.example', 'rebound.example']);
    expect(inside.received).toEqual([]);
  });

  it('a name nobody knows is told as such', async () => {
    const resolve = async (): Promise<readonly string[]> => {
      throw new Error('getaddrinfo ENOTFOUND');
    };
    expect(await ask('http://depot.example/', { resolve })).toEqual({
      kind: 'unsent',
      reason: 'the name of the host depot.example was not resolved',
    });
  });

  it('a resolver that never answers does not outlast the time', async () => {
    const resolve = (): Promise<readonly string[]> => new Promise(() => {});
    expect(await ask('http://depot.example/', { resolve, timeoutMs: 30 })).toEqual({
      kind: 'unsent',
      reason: 'no full answer within 30 ms',
    });
  });
});

describe('redirects', () => {
  it.each([
    'http://169.254.169.254/latest/meta-data/',
    'http://[::ffff:127.0.0.1]:PORT/',
    'http://localhost:PORT/',
    'http://0x7f.1:PORT/',
  ])('one to %s is not followed', async (target) => {
    const inside = await insider();
    const start = await redirecting(target.replace('PORT', String(inside.port)));
    const answer = await ask(`http://127.0.0.1:${start.port}/`, { allow: [`127.0.0.1:${start.port}`] });
    expect(answer).toMatchObject({
      kind: 'lost',
      reason: expect.stringContaining('is on no public network'),
    });
    expect(textOf(answer)).not.toContain('harbour');
    expect(inside.received).toEqual([]);
  });

  it('one to another origin carries neither credentials nor signature, and one to the same origin does', async () => {
    const end = await serviceThat((response) => response.end('end'));
    const start = await serviceThat((response, { url }) => {
      const location = url === '/' ? '/again' : `http://127.0.0.1:${end.port}/end`;
      response.writeHead(307, { location }).end();
    });
    const answer = await ask(
      `http://127.0.0.1:${start.port}/`,
      { allow: ['127.0.0.1'] },
      {
        method: 'POST',
        body: '{"a":1}',
        headers: { 'x-plain': 'yes' },
        credentials: { authorization: 'Bearer k', 'Turnwright-Signature': 's' },
      },
    );
    expect(textOf(answer)).toBe('end');
    expect(start.received.map(({ headers }) => headers.authorization)).toEqual(['Bearer k', 'Bearer k']);
    expect(end.received).toHaveLength(1);
    expect(end.received[0]).toMatchObject({ method: 'POST', body: '{"a":1}' });
    expect(end.received[0]?.headers).toMatchObject({ 'x-plain': 'yes', host: `127.0.0.1:${end.port}` });
    expect(end.received[0]?.headers.authorization).toBeUndefined();
    expect(end.received[0]?.headers['turnwright-signature']).toBeUndefined();
  });

  it('credentials stay dropped when a redirect leads back', async () => {
    const back: { port: number } = { port: 0 };
    const away = await serviceThat((response) =>
      response.writeHead(302, { location: `http://127.0.0.1:${back.port}/back` }).end(),
    );
    const start = await serviceThat((response, { url }) => {
      if (url === '/back') response.end('back');
      else response.writeHead(302, { location: `http://127.0.0.1:${away.port}/` }).end();
    });
    back.port = start.port;
    const credentials = { authorization: 'Bearer k' };
    const answer = await ask(`http://127.0.0.1:${start.port}/`, { allow: ['127.0.0.1'] }, { credentials });
    expect(textOf(answer)).toBe('back');
    expect(start.received.map(({ headers }) => headers.authorization)).toEqual(['Bearer k', undefined]);
  });

  it('three are followed and a circle ends', async () => {
    const circle = await redirecting('/again');
    const answer = await ask(`http://127.0.0.1:${circle.port}/`, { allow: ['127.0.0.1'] });
    expect(answer).toEqual({ kind: 'lost', reason: 'it redirects more than 3 times' });
    expect(circle.received).toHaveLength(4);
  });
});

describe('limits', () => {
  it('an answer is read up to its limit, whatever its length says, and is marked as cut', async () => {
    const service = await serviceThat((response) => {
      const write = (): void => {
        while (!response.destroyed && response.write('x'.repeat(65_536)));
        if (!response.destroyed) response.once('drain', write);
      };
      write();
    });
    const answer = await ask(`http://127.0.0.1:${service.port}/`, { allow: ['127.0.0.1'] });
    expect(answer).toMatchObject({ kind: 'answered', cut: true });
    expect(textOf(answer)).toBe('x'.repeat(10_000));
  });

  it('an answer of exactly the limit is whole', async () => {
    const service = await serviceThat((response) => response.end('x'.repeat(10_000)));
    const answer = await ask(`http://127.0.0.1:${service.port}/`, { allow: ['127.0.0.1'] });
    expect(answer).toMatchObject({ kind: 'answered', cut: false });
    expect(textOf(answer)).toHaveLength(10_000);
  });

  it('an answer whose connection closes behind it is whole, however it comes in', async () => {
    const body = 'x'.repeat(200_000);
    const raw = `HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n${body}`;
    const port = await socketThatSays(raw);
    const lengths = new Set<number>();
    for (let round = 0; round < 100; round++) {
      const answer = await ask(`http://127.0.0.1:${port}/`, {
        allow: ['127.0.0.1'],
        maxResponseBytes: 1_000_000,
      });
      lengths.add(textOf(answer).length);
    }
    expect([...lengths]).toEqual([body.length]);
  });

  it('compressed content, which could hold any amount, is neither asked for nor taken', async () => {
    const service = await serviceThat((response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end('bomb'),
    );
    const answer = await ask(`http://127.0.0.1:${service.port}/`, { allow: ['127.0.0.1'] });
    expect(answer).toMatchObject({ kind: 'lost', reason: expect.stringContaining('compressed') });
    expect(service.received[0]?.headers['accept-encoding']).toBe('identity');
  });

  it.each([
    ['never answers', () => {}],
    [
      'sends a byte at a time for ever',
      (response: Parameters<Parameters<typeof serviceThat>[0]>[0]) => {
        const timer = setInterval(() => response.write('.'), 5);
        response.on('close', () => clearInterval(timer));
      },
    ],
  ])('a service that %s is left when the time is up', async (_how, respond) => {
    const service = await serviceThat(respond);
    const answer = await ask(`http://127.0.0.1:${service.port}/`, { allow: ['127.0.0.1'], timeoutMs: 150 });
    expect(answer).toEqual({ kind: 'lost', reason: 'no full answer within 150 ms' });
  });

  it('the time counts for all hops together', async () => {
    const service = await serviceThat((response) => {
      setTimeout(() => response.writeHead(302, { location: '/again' }).end(), 80);
    });
    const answer = await ask(`http://127.0.0.1:${service.port}/`, { allow: ['127.0.0.1'], timeoutMs: 120 });
    expect(answer).toEqual({ kind: 'lost', reason: 'no full answer within 120 ms' });
  });

  it('an aborted request ends at once, and one aborted before is not sent', async () => {
    const service = await serviceThat(() => stop.abort());
    const stop = new AbortController();
    const url = `http://127.0.0.1:${service.port}/`;
    const guard = { allow: ['127.0.0.1'], signal: stop.signal };
    expect(await ask(url, guard)).toEqual({ kind: 'lost', reason: 'it was stopped' });
    expect(await ask(url, guard)).toEqual({ kind: 'unsent', reason: 'it was stopped' });
    expect(service.received).toHaveLength(1);
  });

  it('headers of megabytes are refused', async () => {
    const port = await socketThatSays(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(2_000_000)}\r\n\r\n`);
    const answer = await ask(`http://127.0.0.1:${port}/`, { allow: ['127.0.0.1'] });
    expect(answer).toMatchObject({ kind: 'lost', reason: expect.stringContaining('headers') });
  });

  it.each([
    ['no HTTP', 'SSH-2.0-OpenSSH_9.6\r\n', /valid HTTP/u],
    ['less than it announced', 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nshort', /broke/u],
    ['a change of protocol', 'HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n', /broke/u],
    ['nothing', '', /broke/u],
  ])('a service that says %s gave no answer', async (_what, said, reason) => {
    const port = await socketThatSays(said);
    const answer = await ask(`http://127.0.0.1:${port}/`, { allow: ['127.0.0.1'] });
    expect(answer).toMatchObject({ kind: 'lost', reason: expect.stringMatching(reason) });
    expect(textOf(answer)).not.toMatch(/SSH|127\.0\.0\.1|short/u);
  });

  it('a connection that is refused was never sent, and the reason names no address', async () => {
    const closed = await socketThatSays('', true);
    const answer = await ask(`http://127.0.0.1:${closed}/`, { allow: ['127.0.0.1'] });
    expect(answer).toEqual({ kind: 'unsent', reason: 'the connection was refused' });
  });

  it('a header that would break the request is refused before it is sent', async () => {
    const service = await insider();
    const credentials = { authorization: 'a\r\nx-injected: 1' };
    const answer = await ask(`http://127.0.0.1:${service.port}/`, { allow: ['127.0.0.1'] }, { credentials });
    expect(answer).toMatchObject({ kind: 'unsent' });
    expect(textOf(answer)).not.toContain('injected');
    expect(service.received).toEqual([]);
  });
});

/** A port whose connections are told one thing and ended; with `closed`, one that nobody listens on any more. */
async function socketThatSays(said: string, closed = false): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end(said));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const close = (): Promise<void> => new Promise((resolve) => server.close(() => resolve()));
  if (closed) await close();
  else onTestFinished(close);
  return typeof address === 'object' && address !== null ? address.port : 0;
}
