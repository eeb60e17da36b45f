import { describe, expect, it } from 'vitest';
import type { Clock } from '../../../src/ledger/clock.ts';
import type { Connection, ConnectionEvents } from '../../../src/tools/mcp/connection.ts';
import { McpFailure } from '../../../src/tools/mcp/failure.ts';
import { McpServer } from '../../../src/tools/mcp/server.ts';
import { MCP_DEFAULTS, type McpServerSettings } from '../../../src/tools/mcp/settings.ts';
import { Slots } from '../../../src/tools/mcp/slots.ts';
import { type Gate, gate } from '../../support/await.ts';

const endpoint = { kind: 'stdio', command: 'x', args: [], environment: {} } as const;
const listing = { tools: [{ name: 'add', description: '', inputSchema: {} }], digest: 'd', leftOut: 0 };
const never = new AbortController().signal;

class TestClock implements Pick<Clock, 'monotonicMs' | 'after'> {
  #nowMs = 0;
  readonly #timers = new Set<{ readonly atMs: number; readonly act: () => void }>();

  monotonicMs(): number {
    return this.#nowMs;
  }

  after(delayMs: number, act: () => void): () => void {
    const timer = { atMs: this.#nowMs + delayMs, act };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  get timers(): number {
    return this.#timers.size;
  }

  async pass(durationMs: number): Promise<void> {
    this.#nowMs += durationMs;
    for (const timer of [...this.#timers]) {
      if (timer.atMs > this.#nowMs) continue;
      this.#timers.delete(timer);
      timer.act();
    }
    await settled();
  }
}

interface Fake {
  readonly server: McpServer;
  readonly clock: TestClock;
  /** A line an event: starts, lists, calls and ends. */
  readonly log: string[];
  /** Each start waits at it when it is set. */
  start: Gate | null;
  call: Gate | null;
  fails: boolean;
  events: ConnectionEvents | null;
  lose(): void;
}

function fake(overrides: Partial<McpServerSettings> = {}): Fake {
  const clock = new TestClock();
  const log: string[] = [];
  const settings = { ...MCP_DEFAULTS, endpoint, declared: {}, tools: {}, ...overrides };
  const made: Fake = {
    clock,
    log,
    start: null,
    call: null,
    fails: false,
    events: null,
    lose: () => {},
    server: new McpServer({
      name: 'harbour',
      settings,
      clock,
      connect: async (events, signal) => {
        log.push('start');
        await Promise.race([made.start?.opened, rejection(signal)]);
        if (made.fails) throw new McpFailure('it is broken');
        let isOpen = true;
        const end = (): void => {
          isOpen = false;
          events.onClosed();
        };
        made.lose = end;
        made.events = { ...events, onNote: () => {} };
        const connection: Connection = {
          get isOpen() {
            return isOpen;
          },
          tools: async () => {
            log.push('list');
            return listing;
          },
          call: async (tool, _, until) => {
            log.push(`call ${tool}`);
            await Promise.race([made.call?.opened, rejection(until)]);
            return { content: 'done', isError: false };
          },
          close: async () => {
            log.push('end');
            end();
          },
        };
        return connection;
      },
    }),
  };
  return made;
}

/** Without a gate the race is won by the first, which is not there. */
function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
  });
}

async function settled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

const messageOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'no failure',
    (error: Error) => error.message,
  );

