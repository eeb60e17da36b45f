import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildApi, startApi } from '../../../src/api/app.ts';
import { openServices } from '../../../src/app/services.ts';
import { createKey, listKeys, revokeKey } from '../../../src/db/keys.ts';
import { ERROR_CATALOGUE } from '../../../src/ledger/errors.ts';
import { until } from '../../support/await.ts';
import { type ApiStack, openApiStack, send } from './api-stack.ts';

describe('the HTTP surface', () => {
  let api: ApiStack;
  let session: string;
  beforeAll(async () => {
    api = await openApiStack({ backend: 'postgres' });
    session = await api.session();
  });
  afterAll(() => api.close());

  describe('keys', () => {
    it.each([
      ['none', null, {}],
      ['one that is no key', 'tw_short', {}],
      ['one of another scheme', null, { authorization: 'Token abc' }],
      ['one nobody made', `tw_${'A'.repeat(64)}`, {}],
    ])('answers 401 to %s', async (_what, key, headers) => {
      const answer = await api.call('GET', `/v1/sessions/${session}`, { key, headers });
      expect([answer.status, answer.body.error.code]).toEqual([401, 'unauthorized']);
      expect(answer.headers.get('www-authenticate')).toContain('Bearer');
    });

    it('answers 401 to a key whose secret is wrong by one bit, on every place of it', async () => {
      for (let at = 25; at < api.key.length; at += 7) {
        const other = api.key[at] === 'A' ? 'B' : 'A';
        const key = `${api.key.slice(0, at)}${other}${api.key.slice(at + 1)}`;
        expect([at, (await api.call('GET', '/v1/sessions', { key })).status]).toEqual([at, 401]);
      }
    });

    it('answers 403 to a key without the scope, and names it', async () => {
      const readOnly = await api.keyOf(['turns:read']);
      const refused = await api.call('POST', `/v1/sessions/${session}/turns`, {
        key: readOnly,
        json: { input: 'x' },
      });
      expect([refused.status, refused.body.error.code]).toEqual([403, 'forbidden']);
      expect(refused.body.error.message).toContain('turns:write');
      expect((await api.call('GET', `/v1/sessions/${session}`, { key: readOnly })).status).toBe(200);
      const writeOnly = await api.keyOf(['turns:write']);
      expect((await api.call('GET', '/v1/sessions', { key: writeOnly })).status).toBe(403);
    });

    it('stores no key as text, and stops taking one within seconds of its revocation', async () => {
      const { pool } = api.services;
      const { key, keyId } = await createKey(pool, api.stack.tenant, {
        name: 'short-lived',
        scopes: ['turns:read'],
      });
      const stored = await api.stack.sql<{ row: string }>(`SELECT k::text AS row FROM turnwright.api_keys k`);
      expect(stored.some(({ row }) => row.includes(key) || row.includes(key.slice(3)))).toBe(false);
      expect((await api.call('GET', '/v1/sessions', { key })).status).toBe(200);
      expect(await revokeKey(pool, api.stack.tenant, keyId)).toBe(true);
      expect(await revokeKey(pool, api.stack.tenant, keyId)).toBe(false);
      const startedMs = performance.now();
      await until(
        'the key is refused',
        async () => (await api.call('GET', '/v1/sessions', { key })).status === 401,
      );
      expect(performance.now() - startedMs).toBeLessThan(15_000);
      const listed = await listKeys(pool, api.stack.tenant);
      expect(listed.find((each) => each.keyId === keyId)?.revokedAt).toBeInstanceOf(Date);
    });

    it('takes no key that has expired', async () => {
      const { pool } = api.services;
      const expiresAt = new Date(Date.now() - 60_000);
      const { key } = await createKey(pool, api.stack.tenant, {
        name: 'old',
        scopes: ['turns:read'],
        expiresAt,
      });
      expect((await api.call('GET', '/v1/sessions', { key })).status).toBe(401);
    });

    it('makes no key without scopes, or with one that does not exist', async () => {
      const { pool } = api.services;
      const make = (scopes: readonly never[]) => createKey(pool, api.stack.tenant, { name: 'x', scopes });
      await expect(make([])).rejects.toThrow(/found none/u);
      await expect(make(['root' as never])).rejects.toThrow(/found root/u);
    });
  });

  describe('failures', () => {
    const post = (sent: Parameters<ApiStack['call']>[2]) =>
      api.call('POST', `/v1/sessions/${session}/turns`, sent);
    const json = { 'content-type': 'application/json' };

    it.each([
      ['half of JSON', '{"input":', 400, 'invalid_request'],
      ['JSON that is no object', '7', 400, 'invalid_request'],
      ['null', 'null', 400, 'invalid_request'],
      ['bytes that are no text', new Uint8Array([0xff, 0xfe, 0x00]), 400, 'invalid_request'],
      ['a key that would reach a prototype', '{"input":"x","__proto__":{"a":1}}', 400, 'invalid_request'],
      [
        'nesting beyond reason',
        `{"input":"x","metadata":{"a":${'['.repeat(50_000)}${']'.repeat(50_000)}}}`,
        400,
        'invalid_request',
      ],
      ['a number beyond reason', '{"input":"x","priority":1e400}', 400, 'invalid_request'],
      ['nothing', '', 400, 'invalid_request'],
    ] as const)('answers %s with a clear refusal', async (_what, raw, status, code) => {
      const answer = await post({ raw, headers: json });
      expect([answer.status, answer.body.error.code]).toEqual([status, code]);
      expect(answer.body.error.message.length).toBeGreaterThan(20);
    });

    it('refuses a body beyond the limit, and says the limit', async () => {
      const answer = await post({ raw: JSON.stringify({ input: 'x'.repeat(1_100_000) }), headers: json });
      expect([answer.status, answer.body.error.code]).toEqual([413, 'body_too_large']);
      expect(answer.body.error.message).toContain('1048576');
    });

    it.each(['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data; boundary=x'])(
      'refuses a body of type %s',
      async (type) => {
        const answer = await post({ raw: '{"input":"x"}', headers: { 'content-type': type } });
        expect([answer.status, answer.body.error.code]).toEqual([415, 'unsupported_media_type']);
      },
    );

    it('refuses a body where none belongs, and takes an empty one', async () => {
      const turn = await api.turn(await api.session(), { input: 'x' });
      const refused = await api.call('POST', `/v1/turns/${turn}/cancel`, { json: { now: true } });
      expect([refused.status, refused.body.error.code]).toEqual([400, 'invalid_request']);
      const taken = await api.call('POST', `/v1/turns/${turn}/cancel`, { raw: '', headers: json });
      expect(taken.status).toBe(200);
    });

    it.each(['/', '/v1', '/v2/sessions', '/v1/sessions/x/y/z', '/healthz/', '/%zz', '/v1/turns//events'])(
      'answers the path %s with an error of the same shape',
      async (path) => {
        const { status, body } = await send(api.url, 'GET', path, { key: api.key });
        expect([400, 404]).toContain(status);
        expect(Object.keys(ERROR_CATALOGUE)).toContain(body.error.code);
        expect(JSON.stringify(body)).not.toMatch(/\bat .*\.ts|node_modules/u);
      },
    );

    it('answers what is no HTTP with an error, and goes on', async () => {
      const { port, hostname } = new URL(api.url);
      const answer = await new Promise<string>((resolve, reject) => {
        let text = '';
        const socket = connect(Number(port), hostname, () =>
          socket.write('GET / HTTP/9.9\r\n\u0000\r\n\r\n'),
        );
        socket.on('data', (chunk) => {
          text += chunk;
        });
        socket.on('close', () => resolve(text));
        socket.on('error', reject);
      });
      expect(answer).toContain('"invalid_request"');
      expect((await api.call('GET', '/healthz')).status).toBe(200);
    });

    it('answers every method it does not know with not_found', async () => {
      for (const method of ['PUT', 'PATCH', 'DELETE']) {
        const { status, body } = await send(api.url, method, '/v1/legs', { key: api.key });
        expect([method, status, body.error.code]).toEqual([method, 404, 'not_found']);
      }
    });
  });

  it('tells browsers nothing may be sniffed, framed, stored or loaded, on every kind of answer', async () => {
    const answers = [
      await api.call('GET', '/healthz'),
      await api.call('GET', `/v1/sessions/${session}`),
      await api.call('GET', '/v1/sessions', { key: null }),
      await send(api.url, 'GET', '/nowhere', {}),
    ];
    for (const { headers } of answers) {
      expect(headers.get('x-content-type-options')).toBe('nosniff');
      expect(headers.get('x-frame-options')).toBe('DENY');
      expect(headers.get('cache-control')).toBe('no-store');
      expect(headers.get('content-security-policy')).toContain("default-src 'none'");
      expect(headers.get('x-powered-by')).toBeNull();
    }
  });

  it('documents exactly the routes that are registered, with every scope and status', async () => {
    const registered: string[] = [];
    const app = await buildApi({ services: api.services, tools: [], loopback: true });
    await app.ready();
    const tree = app.printRoutes({ commonPrefix: false });
    await app.close();
    const stack: string[] = [];
    for (const line of tree.split('\n')) {
      const match = /^((?:[│ ] {3})*)[├└]── (\S+) \(([^)]+)\)/u.exec(line);
      if (match === null) continue;
      const depth = (match[1] ?? '').length / 4;
      stack.length = depth;
      stack.push(match[2] ?? '');
      const path = stack.join('');
      if (!path.startsWith('/board'))
        for (const method of (match[3] ?? '').split(', ')) registered.push(`${method} ${path}`);
    }
    const { body } = await api.call('GET', '/openapi.json');
    const documented = Object.entries(body.paths as Record<string, Record<string, unknown>>).flatMap(
      ([path, operations]) =>
        Object.keys(operations).map(
          (method) => `${method.toUpperCase()} ${path.replaceAll(/\{(\w+)\}/gu, ':$1')}`,
        ),
    );
    expect(registered.sort()).toEqual(documented.sort());
    expect(documented.length).toBeGreaterThan(15);
    expect(body.openapi).toBe('3.1.0');
  });

  it('says it lives and is ready', async () => {
    expect((await api.call('GET', '/healthz', { key: null })).body).toEqual({ status: 'ok' });
    expect((await api.call('GET', '/readyz', { key: null })).body).toMatchObject({ status: 'ready' });
  });

  it('is not ready while the schema is older than the program', async () => {
    const change = (by: number) =>
      api.stack.sql('UPDATE turnwright_migrations.migrations SET created_at = created_at + $1', [by]);
    await change(-1_000_000_000);
    const { status, body } = await api.call('GET', '/readyz');
    await change(1_000_000_000);
    expect([status, body.error.code]).toEqual([503, 'migration_required']);
    expect(body.error.message).toContain('turnwright migrate');
    expect((await api.call('GET', '/readyz')).status).toBe(200);
  });
});

