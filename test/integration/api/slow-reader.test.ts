import { createServer, type Server, type ServerResponse } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { START } from '../../../src/api/event-ids.ts';
import { streamEvents } from '../../../src/api/event-stream.ts';
import { TurnFeed } from '../../../src/api/turn-feed.ts';
import type { RawRecord } from '../../../src/db/contract.ts';
import type { DeltaFrame } from '../../../src/queues/bus.ts';
import { until } from '../../support/await.ts';

const REPLY_CHARS = 200_000;
const STEPS = 100;
/** One event beyond what a socket takes, and what Node keeps before it says so. */
const BOUND_BYTES = 2 * REPLY_CHARS;

const TURN = '018f0000-0000-7000-8000-000000000001';

function record(seq: number, kind: string, body: unknown): RawRecord {
  return { seq, kind, class: 'protocol', turnId: TURN, body: JSON.stringify(body) };
}

const steps = Array.from({ length: STEPS }, (_, index) =>
  record(index + 2, 'assistant-message', {
    step: index + 1,
    finish: 'stop',
    content: [{ type: 'text', text: 'x'.repeat(REPLY_CHARS) }],
  }),
);

describe('a client that does not read', () => {
  let server: Server;
  let feed: TurnFeed;
  let publish: (frame: DeltaFrame) => void = () => {};
  const responses: ServerResponse[] = [];
  const sockets: Socket[] = [];
  const over: Promise<void>[] = [];

  beforeEach(async () => {
    feed = new TurnFeed({
      watch: async () => {},
      read: async (after) => ({
        records: [record(1, 'turn-accepted', { number: 1, mode: 'enqueue', input: [] }), ...steps].filter(
          (each) => each.seq > after,
        ),
        readTo: STEPS + 1,
        closed: false,
        snapshot: JSON.stringify({ value: 'stepping' }),
      }),
      frames: async (onFrame) => {
        publish = onFrame;
        return async () => {};
      },
      notices: async () => async () => {},
      onError: (error) => {
        throw error;
      },
    });
    await feed.start(false);
    server = createServer((request, response) => {
      responses.push(response);
      response.writeHead(200);
      const stallMs = Number(request.headers['x-stall-ms']);
      over.push(streamEvents(feed, response, { place: START, heartbeatMs: 20, stallMs }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterEach(async () => {
    await feed.stop();
    for (const socket of sockets.splice(0)) socket.destroy();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await Promise.all(over.splice(0));
    responses.length = 0;
  });

  function open(stallMs: number, onData?: (bytes: number) => void): Promise<Socket> {
    const { port } = server.address() as AddressInfo;
    return new Promise((resolve) => {
      const socket = connect(port, '127.0.0.1', () => {
        socket.write(`GET / HTTP/1.1\r\nHost: localhost\r\nX-Stall-Ms: ${stallMs}\r\n\r\n`);
        resolve(socket);
      });
      socket.on('error', () => {});
      if (onData === undefined) socket.pause();
      else socket.on('data', (chunk) => onData(chunk.length));
      sockets.push(socket);
    });
  }

  it('costs the socket’s buffer and no more, whatever was published meanwhile', async () => {
    await open(60_000);
    const response = await until('the stream began', () => responses[0]);
    await until('the socket is full', () => response.writableNeedDrain);
    const held = response.writableLength;
    for (let n = 1; n <= 5_000; n++)
      publish({
        id: `${STEPS + 1}.1.${n}`,
        type: 'step.delta',
        data: { step: STEPS + 1, text: 'y'.repeat(2_000) },
      });
    expect(response.writableLength).toBe(held);
    expect(held).toBeLessThan(BOUND_BYTES);
    expect(feed.live.length).toBeLessThanOrEqual(500);
  });

  it('is let go of after it took nothing for the time allowed', async () => {
    await open(50);
    await until('the stream began', () => responses[0]);
    await over[0];
    expect(responses[0]?.destroyed).toBe(true);
  });

  it('delays no other client', async () => {
    let bytes = 0;
    for (let n = 0; n < 5; n++) await open(60_000);
    await open(60_000, (more) => {
      bytes += more;
    });
    await until('the reader has every step', () => bytes > STEPS * REPLY_CHARS);
  });

  it('goes on from its place when it reads again, and loses no durable event', async () => {
    const socket = await open(60_000);
    const response = await until('the stream began', () => responses[0]);
    await until('the socket is full', () => response.writableNeedDrain);
    let text = '';
    socket.setEncoding('utf8');
    socket.on('data', (chunk: string) => {
      text += chunk;
    });
    socket.resume();
    await until('the last step came', () => text.includes(`\nid: ${STEPS + 1}\n`));
    const ids = [...text.matchAll(/\nid: (\d+)\n/gu)].map((match) => Number(match[1]));
    expect(ids).toEqual(Array.from({ length: STEPS + 1 }, (_, index) => index + 1));
  });
});
