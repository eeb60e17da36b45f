import { connect, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineTool } from '../../../src/tools/define.ts';
import { until } from '../../support/await.ts';
import { type ApiStack, openApiStack } from './api-stack.ts';
import { type EventReader, isDurable, readEvents, type SeenEvent } from './event-reader.ts';

const FILES = { 'harbour.md': '# Harbour\n\nThe harbour master of Elmouth is Ida Brandt.\n' };
const QUESTION = 'Who is the harbour master of Elmouth? Look into harbour.md.';
const TOOLS = ['read', 'grep', 'glob'];

/** Holds its turn, and so the head, until somebody decides or cancels. */
const hold = defineTool({
  name: 'hold_everything',
  description: 'Holds everything.',
  input: z.object({}),
  approval: true,
  run: async () => 'Held.',
});

const types = (events: readonly SeenEvent[]) => events.map((event) => event.type);
const durableIds = (events: readonly SeenEvent[]) =>
  events.filter(isDurable).map((event) => Number(event.id));

describe.each(['postgres', 'redis'] as const)('a turn’s events on %s', (backend) => {
  const readers: EventReader[] = [];
  let api: ApiStack;
  beforeAll(async () => {
    api = await openApiStack(
      {
        backend,
        files: FILES,
        tools: [hold],
        simSpeed: 'real',
        models: [
          {
            name: 'sim-large',
            window: 131_072,
            horizon: 60_000,
            tokensPerByte: 0.24,
            maxOutputTokens: 8_192,
            prefillTokensPerSecond: 50_000,
            decodeTokensPerSecond: 20,
            quantisation: 'F16',
            supportsImages: true,
          },
        ],
      },
      { heartbeatMs: 200, streamStallMs: 1_000 },
    );
    await api.stack.worker();
  });
  afterEach(() => {
    for (const reader of readers.splice(0)) reader.close();
  });
  afterAll(() => api.close());

  async function follow(turn: string, lastEventId?: string): Promise<EventReader> {
    const reader = await readEvents(api.url, turn, api.key, lastEventId);
    readers.push(reader);
    return reader;
  }

  /** A turn that waits behind another, and the function that lets it start. */
  async function held(): Promise<{ readonly turn: string; readonly start: () => Promise<void> }> {
    const session = await api.session({ leg: 'sim-large', tools: [...TOOLS, hold.name] });
    const first = await api.turn(session, { input: `Call the tool ${hold.name} now.` });
    const turn = await api.turn(session, { input: QUESTION });
    await until('the first turn holds the head', async () => {
      return (await api.call('GET', `/v1/turns/${first}`)).body.turn.state === 'waiting';
    });
    return { turn, start: async () => void (await api.call('POST', `/v1/turns/${first}/cancel`)) };
  }

  it('tells a turn from its acceptance to its end, live parts between, and then ends the stream', async () => {
    const { turn, start } = await held();
    const reader = await follow(turn);
    await reader.next((event) => event.type === 'turn.accepted');
    await start();
    const events = await reader.all();
    expect(reader.headers['content-type']).toContain('text/event-stream');
    expect(types(events).slice(0, 2)).toEqual(['turn.accepted', 'turn.reading']);
    expect(events.at(-1)).toMatchObject({ type: 'turn.completed', data: { reason: 'answered' } });
    for (const type of ['turn.plan', 'step.started', 'step.delta', 'step.completed', 'tool.completed'])
      expect(types(events)).toContain(type);
    const ids = durableIds(events);
    expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
    const last = events.filter((event) => event.type === 'step.completed').at(-1);
    const written = events
      .filter((event) => event.type === 'step.delta' && event.data.step === last?.data.step)
      .map((event) => event.data.text)
      .join('');
    // The last piece may be overtaken by the whole.
    expect(written).not.toBe('');
    expect(last?.data.text.startsWith(written)).toBe(true);
    expect(last?.data.text).toContain('Ida Brandt');
    const live = events.filter((each) => !isDurable(each));
    for (const event of live) expect(event.id).toMatch(/^\d+\.\d+\.\d+$/u);
  });

  it('resumes after any event without losing or repeating a durable one', async () => {
    const { turn, start } = await held();
    const live = await follow(turn);
    await start();
    const whole = await live.all();
    const durable = durableIds(whole);
    expect(durable.length).toBeGreaterThan(5);
    for (const stop of whole) {
      if (stop.id === null) continue;
      const place = Number(stop.id.split('.')[0]);
      const rest = await follow(turn, stop.id);
      const wanted = durable.filter((id) => id > place);
      expect([stop.id, rest.status]).toEqual([stop.id, wanted.length === 0 ? 204 : 200]);
      const events = await rest.all();
      expect([stop.id, durableIds(events)]).toEqual([stop.id, wanted]);
      // What came before the stop and what comes after it are the whole, each once.
      const before = durableIds(whole.slice(0, whole.indexOf(stop) + 1));
      expect([...before, ...durableIds(events)]).toEqual(durable);
    }
  });

  it('goes on where a client left in the middle of a reply', async () => {
    const { turn, start } = await held();
    const first = await follow(turn);
    await first.next((event) => event.type === 'turn.accepted');
    await start();
    const stop = await first.next((event) => event.type === 'step.delta');
    const before = first.seen.slice(0, first.seen.indexOf(stop) + 1);
    first.close();
    const rest = await (await follow(turn, stop.id ?? '')).all();
    const whole = await (await follow(turn)).all();
    expect([...durableIds(before), ...durableIds(rest)]).toEqual(durableIds(whole));
    const pieces = [...before, ...rest].filter((event) => event.type === 'step.delta');
    const completed = rest.find((event) => event.type === 'step.completed');
    expect(completed?.data.step).toBe(stop.data.step);
    expect(completed?.data.text.startsWith(pieces.map((event) => event.data.text).join(''))).toBe(true);
  });

  it('RUN-06 tells every follower of a cancellation that comes in the middle of a reply', async () => {
    const { turn, start } = await held();
    const followers = await Promise.all([follow(turn), follow(turn), follow(turn)]);
    await Promise.all(followers.map((each) => each.next((event) => event.type === 'turn.accepted')));
    await start();
    await followers[0].next((event) => event.type === 'step.delta');
    const cancelled = await api.call('POST', `/v1/turns/${turn}/cancel`);
    expect(cancelled.body.turn).toMatchObject({ state: 'closed', outcome: 'cancelled', reason: 'cancelled' });
    for (const each of followers) {
      const events = await each.all();
      expect(events.at(-1)?.type).toBe('turn.cancelled');
      expect(types(events)).not.toContain('turn.completed');
    }
    await until('the provider was let go of', () =>
      api.stack.sim.calls().every((call) => call.state === 'ended'),
    );
    expect(api.stack.sim.calls().at(-1)?.outcome).toBe('aborted');
  });

  it('says that a turn waits for a person, to whoever comes', async () => {
    const session = await api.session({ leg: 'sim-large', tools: [hold.name] });
    const turn = await api.turn(session, { input: `Call the tool ${hold.name} now.` });
    const reader = await follow(turn);
    const waiting = await reader.next((event) => event.type === 'turn.waiting');
    expect(waiting.data).toEqual({ for: 'approval', calls: ['tool-1-0'] });
    const later = await follow(turn);
    expect(await later.next((event) => event.type === 'turn.waiting')).toEqual(waiting);
    await api.call('POST', `/v1/turns/${turn}/signals`, { json: { type: 'approve' } });
    const events = await reader.all();
    expect(types(events).filter((type) => type === 'turn.waiting')).toHaveLength(1);
    expect(events.at(-1)?.type).toBe('turn.completed');
  });

  it('is not held up by clients that never read', async () => {
    const { turn, start } = await held();
    const deaf = await Promise.all(Array.from({ length: 50 }, () => openDeaf(api, turn)));
    const reader = await follow(turn);
    await start();
    expect((await reader.all()).at(-1)?.type).toBe('turn.completed');
    for (const socket of deaf) socket.destroy();
  });

  it('sends a sign of life while nothing happens', async () => {
    const { turn } = await held();
    const reader = await follow(turn);
    await until('two comments came', () => reader.comments.length >= 2);
    await api.call('POST', `/v1/turns/${turn}/cancel`);
    expect((await reader.all()).at(-1)?.type).toBe('turn.cancelled');
  });

  it('lets a watched session be unwatched soon after the last follower left', async () => {
    const { turn } = await held();
    const reader = await follow(turn);
    const watchedFor = async () => {
      const rows = await api.stack.sql<{ seconds: number | null }>(
        `SELECT extract(epoch FROM s.watched_until - clock_timestamp())::float8 AS seconds FROM turnwright.sessions s
          JOIN turnwright.turns t ON t.session_id = s.session_id WHERE t.turn_id = $1`,
        [turn],
      );
      return rows[0]?.seconds ?? null;
    };
    const followed = await watchedFor();
    expect(followed).toBeGreaterThan(5);
    expect(followed).toBeLessThanOrEqual(15);
    reader.close();
    await until('nobody renews it', async () => ((await watchedFor()) ?? 99) < 9.5);
  });

  it.each(['there', '1.2', '-1', '1.2.3.4', '9'.repeat(40)])(
    'refuses the Last-Event-ID %s',
    async (value) => {
      const turn = await api.turn(await api.session(), { input: 'x' });
      const { status, body } = await api.call('GET', `/v1/turns/${turn}/events`, {
        headers: { 'last-event-id': value },
      });
      expect([status, body.error.code]).toEqual([400, 'invalid_request']);
    },
  );
});

/** Asks for the stream and never takes a byte off the socket. */
function openDeaf(api: ApiStack, turn: string): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(api.url);
    const socket = connect(Number(port), hostname, () => {
      socket.pause();
      socket.write(
        `GET /v1/turns/${turn}/events HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${api.key}\r\n\r\n`,
        () => resolve(socket),
      );
    });
    socket.on('error', reject);
  });
}
