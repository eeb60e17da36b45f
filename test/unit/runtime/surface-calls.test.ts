import { describe, expect, it } from 'vitest';
import type { Json } from '../../../src/ledger/json.ts';
import type { TurnView } from '../../../src/ledger/view.ts';
import {
  answerSurfaceCall,
  type CallsMade,
  grownByCalls,
  misreads,
} from '../../../src/runtime/surface-calls.ts';
import { activated, CONFIG, found, harbour, harbourTool, turnWith } from './surface-sample.ts';

const surface = harbour();

function ask(name: string, args: Json, view: TurnView = turnWith([]), config = CONFIG, on = surface) {
  return answerSurfaceCall({ name, args }, { surface: on, config, view, step: 3 });
}

function planned(loaded: readonly string[], view: TurnView = turnWith([])): TurnView {
  return { ...view, plan: { loaded } as unknown as TurnView['plan'] };
}

describe('find_tools', () => {
  it('SUR-01 answers with each match and its schema, and loads those that are new to the turn', () => {
    const { content, status, growth } = ask('find_tools', { query: 'dredge' });
    expect(status).toBe('ok');
    expect(content).toContain('1 tool fits, 1 new to this turn: loaded from the next step on.');
    expect(content).toContain('dredge — Sees to the dredge of the harbour. It takes a boat.\n');
    expect(content).toContain(JSON.stringify(surface.get('dredge')?.inputSchema));
    expect(growth).toEqual({ step: 3, by: 'found', tools: ['dredge'] });
  });

  it('SUR-01 finds five unless it is told how many, and never more than fifty', () => {
    const many = harbour(
      Array.from({ length: 70 }, (_, n) => harbourTool(`boat_${String(n).padStart(2, '0')}`)),
    );
    const count = (args: Json) => ask('find_tools', args, turnWith([]), CONFIG, many).growth?.tools.length;
    expect(count({ query: 'boat' })).toBe(5);
    expect(count({ query: 'boat', limit: 7 })).toBe(7);
    expect(count({ query: 'boat', limit: 5_000 })).toBe(50);
    expect(count({ query: 'boat', limit: -3 })).toBe(1);
  });

  it('SUR-01 F46 says of what is loaded already that it is, in whatever words it is asked for, and loads it once', () => {
    const view = planned(['ferry'], turnWith([found('dredge')]));
    for (const query of ['dredge', 'ferry', 'the dredge of the harbour']) {
      const { content, growth } = ask('find_tools', { query, limit: 1 }, view);
      expect(content).toContain('all are loaded already: call one of them, or go on without.');
      expect(growth).toBeNull();
    }
    const mixed = ask('find_tools', { query: 'harbour' }, view);
    expect(mixed.content).toContain('5 tools fit, 3 new to this turn');
    expect(mixed.growth?.tools).toEqual(['anchor', 'berth', 'crane']);
  });

  it('SUR-01 looks among the tools that not every request has, and only among those the session may call', () => {
    expect(ask('find_tools', { query: 'grep' }).growth).toBeNull();
    const config = { ...CONFIG, tools: ['find_tools', 'ferry'] };
    const { content, growth } = ask('find_tools', { query: 'harbour' }, planned(['ferry']), config);
    expect(content).toContain('ferry — ');
    expect(content).not.toContain('dredge');
    expect(growth).toBeNull();
  });

  it('SUR-01 names what there is when nothing fits, at most twenty', () => {
    const { content, growth, status } = ask('find_tools', { query: 'zeppelin' });
    expect([growth, status]).toEqual([null, 'ok']);
    expect(content).toContain('anchor, berth, crane, delegate, dredge, ferry, transcript.');
    const many = harbour(Array.from({ length: 70 }, (_, n) => harbourTool(`t${n}`)));
    expect(ask('find_tools', { query: 'zeppelin' }, turnWith([]), CONFIG, many).content).toContain(
      ' and 52 more.',
    );
    const all = { ...CONFIG, tools: ['find_tools'] };
    const none = ask('find_tools', { query: 'zeppelin' }, turnWith([]), all);
    expect(none.content).toContain('No tool waits');
  });

  it('SUR-01 keeps its answer within 24,000 characters: later matches are named without their schemas', () => {
    const description = `Sees to boats. ${'x'.repeat(3_000)}`;
    const many = harbour(Array.from({ length: 50 }, (_, n) => harbourTool(`boat_${n}`, { description })));
    const { content, growth } = ask('find_tools', { query: 'boat', limit: 50 }, turnWith([]), CONFIG, many);
    expect(content.length).toBeLessThanOrEqual(24_000);
    expect(content.length).toBeGreaterThan(20_000);
    expect(growth?.tools).toHaveLength(50);
    for (const name of growth?.tools ?? []) expect(content).toContain(name);
    const huge = harbour([harbourTool('boat', { description: 'y'.repeat(2_000_000) })]);
    expect(ask('find_tools', { query: 'boat' }, turnWith([]), CONFIG, huge).content.length).toBeLessThan(
      24_000,
    );
  });

  it('answers a call it cannot read, and one that is no question, with what was wrong', () => {
    expect(ask('find_tools', { words: 'x' })).toMatchObject({ status: 'invalid_args', growth: null });
    const long = ask('find_tools', { query: 'berth '.repeat(800_000) });
    expect(long).toMatchObject({ status: 'invalid_args', growth: null });
    expect(long.content.length).toBeLessThan(1_000);
  });
});

