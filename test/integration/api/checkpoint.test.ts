import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { MACHINES } from '../../../src/machines/registry.ts';
import { importLines } from '../../../src/runtime/checkpoint-import.ts';
import { BACKENDS } from '../../support/stack.ts';
import { heldTool, sayingTool } from '../../support/tools.ts';
import { type ApiStack, openApiStack } from './api-stack.ts';

const LINES = { 'content-type': 'application/x-ndjson' };
/** Over the 8 KiB that stand in the record's own row. */
const LONG = `The almanac says: ${'tide and weir and lamp. '.repeat(600)}`;

describe.each(BACKENDS)('checkpoints over HTTP on %s', (backend) => {
  const weir = heldTool('weir', 'read');
  const tools = [weir.tool, sayingTool('almanac', 'Says what stands in the almanac.', LONG)];
  let from: ApiStack;
  let to: ApiStack;
  beforeAll(async () => {
    [from, to] = await Promise.all([openApiStack({ backend, tools }), openApiStack({ backend, tools })]);
    await Promise.all([from.stack.worker(), to.stack.worker()]);
  });
  afterAll(() => Promise.all([from.close(), to.close()]));

  const create = (policy: string) => from.session({ leg: 'sim-large', policy: { name: policy } });
  const ask = async (api: ApiStack, id: string, input: string) => {
    const turn = await api.closed(await api.turn(id, { input }));
    expect(turn).toMatchObject({ outcome: 'completed' });
    return turn;
  };
  const get = async (api: ApiStack, path: string) => {
    const answer = await api.call('GET', path);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    return answer.body;
  };
  const exported = async (id: string): Promise<string> => {
    const answer = await from.call('GET', `/v1/sessions/${id}/export`);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, LINES['content-type']]);
    return answer.body;
  };
  const take = (raw: string, api = to, key = api.key) =>
    api.call('POST', '/v1/sessions/import', { raw, headers: LINES, key });
  const rows = async (api: ApiStack) => {
    const tables = ['sessions', 'records', 'bodies', 'turns', 'heads'];
    const counts = tables.map((table) => `(SELECT count(*)::integer FROM turnwright.${table}) AS ${table}`);
    // Events of ended turns are folded into one row each meanwhile.
    const actors = '(SELECT count(DISTINCT actor_id)::integer FROM turnwright.actor_events) AS actors';
    const [row] = await api.stack.sql(`SELECT ${[...counts, actors].join(', ')}`, []);
    return row;
  };
  /** What the next request would carry; how many tokens that is each deployment measures for itself. */
  const pieces = async (api: ApiStack, id: string) => {
    const plan = await get(api, `/v1/sessions/${id}/plan?text=${encodeURIComponent('What is my word?')}`);
    return plan.pieces.map(({ tokens: _, ...piece }: Readonly<Record<string, unknown>>) => piece);
  };
  const verified = (api: ApiStack, id: string) => get(api, `/v1/sessions/${id}/verify`);

  it.each(['plan', 'evict'])(
    'HED-02 under %s moves to an empty deployment, verifies, plans the same and goes on',
    async (policy) => {
      const id = await create(policy);
      const turns = [
        await ask(from, id, 'My word is heron.'),
        await ask(from, id, 'Call almanac {}'),
        await ask(from, id, 'What is my word?'),
      ];
      if (policy === 'evict')
        await from.call('POST', `/v1/sessions/${id}/evict`, { json: { from: 1, to: 2, note: 'heron' } });
      const text = await exported(id);
      const taken = await take(text);
      expect(taken.body).toMatchObject({ session: id, sessions: [{ session: id }] });
      expect(taken.status).toBe(201);
      expect(await verified(to, id)).toEqual(await verified(from, id));
      for (const { id: turn } of turns)
        expect(await get(to, `/v1/turns/${turn}`)).toEqual(await get(from, `/v1/turns/${turn}`));
      for (const path of ['', '/transcript', '/heads', '/presentations'])
        expect(await get(to, `/v1/sessions/${id}${path}`), path).toEqual(
          await get(from, `/v1/sessions/${id}${path}`),
        );
      expect(await pieces(to, id)).toEqual(await pieces(from, id));
      const rebuilt = await to.call('POST', `/v1/sessions/${id}/rebuild`);
      expect(rebuilt.body).toMatchObject({ differences: [] });
      // The same words next: what is sent before them is the same to the byte, in either deployment.
      const sent = await Promise.all(
        [from, to].map(async (api) => {
          const { id: turn, number } = await ask(api, id, 'What is my word?');
          const { request } = await get(api, `/v1/turns/${turn}/request?step=1`);
          return {
            number,
            system: request.system,
            tools: request.tools,
            before: request.messages.slice(0, -1),
          };
        }),
      );
      expect(sent[0]?.number).toBe(4);
      expect(sent[0]?.before.length).toBeGreaterThan(2);
      expect(sent[1]).toEqual(sent[0]);
      expect(await verified(to, id)).toMatchObject({ ok: true });
    },
  );

  it('HED-02 a fork of a fork brings what it goes on from, as far as it does, and no more', async () => {
    const first = await create('evict');
    await ask(from, first, 'My word is heron.');
    const fork = async (id: string) => (await from.call('POST', `/v1/sessions/${id}/fork`)).body.session.id;
    const second = await fork(first);
    await ask(from, first, 'My secret is amber.');
    await ask(from, second, 'My other word is stork.');
    const third = await fork(second);
    await ask(from, third, 'And my last word is crane.');
    const text = await exported(third);
    expect(text).toContain('heron');
    expect(text).not.toContain('amber');
    const taken = await take(text);
    expect(taken.body.sessions.map((one: { session: string }) => one.session)).toEqual([
      first,
      second,
      third,
    ]);
    for (const id of [first, second, third]) expect(await verified(to, id)).toMatchObject({ ok: true });
    expect(await get(to, `/v1/sessions/${third}/transcript`)).toEqual(
      await get(from, `/v1/sessions/${third}/transcript`),
    );
    const found = await to.call('POST', `/v1/sessions/${third}/transcript/grep`, {
      json: { pattern: 'word is', items: 'all' },
    });
    expect(found.body.total).toBeGreaterThan(2);
    // Another fork of what is here now brings only itself.
    const fourth = await fork(second);
    expect((await take(await exported(fourth))).body.sessions).toMatchObject([{ session: fourth }]);
    await ask(to, fourth, 'And now?');
  });

  it('HED-02 heads that were left come along, and can be taken up again', async () => {
    const id = await create('evict');
    await ask(from, id, 'My word is heron.');
    await ask(from, id, 'My secret is amber.');
    const before = (await get(from, `/v1/sessions/${id}/heads`)).heads[0].id;
    await from.call('POST', `/v1/sessions/${id}/checkout`, { json: { back: 1 } });
    await ask(from, id, 'My place is Tarvo.');
    expect((await take(await exported(id))).status).toBe(201);
    expect(await get(to, `/v1/sessions/${id}/heads`)).toEqual(await get(from, `/v1/sessions/${id}/heads`));
    await to.call('POST', `/v1/sessions/${id}/checkout`, { json: { head: before } });
    expect((await get(to, `/v1/sessions/${id}/transcript`)).items.at(-2).label).toContain('amber');
    expect(await verified(to, id)).toMatchObject({ ok: true });
  });

  it('HED-02 is refused where it is altered, cut off, or no checkpoint, and nothing is written', async () => {
    const id = await create('plan');
    await ask(from, id, 'My word is heron.');
    const text = await exported(id);
    const before = await rows(to);
    const lines = text.trimEnd().split('\n');
    for (const [bad, says] of [
      [text.replace('heron', 'stork'), 'its body was altered'],
      [lines.slice(0, -1).join('\n'), 'cut off'],
      [lines.toSpliced(3, 1).join('\n'), 'missing or out of order'],
      ['', 'found 0 lines'],
      ['{"a":1}\n', 'Line 1'],
    ]) {
      const answer = await take(bad ?? '');
      expect([answer.status, answer.body.error.code]).toEqual([400, 'checkpoint_refused']);
      expect(answer.body.error.message).toContain(says);
    }
    expect(await rows(to)).toEqual(before);
    expect((await take(text)).status).toBe(201);
  });

  it('HED-02 never writes over a session that is here', async () => {
    const id = await create('plan');
    await ask(from, id, 'My word is heron.');
    const text = await exported(id);
    expect((await take(text)).status).toBe(201);
    await ask(to, id, 'My word is stork.');
    const before = await rows(to);
    const again = await take(text);
    expect([again.status, again.body.error.code]).toEqual([409, 'session_exists']);
    expect(await rows(to)).toEqual(before);
    // A fork of it that knows another past of it is none of this session's.
    await ask(from, id, 'My secret is amber.');
    const fork = (await from.call('POST', `/v1/sessions/${id}/fork`)).body.session.id;
    const other = await take(await exported(fork));
    expect([other.status, other.body.error.code, other.body.error.details]).toEqual([
      409,
      'session_exists',
      { session: id },
    ]);
    expect(await rows(to)).toEqual(before);
  });

  it('HED-02 a turn that is open is no part of any checkpoint', async () => {
    const id = await create('plan');
    const turn = await from.turn(id, { input: 'Call weir {}' });
    const answer = await from.call('GET', `/v1/sessions/${id}/export`);
    expect([answer.status, answer.body.error.code, answer.body.error.details]).toEqual([
      409,
      'turn_running',
      { turn },
    ]);
    await from.call('POST', `/v1/turns/${turn}/cancel`);
    await from.closed(turn);
    expect((await take(await exported(id))).status).toBe(201);
    expect((await get(to, `/v1/turns/${turn}`)).turn).toMatchObject({ outcome: 'cancelled' });
  });

  it('HED-02 an import that broke off before its projections is not seen, and another one completes it', async () => {
    const id = await create('plan');
    await ask(from, id, 'My word is heron.');
    const text = await exported(id);
    const { checkpoints, store, upkeep } = to.services;
    const broken = new Proxy(upkeep, {
      get: (of, name) =>
        name === 'restore' ? () => Promise.reject(new Error('killed')) : Reflect.get(of, name),
    });
    const deps = { checkpoints, store, upkeep: broken, registry: MACHINES };
    await expect(importLines(deps, to.stack.tenant, linesOf(text))).rejects.toThrow('killed');
    expect((await to.call('GET', `/v1/sessions/${id}`)).status).toBe(404);
    expect((await take(text)).status).toBe(201);
    expect(await verified(to, id)).toEqual(await verified(from, id));
    await ask(to, id, 'And now?');
  });

  it('HED-02 LED-04 is written for the scope content and taken in for admin, each in the tenant of its key', async () => {
    const id = await create('plan');
    await ask(from, id, 'My word is heron.');
    const path = `/v1/sessions/${id}/export`;
    expect((await from.call('GET', path, { key: await from.keyOf(['turns:read']) })).status).toBe(403);
    expect((await from.call('GET', path, { key: await from.stranger() })).status).toBe(404);
    const text = await exported(id);
    expect((await take(text, to, await to.keyOf(['content', 'turns:write']))).status).toBe(403);
    const stranger = await to.stranger();
    expect((await take(text, to, stranger)).status).toBe(201);
    expect((await to.call('GET', `/v1/sessions/${id}`)).status).toBe(404);
    expect((await to.call('GET', `/v1/sessions/${id}/verify`, { key: stranger })).body).toMatchObject({
      ok: true,
    });
  });

  it('HED-02 is taken as lines alone, and lines are taken nowhere else', async () => {
    const json = await to.call('POST', '/v1/sessions/import', { json: { type: 'checkpoint' } });
    expect([json.status, json.body.error.code]).toEqual([415, 'unsupported_media_type']);
    const elsewhere = await to.call('POST', '/v1/sessions', { raw: '{}\n', headers: LINES });
    expect([elsewhere.status, elsewhere.body.error.code]).toEqual([415, 'unsupported_media_type']);
  });
});

async function* linesOf(text: string): AsyncGenerator<string> {
  yield* text.trimEnd().split('\n');
}
