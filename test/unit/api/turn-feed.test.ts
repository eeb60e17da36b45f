import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { TurnFeed } from '../../../src/api/turn-feed.ts';
import type { RawRecord } from '../../../src/db/contract.ts';
import type { TurnNews } from '../../../src/db/queries/read-turn-events.ts';
import type { DeltaFrame } from '../../../src/queues/bus.ts';

const TURN = '018f0000-0000-7000-8000-000000000001';

const record = (seq: number, kind: string, body: unknown): RawRecord => ({
  seq,
  kind,
  class: 'protocol',
  turnId: TURN,
  body: JSON.stringify(body),
});
const accepted = record(3, 'turn-accepted', { number: 1, mode: 'enqueue', input: [] });
const stepDone = (seq: number, step: number) =>
  record(seq, 'assistant-message', { step, finish: 'stop', content: [{ type: 'text', text: 'done' }] });
const toolDone = (seq: number, step: number, index: number) =>
  record(seq, 'tool-result', {
    step,
    index,
    callId: 'c',
    name: 'read',
    status: 'ok',
    evidence: 'e1',
    content: '',
    windowed: false,
  });
const closed = (seq: number) =>
  record(seq, 'turn-closed', { outcome: 'completed', reason: 'answered', steps: 1 });
const delta = (id: string, step: number): DeltaFrame => ({
  id,
  type: 'step.delta',
  data: { step, attempt: 1, text: 'x' },
});

/** A ledger, a bus and notices that move when the test says so. */
class Source {
  records: RawRecord[] = [accepted];
  readTo = 3;
  waiting: ((news: TurnNews) => void)[] = [];
  held = false;
  watched = 0;
  publish: (frame: DeltaFrame) => void = () => {};
  notify: () => void = () => {};
  stopped = 0;
  readonly errors: unknown[] = [];
  readonly onError = (error: unknown): void => void this.errors.push(error);

  async watch(): Promise<void> {
    this.watched += 1;
  }

  news(after: number): TurnNews {
    return {
      records: this.records.filter((each) => each.seq > after),
      readTo: this.readTo,
      closed: this.records.some((each) => each.kind === 'turn-closed'),
      snapshot: JSON.stringify({ value: 'stepping' }),
    };
  }

  read(after: number): Promise<TurnNews> {
    const news = this.news(after);
    if (!this.held) return Promise.resolve(news);
    // What the database saw when it was asked, answered when the test lets it.
    return new Promise((resolve) => this.waiting.push(() => resolve(news)));
  }

  async frames(onFrame: (frame: DeltaFrame) => void) {
    this.publish = onFrame;
    return () => this.#stop();
  }

  async notices(onNotice: () => void) {
    this.notify = onNotice;
    return () => this.#stop();
  }

  async #stop(): Promise<void> {
    this.stopped += 1;
  }

  commit(...records: RawRecord[]): void {
    this.records.push(...records);
    this.readTo = Math.max(this.readTo, ...records.map((each) => each.seq));
  }
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('the feed of a turn', () => {
  const feeds: TurnFeed[] = [];
  afterEach(() => Promise.all(feeds.splice(0).map((feed) => feed.stop())));

  async function open(): Promise<{ readonly source: Source; readonly feed: TurnFeed }> {
    const source = new Source();
    const feed = new TurnFeed(source);
    feeds.push(feed);
    await feed.start(false);
    return { source, feed };
  }
  const ids = (feed: TurnFeed) => feed.events.map((event) => event.id);

  it('says that somebody follows before it reads, and lets go of everything when it ends', async () => {
    const { source, feed } = await open();
    expect(source.watched).toBe(1);
    expect(ids(feed)).toEqual(['3']);
    source.commit(closed(5));
    source.notify();
    await settled();
    expect([feed.ended, source.stopped]).toEqual([true, 2]);
  });

  it('shows no frame before the records it follows, even one that comes during a read of an older state', async () => {
    const { source, feed } = await open();
    source.held = true;
    source.notify();
    source.commit(stepDone(8, 1));
    source.publish(delta('8.1.1', 2));
    source.waiting.shift()?.(source.news(0));
    await settled();
    expect([ids(feed), feed.live]).toEqual([['3'], []]);
    source.waiting.shift()?.(source.news(0));
    await settled();
    expect(ids(feed)).toEqual(['3', '8']);
    expect(feed.live.map((frame) => frame.id.seq)).toEqual([8]);
  });

  it('drops what was live of a step or a call when it has completed, and what comes late of it', async () => {
    const { source, feed } = await open();
    source.publish(delta('3.1.1', 1));
    source.publish({ id: '3.1.1', type: 'tool.started', data: { step: 1, index: 0, name: 'a' } });
    source.publish({ id: '3.1.1', type: 'tool.started', data: { step: 1, index: 1, name: 'b' } });
    expect(feed.live).toHaveLength(3);
    source.commit(stepDone(5, 1), toolDone(6, 1, 0));
    source.notify();
    await settled();
    source.publish(delta('3.1.2', 1));
    source.publish({ id: '3.1.1', type: 'tool.started', data: { step: 1, index: 0, name: 'a' } });
    source.publish(delta('6.1.1', 2));
    expect(feed.live.map((frame) => [frame.type, frame.data])).toEqual([
      ['step.delta', { step: 2, attempt: 1, text: 'x' }],
    ]);
  });

  it('keeps the start of a call that still runs', async () => {
    const { source, feed } = await open();
    source.commit(stepDone(5, 1));
    source.notify();
    await settled();
    source.publish({ id: '5.1.1', type: 'tool.started', data: { step: 1, index: 0, name: 'a' } });
    source.publish({ id: '5.1.1', type: 'tool.started', data: { step: 1, index: 1, name: 'b' } });
    source.commit(toolDone(6, 1, 0));
    source.notify();
    await settled();
    expect(feed.live.map((frame) => frame.data)).toEqual([{ step: 1, index: 1, name: 'b' }]);
  });

  it('goes on after a read that failed', async () => {
    const { source, feed } = await open();
    const { read } = source;
    source.read = () => Promise.reject(new Error('the database is away'));
    source.notify();
    await settled();
    source.read = read;
    source.commit(stepDone(5, 1));
    source.notify();
    await settled();
    expect([source.errors.length, ids(feed)]).toEqual([1, ['3', '5']]);
  });

  it('shows every record once and in order, whatever the order of notices and answers', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('commit', 'notify', 'answer', 'frame'), { maxLength: 60 }),
        async (moves) => {
          const { source, feed } = await open();
          source.held = true;
          let seq = source.readTo;
          for (const move of moves) {
            if (move === 'commit') source.commit(stepDone(++seq, seq));
            else if (move === 'notify') source.notify();
            else if (move === 'frame') source.publish(delta(`${seq}.1.1`, seq + 1));
            else source.waiting.shift()?.(source.news(0));
            await settled();
            const newest = Number(feed.events.at(-1)?.id);
            for (const frame of feed.live) expect(frame.id.seq).toBeLessThanOrEqual(newest);
          }
          source.held = false;
          source.notify();
          while (source.waiting.length > 0) source.waiting.shift()?.(source.news(0));
          await settled();
          await settled();
          expect(ids(feed)).toEqual(source.records.map((each) => String(each.seq)));
          await feed.stop();
        },
      ),
      { numRuns: 100 },
    );
  });
});
