/** What a session's prefix holds, and how it grows. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Prefix } from '../../../src/context/assemble/prefix.ts';
import type { Domain } from '../../../src/ledger/domains.ts';
import { canonicalJson } from '../../../src/ledger/json.ts';
import {
  type Growth,
  grownPrefix,
  loadedNames,
  type Start,
  sessionPrefix,
} from '../../../src/runtime/session-prefix.ts';
import type { ToolSurface } from '../../../src/tools/surface.ts';
import { Tally } from '../ledger/sample.ts';
import {
  activated,
  CONFIG,
  called,
  found,
  harbour,
  harbourTool,
  listed,
  loadedOf,
  TOOLS,
} from './surface-sample.ts';

const FIRST: Start = { before: null, called: [], domains: [], cards: [], searches: false };
const ALWAYS = ['activate_skill', 'find_tools', 'glob', 'grep', 'mcp', 'read', 'recall', 'session_search'];

/** Deferred tools of the harbour, by name: those that every deployment has are not what is looked at here. */
function deferredOf({ deferred }: Prefix): readonly string[] | undefined {
  const ours = new Set(TOOLS.map(({ name }) => name));
  return deferred?.map(({ name }) => name).filter((name) => ours.has(name));
}

function behind(before: Prefix, more: Partial<Start> = {}): Start {
  return { ...FIRST, before, ...more };
}

function grown(base: Prefix, growths: readonly Growth[], surface = harbour()): Prefix {
  return grownPrefix(base, growths, { config: CONFIG, surface });
}

describe('the prefix of a session', () => {
  const surface = harbour();

  it('SUR-01 F20 has the schemas of what every request has and of what this turn needs, and of nothing else', () => {
    const prefix = sessionPrefix(CONFIG, surface);
    expect(prefix.tools.map(({ name }) => name)).toEqual([...ALWAYS, 'ferry']);
    const needing = sessionPrefix(CONFIG, surface, { ...FIRST, domains: ['web'] });
    expect(needing.tools.map(({ name }) => name)).toEqual([...ALWAYS, 'berth', 'ferry']);
    expect(loadedNames(needing, surface)).toEqual(['berth', 'ferry']);
  });

  it('SUR-01 names every tool once that not every request has, loaded or not, whatever the turn is about', () => {
    const texts = [[], ['web'], ['web', 'vcs']].map(
      (domains) => sessionPrefix(CONFIG, surface, { ...FIRST, domains: domains as Domain[] }).system,
    );
    expect(new Set(texts).size).toBe(1);
    const [text = ''] = texts;
    for (const { name } of TOOLS) expect(text.split(`\n${name} — `)).toHaveLength(2);
    for (const name of ALWAYS) expect(text).not.toContain(`\n${name} — `);
    expect(text).not.toContain('inputSchema');
  });

  it('SUR-02 lists skills and servers once each, and no body', () => {
    const { system } = sessionPrefix(CONFIG, surface);
    expect(system.split('dock — How to dock.')).toHaveLength(2);
    expect(system).toContain('\ncharts\ndepths\n</servers>');
    expect(system).not.toContain('go slowly');
  });

  it('SUR-01 F31 of a session that names its tools has them, and names neither other tools nor ways to reach them', () => {
    const config = { ...CONFIG, tools: ['anchor', 'ferry', 'read'] };
    const { system, tools } = sessionPrefix(config, surface);
    expect(tools.map(({ name }) => name)).toEqual(['anchor', 'ferry', 'read']);
    for (const absent of ['<more_tools>', '<skills>', '<servers>', 'find_tools', 'activate_skill'])
      expect(system).not.toContain(absent);
  });

  it('SUR-01 of a session that asks for all has all, and a catalogue of none', () => {
    const config = { ...CONFIG, policy: { name: 'plan' as const, options: { surface: 'all' } } };
    const { system, tools } = sessionPrefix(config, surface);
    // Only what evicts edits its own context.
    expect(tools.map(({ name }) => name)).toEqual(surface.names().filter((name) => name !== 'context'));
    expect(system).not.toContain('<more_tools>');
  });

  it('SUR-03 defers what is not loaded, by name, only where a leg searches it itself', () => {
    expect(sessionPrefix(CONFIG, surface).deferred).toBeUndefined();
    const deferring = sessionPrefix(CONFIG, surface, { ...FIRST, searches: true });
    expect(deferredOf(deferring)).toEqual(['anchor', 'berth', 'crane', 'dredge']);
    expect(deferring.bytes).toBe(sessionPrefix(CONFIG, surface).bytes);
  });

  it('SUR-01 starts a turn with what the session had, in the order it came', () => {
    const first = sessionPrefix(CONFIG, surface, { ...FIRST, domains: ['vcs'] });
    const second = sessionPrefix(CONFIG, surface, behind(first, { domains: ['web'] }));
    const third = sessionPrefix(CONFIG, surface, behind(second));
    expect(loadedOf(first)).toEqual(['crane', 'ferry']);
    expect(loadedOf(second)).toEqual(['crane', 'ferry', 'berth']);
    expect(third.digest).toBe(second.digest);
  });

  it('SUR-03 loads at the start of a turn what the turn before called of the tools a provider searches', () => {
    const first = sessionPrefix(CONFIG, surface, { ...FIRST, searches: true });
    const second = sessionPrefix(CONFIG, surface, behind(first, { called: ['dredge'], searches: true }));
    expect(loadedOf(second)).toEqual(['ferry', 'dredge']);
    expect(deferredOf(second)).toEqual(['anchor', 'berth', 'crane']);
  });
});

