import { getEventListeners } from 'node:events';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { systemClock } from '../../../src/app/clock.ts';
import type { Tool, ToolContext, ToolEffect } from '../../../src/tools/contract.ts';
import { defineTool } from '../../../src/tools/define.ts';
import { runTool } from '../../../src/tools/run.ts';
import { safeMessage } from '../../../src/tools/safe-message.ts';
import { contextIn } from './folder.ts';

interface Behaviour {
  readonly run: (context: ToolContext) => Promise<string>;
  readonly timeoutMs?: number;
  readonly effect?: ToolEffect;
}

function toolThat({ run, ...rest }: Behaviour): Tool {
  const input = z.strictObject({ n: z.int().default(1) });
  return defineTool({
    name: 'work',
    description: 'Works.',
    input,
    ...rest,
    run: (_, context) => run(context),
  });
}

const never = () => new Promise<string>(() => {});

describe('runTool', () => {
  it('runs a tool with checked arguments and default values', async () => {
    const input = z.object({ n: z.int().default(4) });
    const tool = defineTool({
      name: 'double',
      description: 'Doubles.',
      input,
      run: async ({ n }) => `${n * 2}`,
    });
    const outcome = await runTool(tool, {}, contextIn('/'), systemClock);
    expect(outcome).toEqual({ kind: 'done', output: { content: '8', isError: false } });
  });

  it('does not run a tool whose arguments do not fit', async () => {
    let runs = 0;
    const tool = toolThat({ run: async () => `${++runs}` });
    const outcome = await runTool(tool, { n: 'one' }, contextIn('/'), systemClock);
    expect(outcome).toMatchObject({ kind: 'invalid_args', output: { isError: true } });
    expect(outcome.kind === 'invalid_args' && outcome.output.content).toContain('- n: found "one"');
    expect(runs).toBe(0);
  });

  it('turns a throw into an error result without stack or foreign path', async () => {
    const run = async (): Promise<string> => {
      throw new Error(
        "ENOENT: no such file, open '/etc/secret/key' and /srv/root/a.txt\n    at x (/app/y.js:1:2)",
      );
    };
    const outcome = await runTool(toolThat({ run }), {}, contextIn('/srv/root'), systemClock);
    const content = "work failed: ENOENT: no such file, open '[path]' and a.txt";
    expect(outcome).toEqual({ kind: 'done', output: { content, isError: true } });
  });

  it('reports a tool that throws at once, throws no error, or returns no text', async () => {
    const tool = toolThat({ run: never });
    const reasons: [Tool['run'], string][] = [
      [
        () => {
          throw new Error('early');
        },
        'early',
      ],
      [() => Promise.reject(null), 'no reason was given'],
      [() => Promise.reject('plain words'), 'plain words'],
      [async () => undefined as never, 'it returned no text.'],
      [async () => ({ content: 5 }) as never, 'it returned no text.'],
    ];
    for (const [run, reason] of reasons) {
      const outcome = await runTool({ ...tool, run }, {}, contextIn('/'), systemClock);
      expect(outcome).toEqual({ kind: 'done', output: { content: `work failed: ${reason}`, isError: true } });
    }
  });

  it('ends a tool that ignores its signal when its time is up, and warns of effects it may have had', async () => {
    const outcome = await runTool(toolThat({ run: never, timeoutMs: 5 }), {}, contextIn('/'), systemClock);
    const content =
      'work did not finish within 5 ms. It may have taken effect all the same: check before calling it again.';
    expect(outcome).toEqual({ kind: 'timeout', output: { content, isError: true } });
    const reading = await runTool(
      toolThat({ run: never, timeoutMs: 5, effect: 'read' }),
      {},
      contextIn('/'),
      systemClock,
    );
    expect(reading).toMatchObject({ output: { content: 'work did not finish within 5 ms.' } });
  });

  it('aborts the signal the tool sees when its time is up', async () => {
    let reason: unknown;
    const run = ({ signal }: ToolContext) =>
      new Promise<string>((_, reject) => {
        signal.addEventListener('abort', () => {
          reason = signal.reason;
          reject(signal.reason);
        });
      });
    const outcome = await runTool(toolThat({ run, timeoutMs: 5 }), {}, contextIn('/'), systemClock);
    expect(outcome.kind).toBe('timeout');
    expect(reason).toMatchObject({ name: 'TimeoutError' });
  });

  it('is aborted with the call, before it starts or while it runs', async () => {
    const controller = new AbortController();
    const context = contextIn('/', { signal: controller.signal });
    const started = resolvers();
    const running = runTool(
      toolThat({
        run: () => {
          started.resolve();
          return never();
        },
      }),
      {},
      context,
      systemClock,
    );
    await started.promise;
    controller.abort();
    expect(await running).toEqual({ kind: 'aborted' });
    expect(await runTool(toolThat({ run: async () => 'late' }), {}, context, systemClock)).toEqual({
      kind: 'aborted',
    });
  });

  it('leaves neither listener nor timer behind', async () => {
    const controller = new AbortController();
    const context = contextIn('/', { signal: controller.signal });
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    await runTool(toolThat({ run: async () => 'done' }), {}, context, systemClock);
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('safeMessage', () => {
  const shown: [string, string][] = [
    ['open "/home/me/My Documents/a.txt" failed', 'open "[path]" failed'],
    ['at /srv/root and /srv/rootless/x', 'at . and [path]'],
    ['see https://example.com/a/b and docs/c.md', 'see https://example.com/a/b and docs/c.md'],
    ['key=/run/secrets/x, (/usr/bin/y)', 'key=[path], ([path])'],
    ['file:///etc/passwd and C:\\Users\\me\\a', '[path] and [path]'],
    ['/srv/root/../etc/passwd', '[path]'],
    ['and/or 3 / 4 apply', 'and/or 3 / 4 apply'],
  ];
  it.each(shown)('shows %j as %j', (message, expected) => {
    expect(safeMessage(new Error(message), '/srv/root')).toBe(expected);
  });

  it('is short whatever was thrown', () => {
    expect(safeMessage(new Error('m'.repeat(10_000_000)), '/srv/root').length).toBeLessThanOrEqual(501);
    expect(safeMessage({ message: 'not an error' }, '/srv/root')).toBe('no reason was given');
  });
});

function resolvers(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}
