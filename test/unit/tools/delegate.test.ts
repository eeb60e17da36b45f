import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/app/clock.ts';
import type { Json } from '../../../src/ledger/json.ts';
import { builtinTools } from '../../../src/tools/builtins/index.ts';
import type { Delegated } from '../../../src/tools/contract.ts';
import { runTool } from '../../../src/tools/run.ts';
import {
  admittedTools,
  createToolSurface,
  loadedTools,
  type SurfaceTerms,
} from '../../../src/tools/surface.ts';
import { contextIn } from './folder.ts';

const SESSION = '01890000-0000-7000-8000-00000000000a';
const DONE: Delegated = {
  kind: 'ended',
  session: SESSION,
  outcome: 'completed',
  reason: 'answered',
  answer: 'Three.',
};

function theTool() {
  const tool = createToolSurface(builtinTools()).get('delegate');
  if (tool === undefined) throw new Error('there is no tool to delegate with');
  return tool;
}

/** What the tool makes of arguments when its turn gets `found`, and what it asked for. */
async function run(args: Json, found: Delegated = DONE) {
  const asked: unknown[] = [];
  const delegation = {
    ask: async (directive: string, inherit: boolean) => {
      asked.push([directive, inherit]);
      return found;
    },
  };
  const outcome = await runTool(theTool(), args, contextIn('/', { delegation }), systemClock);
  return { asked, outcome };
}

describe('delegate', () => {
  it('LIN-04 gives the directive as it stands to a blank session, or to one that inherits', async () => {
    expect((await run({ directive: ' Count them. ' })).asked).toEqual([[' Count them. ', false]]);
    expect((await run({ directive: 'Count.', inherit: true })).asked).toEqual([['Count.', true]]);
    expect((await run({ directive: 'Count.', inherit: false })).asked).toEqual([['Count.', false]]);
    expect((await run({ directive: 'Count.', inherit: null })).asked).toEqual([['Count.', false]]);
  });

  it.each([
    { args: {}, kind: 'invalid_args' },
    { args: { directive: 7 }, kind: 'invalid_args' },
    { args: { directive: 'x', inherit: 'yes' }, kind: 'invalid_args' },
    { args: { directive: 'x', model: 'best' }, kind: 'invalid_args' },
    { args: { directive: ' \n' }, kind: 'done' },
  ])('LIN-04 asks nobody when it is called with $args', async ({ args, kind }) => {
    const { asked, outcome } = await run(args);
    expect(asked).toEqual([]);
    expect(outcome).toMatchObject({ kind, output: { isError: true } });
  });

  it('LIN-04 is pending while the answer is not there, and says when to look again and at what', async () => {
    const { outcome } = await run({ directive: 'x' }, { kind: 'pending', session: SESSION, delayMs: 312 });
    expect(outcome).toMatchObject({ kind: 'pending', delayMs: 312, output: { isError: false } });
    expect(outcome).toMatchObject({ output: { content: expect.stringContaining(SESSION) } });
  });

  it('LIN-04 returns the answer alone', async () => {
    const { outcome } = await run({ directive: 'x' });
    expect(outcome).toEqual({ kind: 'done', output: { content: 'Three.', isError: false } });
  });

  it('LIN-04 says so where the task was completed without a word', async () => {
    const { outcome } = await run({ directive: 'x' }, { ...DONE, answer: null });
    expect(outcome).toMatchObject({ kind: 'done', output: { isError: false } });
    expect(outcome).toMatchObject({ output: { content: expect.stringContaining(SESSION) } });
  });

  it.each(['degraded', 'failed', 'cancelled'] as const)(
    'LIN-04 is an error when the task ended %s: with the reason, the session, and what was said',
    async (ended) => {
      const { outcome } = await run({ directive: 'x' }, { ...DONE, outcome: ended, reason: 'time_budget' });
      const content = outcome.kind === 'done' ? outcome.output.content : '';
      expect(outcome).toMatchObject({ kind: 'done', output: { isError: true } });
      for (const part of [ended, 'time_budget', SESSION, 'Three.']) expect(content).toContain(part);
    },
  );

  it('LIN-04 is an error where it is refused, or where no turn runs', async () => {
    const refused = await run({ directive: 'x' }, { kind: 'refused', reason: 'It is too deep.' });
    expect(refused.outcome).toMatchObject({
      kind: 'done',
      output: { isError: true, content: expect.stringContaining('It is too deep.') },
    });
    expect(await runTool(theTool(), { directive: 'x' }, contextIn('/'), systemClock)).toMatchObject({
      kind: 'done',
      output: { isError: true },
    });
  });

  it('LIN-04 may run again, waits to be asked for, and is not there where the depth is used up', () => {
    expect(theTool().traitsOf({}).effect).toBe('idempotent');
    const surface = createToolSurface(builtinTools());
    const wanted = { earlier: [], domains: [], cards: [] };
    const names = (terms: Partial<SurfaceTerms>, earlier: readonly string[] = []) => {
      const all = { tools: null, all: false, evicts: false, delegates: true, ...terms };
      return loadedTools(admittedTools(surface, all), all, { ...wanted, earlier }).map(({ name }) => name);
    };
    expect(names({})).not.toContain('delegate');
    expect(names({}, ['delegate'])).toContain('delegate');
    expect(names({ all: true })).toContain('delegate');
    expect(names({ tools: ['delegate'] })).toContain('delegate');
    for (const terms of [{}, { all: true }, { tools: ['delegate'] }])
      expect(names({ ...terms, delegates: false }, ['delegate'])).not.toContain('delegate');
  });
});