describe('the life of an MCP server', () => {
  it('SUR-02 begins with the first demand, once for all who wait for it', async () => {
    const made = fake();
    expect(made.log).toEqual([]);
    made.start = gate();
    const demands = [made.server.list(never), made.server.call('add', {}, never), made.server.list(never)];
    await settled();
    expect(made.log).toEqual(['start']);
    made.start.open();
    await Promise.all(demands);
    expect(made.log).toEqual(['start', 'list', 'call add']);
  });

  it('SUR-02 goes on for the others when one who waits for the start gives up', async () => {
    const made = fake();
    made.start = gate();
    const controller = new AbortController();
    const leaving = made.server.list(controller.signal);
    const staying = made.server.list(never);
    await settled();
    controller.abort(new Error('not needed'));
    expect(await messageOf(leaving)).toBe('not needed');
    made.start.open();
    expect(await staying).toEqual(listing);
  });

  it('SUR-02 ends when nothing used it for idleMs, counted from the end of the last use', async () => {
    const made = fake({ idleMs: 1_000, timeoutMs: 60_000 });
    await made.server.list(never);
    await made.clock.pass(900);
    made.call = gate();
    const running = made.server.call('add', {}, never);
    await settled();
    await made.server.list(never);
    await made.clock.pass(5_000);
    expect(made.log).not.toContain('end');
    made.call.open();
    await running;
    await made.clock.pass(999);
    expect(made.log).not.toContain('end');
    await made.clock.pass(1);
    expect(made.log.filter((line) => line === 'end')).toHaveLength(1);
    await made.server.list(never);
    expect(made.log.filter((line) => line === 'start')).toHaveLength(2);
    expect(made.log.filter((line) => line === 'list')).toHaveLength(2);
  });

  it('SUR-02 rests after a start that failed, twice as long each time up to a minute, until an answer', async () => {
    const made = fake();
    made.fails = true;
    const restsMs: number[] = [];
    for (let attempt = 0; attempt < 9; attempt += 1) {
      expect(await messageOf(made.server.list(never))).toBe('it is broken');
      const told = await messageOf(made.server.list(never));
      const seconds = /^it is broken; it can be tried again in (\d+) s$/.exec(told)?.[1];
      restsMs.push(Number(seconds) * 1_000);
      await made.clock.pass(Number(seconds) * 1_000 - 1);
      expect(await messageOf(made.server.list(never))).toMatch(/tried again in 1 s/);
      await made.clock.pass(1);
    }
    expect(restsMs).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60].map((seconds) => seconds * 1_000));
    expect(made.log).toHaveLength(9);
    made.fails = false;
    await made.server.list(never);
    made.lose();
    made.fails = true;
    expect(await messageOf(made.server.list(never))).toBe('it is broken');
    expect(await messageOf(made.server.list(never))).toMatch(/again in 1 s/);
  });

  it('SUR-02 rests when it ended before it answered anything, and not when it had answered', async () => {
    const made = fake();
    await made.server.list(never);
    made.lose();
    await made.server.list(never);
    expect(made.log.filter((line) => line === 'start')).toHaveLength(2);
    const early = fake();
    early.start = gate();
    const controller = new AbortController();
    const leaving = messageOf(early.server.list(controller.signal));
    await settled();
    controller.abort(new Error('left'));
    early.start.open();
    await leaving;
    await settled();
    early.lose();
    expect(await messageOf(early.server.list(never))).toMatch(/ended before it had answered .* again in 1 s/);
  });

  it('SUR-02 keeps its list until it says that it changed', async () => {
    const made = fake();
    await made.server.list(never);
    await made.server.call('add', {}, never);
    expect(made.log.filter((line) => line === 'list')).toHaveLength(1);
    made.events?.onToolsChanged();
    await made.server.call('add', {}, never);
    expect(made.log.filter((line) => line === 'list')).toHaveLength(2);
  });

  it('SUR-02 has a deadline for a demand, the wait for a place and the start included', async () => {
    const made = fake({ timeoutMs: 1_000, concurrent: 1 });
    made.start = gate();
    const starting = made.server.list(never);
    const queued = made.server.list(never);
    const late = Promise.all([messageOf(starting), messageOf(queued)]);
    await settled();
    await made.clock.pass(1_000);
    expect(await late).toEqual(['it did not answer within 1000 ms', 'it did not answer within 1000 ms']);
    expect(await messageOf(made.server.list(never))).toMatch(
      /^it did not come up within 1000 ms; it can be tried/,
    );
  });

  it('SUR-02 gets no more calls at once than it may', async () => {
    const made = fake({ concurrent: 2 });
    made.call = gate();
    const calls = Array.from({ length: 5 }, () => made.server.call('add', {}, never));
    await settled();
    expect(made.log.filter((line) => line === 'call add')).toHaveLength(2);
    made.call.open();
    await Promise.all(calls);
    expect(made.log.filter((line) => line === 'call add')).toHaveLength(5);
  });

  it('SUR-02 closes from every state, and leaves no timer behind', async () => {
    for (const state of ['stopped', 'starting', 'ready', 'resting', 'stopping'] as const) {
      const made = fake({ idleMs: 10 });
      made.fails = state === 'resting';
      if (state === 'starting') made.start = gate();
      const demand = state === 'stopped' ? Promise.resolve('') : messageOf(made.server.list(never));
      await settled();
      if (state === 'stopping') await made.clock.pass(10);
      await Promise.all([made.server.close(), made.server.close()]);
      await demand;
      const { log } = made;
      expect([state, log.filter((line) => line === 'end').length]).toEqual([
        state,
        Number(state === 'ready' || state === 'stopping'),
      ]);
      expect([state, made.clock.timers]).toEqual([state, 0]);
      expect(await messageOf(made.server.list(never))).toMatch(/not started any more/);
    }
  });
});

describe('places for calls', () => {
  it('SUR-02 go to those who wait in their order, and past one who left', async () => {
    const slots = new Slots(1);
    const giveBack = await slots.take(never);
    const controller = new AbortController();
    const order: string[] = [];
    const leaving = slots.take(controller.signal).catch(() => void order.push('left'));
    const second = slots.take(never).then((give) => {
      order.push('second');
      give();
    });
    const third = slots.take(never).then((give) => {
      order.push('third');
      give();
    });
    controller.abort(new Error('left'));
    giveBack();
    await Promise.all([leaving, second, third]);
    expect(order).toEqual(['left', 'second', 'third']);
  });
});
