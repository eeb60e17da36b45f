import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startApi } from '../../../src/api/app.ts';
import { METRICS } from '../../../src/api/metrics.ts';
import { SCOPES } from '../../../src/db/keys.ts';
import { type ApiStack, openApiStack, send } from './api-stack.ts';

const FILES = { 'harbour.md': '# Harbour\n\nThe harbour master of Elmouth is Ida Brandt.\n' };
const QUESTION = 'Who is the harbour master of Elmouth? Look into harbour.md.';

type Samples = ReadonlyMap<string, number>;

function samplesOf(text: string): Samples {
  return new Map(
    text
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => {
        const at = line.lastIndexOf(' ');
        return [line.slice(0, at), Number(line.slice(at + 1))] as const;
      }),
  );
}

describe('metrics', () => {
  let api: ApiStack;
  beforeEach(async () => {
    api = await openApiStack({ backend: 'postgres', files: FILES });
  });
  afterEach(() => api.close());

  const scrape = async (url = api.url): Promise<Samples> => {
    const { status, body } = await send(url, 'GET', '/metrics', {});
    expect(status).toBe(200);
    return samplesOf(body);
  };

  it('names each metric of the table, with its help, and no other', async () => {
    const { body } = await send(api.url, 'GET', '/metrics', {});
    const named = [...(body as string).matchAll(/^# TYPE (\S+) (\S+)$/gmu)].map((match) => [
      match[1],
      match[2],
    ]);
    const inOrder = (rows: readonly (readonly unknown[])[]) => rows.map(String).sort();
    expect(inOrder(named)).toEqual(inOrder(Object.entries(METRICS).map(([name, { type }]) => [name, type])));
  });

  it('counts what was handed to the queue and what is held back, and how old the oldest is', async () => {
    const turns = 14;
    for (let n = 0; n < turns; n++) await api.turn(await api.session(), { input: 'x' });
    const held = await api.stack.sql<{ admitted: boolean }>(
      'SELECT admitted_at IS NOT NULL AS admitted FROM turnwright.outbox',
    );
    expect(new Set(held.map(({ admitted }) => admitted))).toEqual(new Set([true, false]));
    await api.stack.sql(`UPDATE turnwright.outbox SET due_at = now() - interval '90 seconds'`);
    const samples = await scrape();
    expect(samples.get('turnwright_queue_depth{pool="step"}')).toBe(turns);
    expect(samples.get('turnwright_queue_depth{pool="tool"}')).toBe(0);
    expect(samples.get('turnwright_queue_oldest_seconds{pool="step"}')).toBeGreaterThanOrEqual(90);
  });

  it('tells the same totals before and after turns are folded, from every process', async () => {
    const worker = await api.stack.worker({ sweeps: false });
    const session = await api.session({ leg: 'sim-large', tools: ['read'] });
    const turns: Awaited<ReturnType<ApiStack['closed']>>[] = [];
    for (let n = 0; n < 3; n++) turns.push(await api.closed(await api.turn(session, { input: QUESTION })));
    await worker.drain();
    const cancelled = await api.turn(await api.session(), { input: QUESTION });
    await api.call('POST', `/v1/turns/${cancelled}/cancel`);

    const before = await scrape();
    const sum = (member: string) => turns.reduce((total, turn) => total + turn.usage[member], 0);
    const tokens = (kind: string) => before.get(`turnwright_tokens_total{leg="sim-large",kind="${kind}"}`);
    expect(before.get('turnwright_turns_total{outcome="completed"}')).toBe(3);
    expect(before.get('turnwright_turns_total{outcome="cancelled"}')).toBe(1);
    expect(tokens('input')).toBe(sum('input_tokens'));
    expect(tokens('cache_read')).toBe(sum('cache_read_tokens'));
    expect(tokens('output')).toBe(sum('output_tokens'));
    expect(before.get('turnwright_turn_seconds_count')).toBe(4);
    expect(before.get('turnwright_turn_seconds_bucket{le="+Inf"}')).toBe(4);
    const ratio = sum('cache_read_tokens') / sum('prompt_tokens');
    expect(ratio).toBeGreaterThan(0);
    expect(before.get('turnwright_prefix_cache_ratio')).toBeGreaterThan(0);

    expect(await api.services.upkeep.compact(500)).toBeGreaterThanOrEqual(4);
    expect(await api.services.upkeep.compact(500)).toBe(0);
    const other = await startApi(api.stack.open(), { host: '127.0.0.1', port: 0 });
    const lasting = (samples: Samples) =>
      [...samples]
        .filter(([name]) => !name.startsWith('turnwright_queue'))
        .sort(([a], [b]) => a.localeCompare(b));
    try {
      for (const url of [api.url, other.url]) {
        const after = lasting(await scrape(url));
        expect(after.map(([name]) => name)).toEqual(lasting(before).map(([name]) => name));
        for (const [name, value] of after)
          expect([name, value]).toEqual([name, expect.closeTo(before.get(name) ?? -1, 6)]);
      }
    } finally {
      await other.close();
    }
  });

  it('counts the findings of checks', async () => {
    api.stack.sim.setFaults([{ match: { count: 1 }, fault: { name: 'empty' } }]);
    await api.stack.worker();
    const session = await api.session({ leg: 'sim-large', tools: ['read'] });
    await api.closed(await api.turn(session, { input: QUESTION }));
    expect((await scrape()).get('turnwright_checks_fired_total{check="empty-step"}')).toBe(1);
  });

  it('asks for an admin key when the listener is open to others', async () => {
    const open = await startApi(api.services, { host: '0.0.0.0', port: 0 });
    try {
      const url = open.url.replace('0.0.0.0', '127.0.0.1');
      const admin = await api.keyOf(['admin']);
      const others = await api.keyOf(SCOPES.filter((scope) => scope !== 'admin'));
      const basic = (key: string) => ({
        authorization: `Basic ${Buffer.from(`me:${key}`).toString('base64')}`,
      });
      const statuses = [
        await send(url, 'GET', '/metrics', {}),
        await send(url, 'GET', '/metrics', { key: others }),
        await send(url, 'GET', '/metrics', { headers: basic(others) }),
        await send(url, 'GET', '/metrics', { key: admin }),
        await send(url, 'GET', '/metrics', { headers: basic(admin) }),
      ].map(({ status }) => status);
      expect(statuses).toEqual([401, 403, 403, 200, 200]);
    } finally {
      await open.close();
    }
  });
});