describe('a prefix that grows', () => {
  const surface = harbour();
  const base = sessionPrefix(CONFIG, surface);

  it('SUR-01 has what was found behind what it had, in order, and its text is the same', () => {
    const now = grown(base, [found('dredge', 'berth'), found('anchor')]);
    expect(now.system).toBe(base.system);
    expect(now.tools.slice(0, base.tools.length)).toEqual(base.tools);
    expect(loadedOf(now)).toEqual(['ferry', 'dredge', 'berth', 'anchor']);
  });

  it('SUR-01 takes nothing twice, nothing that is gone, and nothing the session may not call', () => {
    expect(grown(base, [found('ferry', 'gone', 'dredge', 'dredge'), called('dredge')]).tools).toHaveLength(
      base.tools.length + 1,
    );
    const config = { ...CONFIG, tools: ['ferry'] };
    const named = sessionPrefix(config, surface);
    expect(grownPrefix(named, [found('dredge')], { config, surface }).digest).toBe(named.digest);
  });

  it('SUR-02 has an activated skill at its end, and a listing at its place', () => {
    const now = grown(base, [activated('dock'), listed('depths', 'sound')]);
    expect(now.system.endsWith('<skill name="dock">\nTo dock, go slowly.\n</skill>')).toBe(true);
    expect(now.system).toContain('\ncharts\ndepths: sound\n</servers>');
    expect(now).toMatchObject({ skills: ['dock'], servers: [{ name: 'depths', tools: ['sound'] }] });
    expect(grown(now, [activated('dock'), activated('nowhere'), listed('depths', 'sound')])).toEqual(now);
    expect(grown(now, [listed('depths', 'sound', 'ping')]).system).toContain('\ndepths: sound, ping\n');
  });

  it('SUR-03 keeps deferred what a provider expanded itself when it was called, and loads what was found', () => {
    const deferring = sessionPrefix(CONFIG, surface, { ...FIRST, searches: true });
    expect(grown(deferring, [called('dredge')]).digest).toBe(deferring.digest);
    const now = grown(deferring, [found('dredge')]);
    expect(loadedOf(now)).toEqual(['ferry', 'dredge']);
    expect(deferredOf(now)).toEqual(['anchor', 'berth', 'crane']);
    expect(loadedOf(grown(base, [called('dredge')]))).toEqual(['ferry', 'dredge']);
  });

  it('ASM-03 F18 keeps inside a turn what it was sent with, whatever a deployment would make of it', () => {
    const others = TOOLS.map(({ name }) => harbourTool(name, { description: 'Anew.' }));
    const now = grown(base, [found('dredge')], harbour(others));
    expect(now.system).toBe(base.system);
    expect(now.tools.slice(0, -1)).toEqual(base.tools);
    expect(now.tools.at(-1)?.description).toBe('Anew.');
  });
});

