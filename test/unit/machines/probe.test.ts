import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { blake3Hex } from '../../../src/ledger/chain.ts';
import type { ProbeCallInput } from '../../../src/machines/probe-context.ts';
import { MACHINES } from '../../../src/machines/registry.ts';
import { replay } from '../../../src/runtime/replay.ts';
import { MAX_SNAPSHOT_BYTES } from '../../../src/runtime/snapshot.ts';
import { Tally } from '../ledger/sample.ts';
import { type Answer, METADATA, model, ProbeRun } from './probe-run.ts';

const LOCAL = { window: 32_768, horizon: 13_000 } as const;

type Store = Extract<ProbeCallInput, { kind: 'store' }>;

function stored(run: ProbeRun): Store {
  const { last } = run;
  if (last.kind !== 'store') throw new Error(`it ended in ${run.state} without storing`);
  return last;
}

/** The states in the order it came to them, repetitions left out. */
function path(run: ProbeRun): readonly string[] {
  return run.states.filter((state, at) => state !== run.states[at - 1]);
}

function targets(run: ProbeRun): readonly number[] {
  return run.asked.flatMap((call) => (call.kind === 'sample' ? [call.targetTokens] : []));
}

/** The model's answers, but for those that are given. */
function butFor(
  answer: Answer,
  other: (call: ProbeCallInput, at: number) => ReturnType<Answer> | null,
): Answer {
  let at = 0;
  return (call) => {
    at += 1;
    return other(call, at) ?? answer(call);
  };
}