describe('a deployment with limits', () => {
  it('answers a key that asks too much with 429 and when to come back, and no other key', async () => {
    const api = await openApiStack({ backend: 'postgres' }, { keyBurst: 5, keyPerSecond: 0.5 });
    try {
      const other = await api.keyOf(['turns:read']);
      const answers = [];
      for (let n = 0; n < 8; n++) answers.push(await api.call('GET', '/v1/legs'));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 429, 429, 429]);
      expect(Number(answers.at(-1)?.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expect(answers.at(-1)?.body.error.code).toBe('rate_limited');
      expect((await api.call('GET', '/v1/legs', { key: other })).status).toBe(200);
    } finally {
      await api.close();
    }
  });
});

describe('a database that is away', () => {
  it('is answered with 503 and Retry-After, never a stack, and the process lives', async () => {
    const api = await openApiStack({ backend: 'postgres' });
    const away = openServices(
      { ...api.services.config, databaseUrl: 'postgres://nobody:s3cretpw@127.0.0.1:1/nowhere' },
      api.services.logger,
    );
    const server = await startApi(away, { host: '127.0.0.1', port: 0 });
    try {
      for (const path of ['/readyz', '/v1/sessions', '/metrics']) {
        const { status, body, headers } = await send(server.url, 'GET', path, { key: api.key });
        expect([path, status, body.error.code]).toEqual([path, 503, 'database_unreachable']);
        expect(headers.get('retry-after')).toBe('1');
        expect(JSON.stringify(body)).not.toMatch(/s3cretpw|node_modules/u);
      }
      expect((await send(server.url, 'GET', '/healthz', {})).status).toBe(200);
    } finally {
      await server.close();
      await server.close();
      await away.close();
      await api.close();
    }
  });

  it('says which port is taken when it cannot listen', async () => {
    const api = await openApiStack({ backend: 'postgres' });
    try {
      const port = Number(new URL(api.url).port);
      await expect(startApi(api.services, { host: '127.0.0.1', port })).rejects.toThrow(
        new RegExp(`127\\.0\\.0\\.1:${port}: another process`, 'u'),
      );
      expect((await api.call('GET', '/healthz')).status).toBe(200);
    } finally {
      await api.close();
    }
  });
});
