import { request } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startApi } from '../../../src/api/app.ts';
import { type JobRef, jobId, POOL_QUEUE_NAMES, type Pool } from '../../../src/queues/index.ts';
import { until } from '../../support/await.ts';
import { type ApiStack, openApiStack, send } from './api-stack.ts';

const FILES = { 'harbour.md': '# Harbour\n\nThe harbour master of Elmouth is Ida Brandt.\n' };
const QUESTION = 'Who is the harbour master of Elmouth? Look into harbour.md.';
const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin' };

describe.each(['postgres', 'redis'] as const)('the board on %s', (backend) => {
  let api: ApiStack;
  beforeEach(async () => {
    api = await openApiStack({ backend, files: FILES });
  });
  afterEach(() => api.close());

  const jobsOf = async (pool: Pool, status: string) => {
    const { body } = await send(
      api.url,
      'GET',
      `/board/api/queues?activeQueue=${POOL_QUEUE_NAMES[pool]}&status=${status}`,
      {},
    );
    const queue = body.queues.find((each: { name: string }) => each.name === POOL_QUEUE_NAMES[pool]);
    return queue.jobs as readonly {
      readonly id: string;
      readonly data: JobRef;
      readonly failedReason?: string;
      readonly externalUrl?: { readonly displayText: string; readonly href: string };
    }[];
  };
  const press = (pool: Pool, id: string, headers: Record<string, string> = SAME_ORIGIN) =>
    send(api.url, 'PUT', `/board/api/queues/${POOL_QUEUE_NAMES[pool]}/${encodeURIComponent(id)}/retry`, {
      headers,
    });

  /** The first step's job fails before it claims its row, as it does when the database is away for a moment. */
  async function failedStep(): Promise<{ readonly turn: string; readonly id: string }> {
    const broken = await api.services.queue.work('step', {
      concurrency: 1,
      handle: async () => {
        throw new Error('the disk is on fire');
      },
      onError: () => {},
    });
    const turn = await api.turn(await api.session({ leg: 'sim-large', tools: ['read'] }), {
      input: QUESTION,
    });
    await until('the job failed', async () => (await jobsOf('step', 'failed')).length === 1);
    await broken.close(1_000);
    const [job] = await jobsOf('step', 'failed');
    return { turn, id: job?.id ?? '' };
  }

  it('shows a page of its own scripts and every pool', async () => {
    const page = await send(api.url, 'GET', '/board', {});
    expect(page.status).toBe(200);
    expect(page.headers.get('content-security-policy')).toContain("script-src 'self'");
    expect(page.headers.get('x-frame-options')).toBe('DENY');
    const scripts = [...(page.body as string).matchAll(/(?:src|href)="(static\/[^"]+\.(?:js|css))"/gu)];
    expect(scripts.length).toBeGreaterThan(2);
    for (const [, path] of scripts)
      expect((await send(api.url, 'GET', `/board/${path}`, {})).status).toBe(200);
    const { body } = await send(api.url, 'GET', '/board/api/queues', {});
    expect(body.queues.map((queue: { name: string }) => queue.name).sort()).toEqual(
      Object.values(POOL_QUEUE_NAMES).sort(),
    );
  });

  it('RUN-13 a retry pressed on a failed job runs it, when its row still waits', async () => {
    const { turn, id } = await failedStep();
    const [job] = await jobsOf('step', 'failed');
    expect(job?.failedReason).toContain('the disk is on fire');
    expect(Object.keys(job?.data ?? {}).sort()).toEqual(['actor', 'child', 'dispatch', 'session', 'tenant']);
    // Without a sweep nothing but the button brings the job back.
    await api.stack.worker({ sweeps: false });
    expect((await press('step', id)).status).toBeLessThan(300);
    const closed = await api.closed(turn);
    expect(closed).toMatchObject({ outcome: 'completed' });
    expect(closed.answer).toContain('Ida Brandt');
  });

  it('RUN-11 a job of a turn links to the page that says why the turn stands where it stands', async () => {
    const { turn } = await failedStep();
    const [job] = await jobsOf('step', 'failed');
    expect(job?.externalUrl).toEqual({ displayText: 'Why', href: `/board/why/${api.stack.tenant}/${turn}` });
    await api.stack.sql(`UPDATE turnwright.side_calls SET last_error = $2 WHERE actor_id = $1`, [
      turn,
      'internal: <script>alert("x")</script>',
    ]);
    const page = await send(api.url, 'GET', job?.externalUrl?.href ?? '', {});
    expect(page.status).toBe(200);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.headers.get('content-security-policy')).toContain("script-src 'self'");
    expect(page.body).toMatch(/<li>T1 has been stepping for .*<\/li>/u);
    expect(page.body).toContain('step-1 was handed to the queue');
    expect(page.body).toContain('&lt;script&gt;');
    expect(page.body).not.toContain('<script');
    expect(page.body).toContain('href="/board"');
    for (const pool of ['probe', 'upkeep'] as const) {
      const ref = { tenant: api.stack.tenant, session: turn, actor: turn, child: 'fold', dispatch: 1 };
      await api.services.queue.admit(pool, [{ ref, priority: 0 }]);
      const [other] = await jobsOf(pool, 'waiting');
      expect([other?.id, other?.externalUrl]).toEqual([jobId(ref), undefined]);
    }
    await api.services.queue
      .queues()
      .get('step')
      ?.add('foreign', { not: 'ours' } as never);
    const foreign = (await jobsOf('step', 'waiting')).find(
      (each) => each.externalUrl?.displayText === 'No turn',
    );
    expect(foreign?.externalUrl?.href).toBe('/board');
  });

  it('RUN-03 a retry pressed on a job whose row has moved on changes nothing', async () => {
    const { turn, id } = await failedStep();
    // The sweep hands the row over anew, under the next dispatch number.
    await api.stack.worker();
    const closed = await api.closed(turn);
    const state = () =>
      api.stack.sql(
        `SELECT (SELECT count(*) FROM turnwright.records) AS records, (SELECT sum(revision) FROM turnwright.actors) AS revisions,
          (SELECT count(*) FROM turnwright.outbox) AS outbox`,
      );
    await until(
      'the probe and the folding are done',
      async () => {
        const [open] = await api.stack.sql<{ count: number }>(
          `SELECT ((SELECT count(*) FROM turnwright.actors WHERE status <> 'done' OR NOT compacted)
          + (SELECT count(*) FROM turnwright.outbox))::integer AS count`,
        );
        return open?.count === 0;
      },
      30_000,
    );
    const calls = api.stack.sim.calls().length;
    const before = await state();
    const done = (await jobsOf('step', 'completed')).filter((job) => job.data.actor === turn);
    expect(done.length).toBeGreaterThan(0);
    expect((await press('step', id)).status).toBeLessThan(300);
    for (const job of done) expect((await press('step', job.id)).status).toBeLessThan(300);
    await until('every pressed job has run again', async () => {
      const completed = (await jobsOf('step', 'completed')).map((job) => job.id);
      return [id, ...done.map((job) => job.id)].every((each) => completed.includes(each));
    });
    expect(await state()).toEqual(before);
    expect(api.stack.sim.calls()).toHaveLength(calls);
    expect(await api.closed(turn)).toEqual(closed);
    expect(jobId(done[0]?.data as JobRef)).toBe(done[0]?.id);
  });

  it('lets no other page change anything', async () => {
    const { id } = await failedStep();
    const origin = new URL(api.url).origin;
    const refused = [
      {},
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site', origin },
      { origin: 'https://evil.example' },
      { origin: 'null' },
    ];
    for (const headers of refused) {
      const answer = await press('step', id, headers);
      expect([headers, answer.status, answer.body.error.code]).toEqual([headers, 403, 'forbidden']);
    }
    expect(await jobsOf('step', 'failed')).toHaveLength(1);
    expect((await press('step', id, { origin })).status).toBeLessThan(300);
    await until('the job left the failed', async () => (await jobsOf('step', 'failed')).length === 0);
  });
});