describe('a probe', () => {
  it('CAP-05 CAP-06 goes from metadata to prefix, climbs, halves the gap, looks for a cache and stores', () => {
    const run = new ProbeRun().until('', model(LOCAL));
    expect(path(run)).toEqual(['metadata', 'prefix', 'climbing', 'bisecting', 'cache', 'storing', 'done']);
    // Two of three agree at once: two requests a rung.
    expect(targets(run)).toEqual([4_000, 8_000, 16_000, 12_000, 14_000].flatMap((size) => [size, size]));
    expect(run.asked.map(({ kind }) => kind)).toEqual([
      'metadata',
      'prefix',
      ...Array.from({ length: 10 }, () => 'sample'),
      'cache',
      'cache',
      'store',
    ]);
  });

  it('CAP-05 hands over what it found, under the leg that is held throughout', () => {
    const run = new ProbeRun({ leg: 'main', ladderLeg: 'cheap' }).until('', model(LOCAL));
    expect(stored(run)).toMatchObject({
      held: 'main',
      ladderLeg: 'cheap',
      metadata: METADATA,
      ladder: { horizonTokens: 12_000, confidence: 0.9, verifiedWindow: null, needsReprobe: false },
      prefix: { digest: 'ab'.repeat(32), tokens: 1_200 },
      cache: [{ cacheReadTokens: 0 }, { cacheReadTokens: 4_000 }],
    });
    expect(new Set(run.asked.map(({ held }) => held))).toEqual(new Set(['main']));
    const legs = run.asked.map((call) => (call.kind === 'store' ? null : [call.kind, call.leg]));
    expect(legs[0]).toEqual(['metadata', 'main']);
    for (const leg of legs.slice(1, -1)) expect(leg?.[1]).toBe('cheap');
  });

  it('CAP-03 asks for one thing at a time: each request is a call of its own', () => {
    const run = new ProbeRun();
    const children = new Set<string>();
    const answer = model(LOCAL);
    while (!run.ended) {
      const { open } = run;
      expect(open).not.toBeNull();
      children.add(open ?? '');
      run.answer(answer);
    }
    expect(children.size).toBe(run.asked.length);
  });

  it('CAP-05 sizes a rung by the ratio of the rung before, the same for each of its samples', () => {
    const ratios = [0.31, 0.32, 0.33, 0.34, 0.35, 0.36, 0.37, 0.38, 0.39, 0.4];
    const answer = butFor(model(LOCAL), (call) =>
      call.kind === 'sample'
        ? {
            kind: 'sample',
            verdict: call.targetTokens <= LOCAL.horizon ? 'followed' : 'not-followed',
            promptTokens: call.targetTokens,
            tokensPerByte: ratios.shift() ?? null,
            signal: null,
            tookMs: 1,
            microUsd: 0,
          }
        : null,
    );
    const run = new ProbeRun().until('', answer);
    const sizes = run.asked.flatMap((call) => (call.kind === 'sample' ? [call.tokensPerByte] : []));
    expect(sizes).toEqual([0.3, 0.3, 0.32, 0.32, 0.34, 0.34, 0.36, 0.36, 0.38, 0.38]);
  });

  it('CAP-05 asks a rung on while its samples disagree', () => {
    let samples = 0;
    const answer = butFor(model(LOCAL), (call) => {
      if (call.kind !== 'sample' || call.targetTokens !== 4_000) return null;
      samples += 1;
      const followed = samples !== 1;
      return {
        kind: 'sample',
        verdict: followed ? 'followed' : 'not-followed',
        promptTokens: 4_000,
        tokensPerByte: null,
        signal: null,
        tookMs: 1,
        microUsd: 0,
      };
    });
    const run = new ProbeRun().until('', answer);
    expect(targets(run).filter((size) => size === 4_000).length).toBeGreaterThan(2);
    expect(stored(run).ladder).toMatchObject({ horizonTokens: 12_000 });
  });

  it('CAP-05 a refusal ends its rung at once, and says how large the window is', () => {
    const run = new ProbeRun().until('', model({ window: 131_072, horizon: 100_000, refusedAbove: 20_000 }));
    expect(targets(run).filter((size) => size === 32_000)).toHaveLength(1);
    const { ladder } = stored(run);
    expect(ladder?.verifiedWindow).toBeGreaterThanOrEqual(ladder?.horizonTokens ?? 0);
    expect(ladder?.verifiedWindow).toBeLessThan(32_000);
    expect(ladder?.horizonTokens).toBeGreaterThan(15_000);
    expect(ladder?.horizonTokens).toBeLessThanOrEqual(20_000);
  });

  it('CAP-05 keeps a few signals, each once', () => {
    const answer = butFor(model(LOCAL), (call, at) =>
      call.kind === 'sample'
        ? {
            kind: 'sample',
            verdict: call.targetTokens <= LOCAL.horizon ? 'followed' : 'not-followed',
            promptTokens: call.targetTokens,
            tokensPerByte: null,
            signal: at % 2 === 0 ? 'twice the same' : `signal ${at}`,
            tookMs: 1,
            microUsd: 0,
          }
        : null,
    );
    const { signals } = stored(new ProbeRun().until('', answer));
    expect(new Set(signals).size).toBe(signals.length);
    expect(signals).toContain('twice the same');
    expect(signals).toHaveLength(6);
  });
});

