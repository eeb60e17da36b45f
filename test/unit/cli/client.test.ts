import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Fetch, Turnwright, TurnwrightApiError } from '../../../src/client/index.ts';

interface Sent {
  readonly url: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** Answers requests in order; an `Error` is a connection that breaks. The last answer stands for all that follow. */
function server(answers: readonly (Response | Error | ((sent: Sent) => Response))[]) {
  const sent: Sent[] = [];
  const fetch: Fetch = async (url, init) => {
    const request: Sent = {
      url,
      method: init.method ?? 'GET',
      headers: { ...(init.headers as Record<string, string>) },
      body: typeof init.body === 'string' ? JSON.parse(init.body) : undefined,
    };
    sent.push(request);
    const answer = answers[Math.min(sent.length, answers.length) - 1];
    if (answer === undefined || answer instanceof Error) throw answer ?? new Error('nobody is there');
    return typeof answer === 'function' ? answer(request) : answer.clone();
  };
  return { sent, client: new Turnwright({ url: 'http://server/base/', key: 'tw_key', fetch }) };
}

function json(value: unknown, status = 200): Response {
  return new Response(JSON.stringify(value), { status, headers: { 'content-type': 'application/json' } });
}

/** A stream that ends, or breaks, after what it holds. */
function stream(text: string, breaks = false): Response {
  const bytes = new TextEncoder().encode(text);
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      if (bytes.length > 0 && controller.desiredSize !== null && !served.done) {
        served.done = true;
        controller.enqueue(bytes);
      } else if (breaks) controller.error(new Error('reset'));
      else controller.close();
    },
  });
  const served = { done: false };
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
}

const LEDGER = [
  'turn.accepted',
  'turn.reading',
  'turn.plan',
  'step.completed',
  'tool.completed',
  'step.completed',
  'turn.completed',
].map((type, index) => ({ id: 10 + index, type }));

/** What the server sends from `lastId` on, up to `until` events of the ledger, with live frames between. */
function eventsAfter(lastId: string | undefined, until: number): string {
  const from = lastId === undefined ? 0 : Number.parseInt(lastId, 10);
  return LEDGER.filter(({ id }) => id > from)
    .slice(0, until)
    .map(
      ({ id, type }) =>
        `id: ${id}.1.1\nevent: step.delta\ndata: {"of":${id}}\n\nid: ${id}\nevent: ${type}\ndata: {}\n\n`,
    )
    .join('');
}

async function collect(events: AsyncIterable<{ readonly id: string; readonly type: string }>) {
  const all: { readonly id: string; readonly type: string }[] = [];
  for await (const event of events) all.push(event);
  return all;
}

