import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EventParser, readEvents } from '../../../src/client/event-stream.ts';
import { Seen } from '../../../src/client/seen.ts';

function parse(chunks: readonly string[]) {
  const parser = new EventParser();
  return chunks.flatMap((chunk) => parser.push(chunk));
}

describe('server-sent events', () => {
  const TEXT =
    ': hello\n\nid: 7\nevent: step.completed\ndata: {"a":\ndata: 1}\n\nevent: turn.waiting\r\ndata:x\r\n\r\nid: 8.1.2\rdata: y\r\rdata: never ended\n';
  const EVENTS = [
    { id: '7', type: 'step.completed', data: '{"a":\n1}' },
    { id: '', type: 'turn.waiting', data: 'x' },
    { id: '8.1.2', type: 'message', data: 'y' },
  ];

  it('come out whole, with the id they carry themselves, however a line ends', () => {
    expect(parse([TEXT])).toEqual(EVENTS);
  });

  it('are the same wherever the bytes are cut, through characters too', async () => {
    const bytes = new TextEncoder().encode(TEXT.replace('data: y', 'data: né😀'));
    const whole = EVENTS.map((event) => (event.data === 'y' ? { ...event, data: 'né😀' } : event));
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(fc.nat(bytes.length), { maxLength: 8 }), async (cuts) => {
        const places = [0, ...cuts.toSorted((a, b) => a - b), bytes.length];
        const stream = new ReadableStream<Uint8Array>({
          start: (controller) => {
            for (const [index, from] of places.entries())
              controller.enqueue(bytes.slice(from, places[index + 1]));
            controller.close();
          },
        });
        const events = [];
        for await (const event of readEvents(stream)) events.push(event);
        expect(events).toEqual(whole);
      }),
    );
  });

  it('fail when the server falls silent', async () => {
    const stream = new ReadableStream<Uint8Array>({});
    await expect(readEvents(stream, 10).next()).rejects.toThrow('silent for 10 ms');
  });
});

describe('what was seen', () => {
  const event = (id: string, data = '') => ({ id, type: 't', data });

  it('lets each durable event through once, in order, and resumes after the last', () => {
    const seen = new Seen('');
    expect(seen.resumeFrom).toBe('');
    expect(['3', '5', '3', '5', '6', '4'].map((id) => seen.isNew(event(id)))).toEqual([
      true,
      true,
      false,
      false,
      true,
      false,
    ]);
    expect(seen.resumeFrom).toBe('6');
  });

  it('goes on after a durable or a live id', () => {
    expect(new Seen('12').isNew(event('12'))).toBe(false);
    expect(new Seen('12.3.4').resumeFrom).toBe('12');
    expect(new Seen('12.3.4').isNew(event('13'))).toBe(true);
  });

  it('tells live events with one number apart by what they say', () => {
    const seen = new Seen('');
    expect(seen.isNew(event('5.1.1', 'tool 0'))).toBe(true);
    expect(seen.isNew(event('5.1.1', 'tool 1'))).toBe(true);
    expect(seen.isNew(event('5.1.1', 'tool 0'))).toBe(false);
    expect(seen.resumeFrom).toBe('');
  });

  it('always lets a state through', () => {
    const seen = new Seen('9');
    expect([seen.isNew(event('')), seen.isNew(event(''))]).toEqual([true, true]);
  });
});