describe('who may see the board', () => {
  let api: ApiStack;
  beforeEach(async () => {
    api = await openApiStack({ backend: 'postgres' });
  });
  afterEach(() => api.close());

  it('answers to this machine’s own names alone on a loopback listener', async () => {
    const statusFor = (host: string, path = '/board/api/queues') =>
      new Promise<number>((resolve, reject) => {
        const { port } = new URL(api.url);
        const asked = request({ host: '127.0.0.1', port, path, headers: { host } }, (response) => {
          response.resume();
          response.on('end', () => resolve(response.statusCode ?? 0));
        });
        asked.on('error', reject);
        asked.end();
      });
    expect(await statusFor('localhost:4080')).toBe(200);
    expect(await statusFor('[::1]')).toBe(200);
    expect(await statusFor('rebound.example')).toBe(403);
    expect(await statusFor('rebound.example', `/board/why/${api.stack.tenant}/${api.stack.tenant}`)).toBe(
      403,
    );
    expect(await statusFor('127.0.0.1.evil.example')).toBe(403);
  });

  it('asks for an admin key when the listener is open to others, in the way browsers ask', async () => {
    const open = await startApi(api.services, { host: '0.0.0.0', port: 0 });
    try {
      const url = open.url.replace('0.0.0.0', '127.0.0.1');
      const basic = (key: string) => ({
        authorization: `Basic ${Buffer.from(`anyone:${key}`).toString('base64')}`,
      });
      const bare = await send(url, 'GET', '/board', {});
      expect([bare.status, bare.headers.get('www-authenticate')]).toEqual([
        401,
        'Basic realm="turnwright board", charset="UTF-8"',
      ]);
      const turn = await api.turn(await api.session(), { input: QUESTION });
      const why = `/board/why/${api.stack.tenant}/${turn}`;
      for (const path of ['/board/api/queues', '/board/queue/turnwright-step', why])
        expect((await send(url, 'GET', path, {})).status).toBe(401);
      const reader = await api.keyOf(['turns:read', 'turns:write', 'content']);
      for (const path of ['/board', why])
        expect((await send(url, 'GET', path, { headers: basic(reader) })).status).toBe(403);
      const admin = await api.keyOf(['admin']);
      expect((await send(url, 'GET', why, { headers: basic(admin) })).body).toContain('T1 has been stepping');
      for (const path of [`/board/why/${turn}/${turn}`, '/board/why/a/b']) {
        const missing = await send(url, 'GET', path, { headers: basic(admin) });
        expect([path, missing.status, missing.body.error.code]).toEqual([path, 404, 'turn_not_found']);
      }
      const shown = await send(url, 'GET', '/board', { headers: basic(admin) });
      expect([shown.status, shown.headers.get('www-authenticate')]).toEqual([200, null]);
    } finally {
      await open.close();
    }
  });
});