describe('the client', () => {
  it('sends key, body and an idempotency key, and returns a handle', async () => {
    const { client, sent } = server([json({ turn: { id: 't1' } }, 202)]);
    const handle = await client.sessions.turn('s/1', 'hello', { priority: 3 });
    expect(handle.id).toBe('t1');
    expect(sent[0]).toMatchObject({ url: 'http://server/base/v1/sessions/s%2F1/turns', method: 'POST' });
    expect(sent[0]?.headers).toMatchObject({
      authorization: 'Bearer tw_key',
      'content-type': 'application/json',
    });
    expect(sent[0]?.headers['idempotency-key']).toMatch(/^[0-9a-f-]{36}$/);
    expect(sent[0]?.body).toEqual({ input: 'hello', priority: 3 });
  });

  it('RUN-11 asks why, and sends a key with a retry: the one it is given, else one of its own', async () => {
    const told = { turn: 't/1', sentences: ['It is not stuck.'] };
    const { client, sent } = server([json(told), json({ turn: { id: 't2' } }, 202)]);
    expect(await client.turns.why('t/1')).toEqual(told);
    const handle = client.turns.handle('t/1');
    expect(await handle.retry({ idempotencyKey: 'once' })).toEqual({ id: 't2' });
    await handle.retry();
    expect(sent.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET http://server/base/v1/turns/t%2F1/why',
      'POST http://server/base/v1/turns/t%2F1/retry',
      'POST http://server/base/v1/turns/t%2F1/retry',
    ]);
    expect(sent[1]?.headers['idempotency-key']).toBe('once');
    expect(sent[2]?.headers['idempotency-key']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('CAP-10 CST-01 asks for profiles, probes and usage, and leaves out what is not asked', async () => {
    const { client, sent } = server([json({})]);
    await client.profile('a/b');
    await client.profile('a', { actor: 'p1' });
    await client.probe('a', { force: true });
    await client.usage();
    await client.usage({ by: 'day', from: '2026-11-01', limit: 5 });
    expect(sent.map(({ method, url }) => `${method} ${url.slice('http://server/base'.length)}`)).toEqual([
      'GET /v1/legs/a%2Fb/profile',
      'GET /v1/legs/a/profile?actor=p1',
      'POST /v1/legs/a/probe',
      'GET /v1/usage',
      'GET /v1/usage?by=day&from=2026-11-01&limit=5',
    ]);
    expect(sent[2]?.body).toEqual({ force: true });
  });

  it('turns an error of the server into one of its own', async () => {
    const error = { code: 'turn_closed', message: 'It has ended.', details: { outcome: 'failed' } };
    const { client } = server([json({ error }, 409)]);
    const thrown: unknown = await client.turns
      .handle('t1')
      .cancel()
      .catch((caught: unknown) => caught);
    expect(thrown).toBeInstanceOf(TurnwrightApiError);
    expect(thrown).toMatchObject({ ...error, status: 409, retryable: false });
  });

  it('says so when the answer is no server’s of ours, and whether to try again', async () => {
    const { client } = server([new Response('<html>bad gateway</html>', { status: 502 })]);
    await expect(client.turns.get('t1')).rejects.toMatchObject({
      code: 'unexpected_answer',
      status: 502,
      retryable: true,
    });
  });

  it('names the address when nobody answers', async () => {
    const { client } = server([new Error('refused')]);
    await expect(client.turns.get('t1')).rejects.toMatchObject({
      code: 'server_unreachable',
      status: 0,
      retryable: true,
      message: expect.stringContaining('http://server/base'),
    });
  });

  it('refuses an address that is none', () => {
    expect(() => new Turnwright({ url: 'ftp://server', key: 'k' })).toThrow(
      'write a full http:// or https:// address',
    );
  });
});

describe('following a turn', () => {
  it('gives every durable event once and in order, wherever connections break', async () => {
    let breaks = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ until: fc.nat(3), breaks: fc.boolean() }), { maxLength: 4 }),
        async (connections) => {
          const { client } = server([
            ...connections.map(({ until, breaks: broken }) => ({ headers }: Sent) => {
              breaks += broken ? 1 : 0;
              return stream(eventsAfter(headers['last-event-id'], until), broken);
            }),
            ({ headers }: Sent) => stream(eventsAfter(headers['last-event-id'], LEDGER.length)),
          ]);
          const events = await collect(client.turns.handle('t1').events());
          const durable = events.filter(({ id }) => /^\d+$/.test(id));
          expect(durable.map(({ id, type }) => ({ id: Number(id), type }))).toEqual(LEDGER);
          const keys = events.map(({ id, type }) => `${id} ${type}`);
          expect(new Set(keys).size).toBe(keys.length);
        },
      ),
      { numRuns: 25 },
    );
    expect(breaks).toBeGreaterThan(5);
  }, 60_000);

  it('goes on after a given event', async () => {
    const { client, sent } = server([({ headers }) => stream(eventsAfter(headers['last-event-id'], 99))]);
    const events = await collect(client.turns.handle('t1').events({ after: '15' }));
    expect(sent[0]?.headers['last-event-id']).toBe('15');
    expect(events.at(-1)).toMatchObject({ id: '16', type: 'turn.completed' });
  });

  it('waits out a server that is away, and returns the turn at its end', async () => {
    const { client } = server([
      new Error('refused'),
      json({ error: { code: 'database_unreachable', message: 'away' } }, 503),
      stream(eventsAfter(undefined, 99)),
      json({ turn: { id: 't1', outcome: 'completed' } }),
    ]);
    expect(await client.turns.handle('t1').result()).toMatchObject({ outcome: 'completed' });
  });

  it('gives up at once where trying again cannot help, and after its patience elsewhere', async () => {
    const refused = server([json({ error: { code: 'turn_not_found', message: 'none' } }, 404)]);
    await expect(collect(refused.client.turns.handle('t1').events())).rejects.toMatchObject({
      code: 'turn_not_found',
    });
    expect(refused.sent).toHaveLength(1);
    const away = server([new Error('refused')]);
    const events = away.client.turns.handle('t1').events({ patienceMs: 50 });
    await expect(collect(events)).rejects.toMatchObject({ code: 'server_unreachable' });
    expect(away.sent.length).toBeGreaterThan(1);
  });

  it('ends with the caller’s own reason when it is told to stop', async () => {
    const stop = new AbortController();
    const { client } = server([new Error('refused')]);
    const events = collect(client.turns.handle('t1').events({ signal: stop.signal }));
    stop.abort(new Error('enough'));
    await expect(events).rejects.toThrow('enough');
  });
});