describe('a probe that ends early', () => {
  it('CAP-05 a call without an answer ends the ladder: what was followed is stored, to be measured again', () => {
    const answer = butFor(model(LOCAL), (call) =>
      call.kind === 'sample' && call.targetTokens === 16_000 ? 'failed' : null,
    );
    const run = new ProbeRun().until('', answer);
    expect(path(run)).toEqual(['metadata', 'prefix', 'climbing', 'storing', 'done']);
    expect(stored(run)).toMatchObject({
      ladder: { horizonTokens: 8_000, confidence: 0.5, needsReprobe: true },
      cache: [],
    });
  });

  it('CAP-05 a model that reads too slowly is not asked for more, and is finished all the same', () => {
    const run = new ProbeRun().until('', model({ ...LOCAL, horizon: 30_000, prefillTokensPerSecond: 200 }));
    // 9,000 tokens take the 45 s that a rung may.
    expect(new Set(targets(run))).toEqual(new Set([4_000, 8_000]));
    expect(path(run)).toEqual(['metadata', 'prefix', 'climbing', 'cache', 'storing', 'done']);
    expect(stored(run).ladder).toMatchObject({ horizonTokens: 8_000, confidence: 0.5, needsReprobe: false });
  });

  it.each([
    ['time', { maxMs: 500 }, { tookMs: 100 }],
    ['cost', { maxMicroUsd: 500 }, { microUsd: 100 }],
  ])('CAP-05 stops at its cap of %s with what it has confirmed', (_, input, each) => {
    const run = new ProbeRun(input).until('', model({ ...LOCAL, ...each }));
    // The prefix and two rungs of two samples are five calls of a hundred each.
    expect(targets(run)).toEqual([4_000, 4_000, 8_000, 8_000]);
    expect(stored(run)).toMatchObject({ ladder: { horizonTokens: 8_000, confidence: 0.5 }, cache: [] });
    expect(run.state).toBe('done');
  });

  it('CAP-05 a prefix that could not be counted leaves the ladder to go on', () => {
    const answer = butFor(model(LOCAL), (call) => (call.kind === 'prefix' ? 'failed' : null));
    const run = new ProbeRun().until('', answer);
    expect(stored(run)).toMatchObject({ prefix: null, ladder: { horizonTokens: 12_000 } });
  });

  it('CAP-06 a request for the cache that came to nothing leaves it unknown', () => {
    const answer = butFor(model(LOCAL), (call) => (call.kind === 'cache' ? 'failed' : null));
    const run = new ProbeRun().until('', answer);
    expect(stored(run)).toMatchObject({ cache: [], ladder: { horizonTokens: 12_000 } });
  });

  it('CAP-03 a provider that does not say what the model is fails it, and nothing is stored', () => {
    const run = new ProbeRun().failed();
    expect([run.state, run.ended, run.asked.length]).toEqual(['failed', true, 1]);
  });

  it('CAP-03 fails where the profile could not be stored', () => {
    const answer = butFor(model(LOCAL), (call) => (call.kind === 'store' ? 'failed' : null));
    expect(new ProbeRun().until('', answer).state).toBe('failed');
  });

  it('CAP-08 without a leg for the ladder it asks what the model is, and no more', () => {
    const run = new ProbeRun({ ladderLeg: null }).until('', model(LOCAL));
    expect(path(run)).toEqual(['metadata', 'storing', 'done']);
    expect(stored(run)).toMatchObject({ metadata: METADATA, ladder: null, prefix: null, cache: [] });
  });
});

describe('a probe beside other work', () => {
  it('CAP-03 waits its minute as a timer, without a call', () => {
    const run = new ProbeRun({ delayMs: 41_000 });
    expect([run.state, run.asked]).toEqual(['idle', []]);
    expect([...run.timers.values()]).toMatchObject([{ delayMs: 41_000 }]);
    run.send({ type: 'probe.begin' });
    expect([run.state, run.asked.map(({ kind }) => kind)]).toEqual(['metadata', ['metadata']]);
  });

  it('CAP-03 says whether it was asked for by hand', () => {
    expect(new ProbeRun().last).toMatchObject({ kind: 'metadata', spacing: 'spaced' });
    expect(new ProbeRun({ forced: true }).last).toMatchObject({ kind: 'metadata', spacing: 'forced' });
  });

  it('CAP-03 stops where another probe holds the model, at any call', () => {
    const answer = model(LOCAL);
    const steps = new ProbeRun().until('', answer).asked.length - 1;
    for (let at = 0; at < steps; at += 1) {
      const run = new ProbeRun();
      for (let made = 0; made < at; made += 1) run.answer(answer);
      run.done({ kind: 'displaced' });
      expect([at, run.state, run.ended]).toEqual([at, 'stopped', true]);
      expect(run.asked.some(({ kind }) => kind === 'store')).toBe(false);
    }
  });

  it('CAP-03 an interrupt stops it in every state: the open call is cancelled, and nothing is stored', () => {
    const seen = new Set<string>();
    const waiting = new ProbeRun({ delayMs: 1_000 }).send({ type: 'probe.interrupt' });
    expect([waiting.state, waiting.asked]).toEqual(['stopped', []]);
    const answer = model(LOCAL);
    const calls = new ProbeRun().until('', answer).asked.length;
    for (let at = 0; at < calls; at += 1) {
      const run = new ProbeRun();
      for (let made = 0; made < at; made += 1) run.answer(answer);
      const { open, state } = run;
      seen.add(state);
      run.send({ type: 'probe.interrupt' });
      expect([state, run.state, run.ended]).toEqual([state, 'stopped', true]);
      expect(run.stopped).toEqual([open]);
    }
    expect(seen).toEqual(new Set(['metadata', 'prefix', 'climbing', 'bisecting', 'cache', 'storing']));
  });
});