describe('activate_skill', () => {
  it('SUR-02 lets the instructions stand in the system text from the next step on', () => {
    const { content, status, growth } = ask('activate_skill', { name: 'dock' });
    expect(status).toBe('ok');
    expect(content).toContain('from the next step on');
    expect(content).not.toContain('go slowly');
    expect(growth).toEqual({ step: 3, by: 'activated', tools: [], skills: ['dock'] });
  });

  it('SUR-02 changes nothing the second time, nor for a skill that is not there', () => {
    const again = ask('activate_skill', { name: 'dock' }, turnWith([activated('dock')]));
    expect(again).toMatchObject({ status: 'ok', growth: null });
    expect(ask('activate_skill', { name: 'fly' })).toMatchObject({ status: 'invalid_args', growth: null });
  });

  it('is, with find_tools, the only call that is answered here', () => {
    for (const name of ['ferry', 'read', 'nowhere'])
      expect(() => ask(name, { boat: 'Wigeon' })).toThrow(name);
  });
});

describe('what the calls of a reply say of the reading', () => {
  const reading = {
    source: 'lexical',
    version: 1,
    act: 'answer',
    domains: ['web'],
    confidence: 0.9,
  } as const;
  const made = (names: readonly string[], more: Partial<CallsMade> = {}): CallsMade => ({
    step: 2,
    calls: names.map((name) => ({ name })),
    open: turnWith([], { reading: { ...reading, domains: [...reading.domains] } }),
    loadedAtPlan: ['ferry'],
    surface,
    config: CONFIG,
    ...more,
  });

  it('SUR-01 a tool that was used and not loaded when the turn was planned was misread', () => {
    expect(misreads(made(['dredge', 'ferry', 'read', 'dredge', 'nowhere']))).toEqual([
      { step: 2, tool: 'dredge', act: 'answer', domains: ['web'] },
    ]);
  });

  it('SUR-01 it was misread once in a turn, and also when it was found since', () => {
    const used = { ...turnWith([found('dredge')]), steps: [stepOf('dredge')] };
    expect(misreads(made(['dredge'], { open: used }))).toEqual([]);
    expect(misreads(made(['dredge'], { open: turnWith([found('dredge')]) }))).toMatchObject([
      { tool: 'dredge' },
    ]);
    const brought = { step: 1, by: 'activated' as const, tools: ['dredge'], skills: ['dock'] };
    expect(misreads(made(['dredge'], { open: turnWith([brought]) }))).toEqual([]);
  });

  it('SUR-01 F46 a tool called by its name is loaded from then on, and one that is loaded adds nothing', () => {
    expect(grownByCalls(made(['dredge', 'read', 'anchor', 'dredge']))).toEqual({
      step: 2,
      by: 'called',
      tools: ['dredge', 'anchor'],
    });
    expect(grownByCalls(made(['ferry', 'nowhere']))).toBeNull();
    expect(grownByCalls(made(['dredge'], { open: turnWith([found('dredge')]) }))).toBeNull();
  });

  it('SUR-01 F31 a session never loads, nor misreads, what it may not call', () => {
    const config = { ...CONFIG, tools: ['ferry'] };
    expect(misreads(made(['dredge'], { config }))).toEqual([]);
    expect(grownByCalls(made(['dredge'], { config }))).toBeNull();
  });

  function stepOf(name: string): TurnView['steps'][number] {
    const content = [{ type: 'tool_call', id: 'c', name, args: {} }] as const;
    const made = { item: 2, step: 1, seq: 1, content, kept: null, results: new Map(), nudge: null };
    return { ...made, finish: 'tool_calls' };
  }
});