interface Moment {
  readonly domains: readonly Domain[];
  readonly growths: readonly Growth[];
}

const growth: fc.Arbitrary<Growth> = fc.oneof(
  fc
    .subarray(
      TOOLS.map(({ name }) => name),
      { minLength: 1 },
    )
    .map((names) => found(...names)),
  fc.constantFrom(...TOOLS.map(({ name }) => name)).map((name) => called(name)),
  fc.constantFrom('dock', 'weigh').map(activated),
  fc
    .tuple(fc.constantFrom('charts', 'depths'), fc.subarray(['sound', 'ping']))
    .map(([name, tools]) => listed(name, ...tools)),
);
const moment: fc.Arbitrary<Moment> = fc.record({
  domains: fc.subarray<Domain>(['web', 'vcs', 'memory']),
  growths: fc.array(growth, { maxLength: 3 }),
});

/** Every prefix of a session, by turn: at its start, and after each of its growths. */
function live(
  surface: ToolSurface,
  moments: readonly Moment[],
  searches: boolean,
): readonly (readonly Prefix[])[] {
  let before: Prefix | null = null;
  return moments.map(({ domains, growths }) => {
    const prefixes = [sessionPrefix(CONFIG, surface, { ...FIRST, before, domains, searches })];
    for (const at of growths.keys())
      prefixes.push(
        grown(prefixes.at(-1) ?? sessionPrefix(CONFIG, surface), growths.slice(0, at + 1), surface),
      );
    before = prefixes.at(-1) ?? null;
    return prefixes;
  });
}

describe('the laws of a session that loads', () => {
  it('SUR-01 nothing is unloaded, what came first stands first, and equal sessions have equal bytes', () => {
    const tally = new Tally();
    // Two deployments alike: what one keeps of its prefixes is no help to the other.
    const [surface, twin] = [harbour(), harbour([...TOOLS].reverse())];
    fc.assert(
      fc.property(fc.array(moment, { minLength: 1, maxLength: 5 }), fc.boolean(), (moments, searches) => {
        const turns = live(surface, moments, searches);
        const all = turns.flat();
        for (const [at, prefix] of all.entries()) {
          const names = prefix.tools.map(({ name }) => name);
          expect(new Set(names).size).toBe(names.length);
          const before = all[at - 1];
          if (before === undefined) continue;
          expect(canonicalJson(prefix.tools.slice(0, before.tools.length))).toBe(canonicalJson(before.tools));
          const skills = prefix.skills ?? [];
          expect(skills.slice(0, before.skills?.length ?? 0)).toEqual(before.skills ?? []);
          const deferred = prefix.deferred?.map(({ name }) => name) ?? [];
          expect(deferred.filter((name) => names.includes(name))).toEqual([]);
          if (searches) expect(new Set([...deferred, ...names]).size).toBe(surface.names().length - 1);
        }
        // A turn that needs nothing new starts with the very prefix the one before it ended with.
        const last = all.at(-1);
        if (last !== undefined)
          expect(sessionPrefix(CONFIG, surface, behind(last, { searches })).digest).toBe(last.digest);
        expect(canonicalJson(live(twin, moments, searches).flat())).toBe(canonicalJson(all));
        const kinds = new Set(moments.flatMap(({ growths }) => growths.map(({ by }) => by)));
        tally.count({
          'grew in a turn': turns.some((turn) => turn.some(({ digest }) => digest !== turn[0]?.digest)),
          'grew at a start': turns.some(
            ([first], at) => at > 0 && first?.digest !== turns[at - 1]?.at(-1)?.digest,
          ),
          'never grew': new Set(all.map(({ digest }) => digest)).size === 1,
          found: kinds.has('found'),
          called: kinds.has('called'),
          activated: kinds.has('activated'),
          listed: kinds.has('listed'),
          searches,
        });
      }),
      { numRuns: 150 },
    );
    tally.report('sessions that load');
  });
});