describe('the probe on any model', () => {
  const rate = fc.double({ min: 0.1, max: 0.6, noNaN: true });
  const truths = fc.record({
    window: fc.option(fc.integer({ min: 1_500, max: 1_000_000 })),
    horizon: fc.integer({ min: 500, max: 900_000 }),
    refusedAbove: fc.oneof(fc.constant(Number.POSITIVE_INFINITY), fc.integer({ min: 2_000, max: 600_000 })),
    tokensPerByte: rate,
    prefillTokensPerSecond: fc.constantFrom(0, 0, 900),
    flips: fc.array(fc.boolean(), { minLength: 1, maxLength: 40 }),
    flipping: fc.boolean(),
    fails: fc.option(fc.integer({ min: 2, max: 40 }), { freq: 3 }),
    interrupted: fc.option(fc.integer({ min: 0, max: 40 }), { freq: 4 }),
    samples: fc.constantFrom(1, 3, 7),
  });

  it('CAP-05 ends, stays below 8 KiB, and replays to the same snapshots', () => {
    const tally = new Tally();
    fc.assert(
      fc.property(truths, ({ samples, flips, flipping, fails, interrupted, ...truth }) => {
        const plain = model(truth);
        const answer: Answer = butFor(plain, (call, at) => {
          if (at === fails) return 'failed';
          const said = plain(call);
          if (said.kind !== 'sample' || !flipping || flips[at % flips.length] !== true) return said;
          if (said.verdict === 'rejected') return said;
          return {
            ...said,
            verdict: said.verdict === 'followed' ? 'not-followed' : 'followed',
            signal: `call ${at}, ${'x'.repeat(80)}`,
          };
        });
        const run = new ProbeRun({ samples });
        for (let at = 0; !run.ended; at += 1) {
          expect(at).toBeLessThan(400);
          if (at === interrupted) run.send({ type: 'probe.interrupt' });
          else run.answer(answer);
          expect(Buffer.byteLength(run.snapshot)).toBeLessThan(MAX_SNAPSHOT_BYTES);
        }
        const steps = replay(MACHINES, 'probe', 1, run.history);
        expect(steps.every(({ matches }) => matches)).toBe(true);
        expect(blake3Hex(steps.at(-1)?.snapshot ?? '')).toBe(blake3Hex(run.snapshot));
        const found = run.state === 'done' ? stored(run) : null;
        if (found !== null) expect(found.ladder?.horizonTokens).toBeGreaterThan(0);
        tally.count({
          done: run.state === 'done',
          stopped: run.state === 'stopped',
          bisected: run.states.includes('bisecting'),
          refused: typeof found?.ladder?.verifiedWindow === 'number',
          unanswered: found?.ladder?.needsReprobe === true,
          slow: truth.prefillTokensPerSecond > 0,
        });
      }),
      { numRuns: 400 },
    );
    tally.report('probes');
  });
});
