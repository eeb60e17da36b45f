import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DEFAULT_SIM_MODELS, startSimulator } from '../../src/sim/index.ts';
import { cli } from '../integration/cli/cli-process.ts';
import { redisAvailable, startRedis } from '../support/redis.ts';
import { onlyObject, runInTerminal } from '../unit/cli/terminal.ts';

/** Against hanging: it takes about ten seconds on a quiet machine. */
const DEMO_MS = 180_000;
const POOLS = ['turn', 'step', 'tool', 'summary', 'probe', 'intent', 'upkeep'];

interface Report {
  readonly simulated: boolean;
  readonly backend: string;
  readonly turns: readonly {
    readonly outcome: string;
    readonly tools: readonly string[];
    readonly answer: string;
  }[];
  readonly pools: Readonly<
    Record<string, { readonly jobs: number; readonly failed: number; readonly changed: string | null }>
  >;
  readonly totals: { readonly turns: number; readonly completed: number; readonly prompt_tokens: number };
}

let cwd = '';

beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'turnwright-garden-'));
  const lines = (word: string): string =>
    Array.from(
      { length: 80 },
      (_, at) => `The ${word} of bed ${at} is watered on day ${at % 7} and weighs ${at * 3} grams.`,
    ).join('\n');
  for (const word of [
    'radish',
    'parsnip',
    'cabbage',
    'lettuce',
    'pumpkin',
    'spinach',
    'shallot',
    'turnips',
  ]) {
    await writeFile(join(cwd, `${word}.md`), `# ${word}\n\n## Growing ${word}\n\n${lines(word)}\n`);
  }
  await writeFile(join(cwd, 'plan.json'), JSON.stringify({ gardenPlan: 'north', sowingOrder: [1, 2, 3] }));
});

afterAll(() => rm(cwd, { recursive: true, force: true }));

async function leftovers(): Promise<readonly string[]> {
  return (await readdir(tmpdir())).filter((name) => name.startsWith('turnwright-demo-'));
}

describe.each(['postgres', 'redis'] as const)('the demo on %s', (backend) => {
  it.skipIf(backend === 'redis' && !redisAvailable())(
    'RUN-13 completes every turn, sees every pool change something, and leaves nothing behind',
    async () => {
      const before = await leftovers();
      const redis = backend === 'redis' ? await startRedis() : null;
      try {
        const env = redis === null ? {} : { REDIS_URL: redis.url };
        const run = await cli(['demo', '--backend', backend, '--json'], { cwd, env });
        expect(run.exit, run.stderr).toBe(0);
        const report = onlyObject(run.stdout) as unknown as Report;
        expect(report).toMatchObject({ simulated: true, backend });
        expect(report.totals.turns).toBeGreaterThanOrEqual(6);
        expect(report.turns.every((turn) => turn.outcome === 'completed')).toBe(true);
        for (const pool of POOLS) {
          expect([pool, (report.pools[pool]?.jobs ?? 0) > 0, report.pools[pool]?.failed]).toEqual([
            pool,
            true,
            0,
          ]);
          expect([pool, report.pools[pool]?.changed]).toEqual([pool, expect.any(String)]);
        }
        expect(report.pools.probe?.changed).toContain('a window of 4,096 tokens');
        expect(report.pools.summary?.changed).toMatch(/T1 to T\d+ are sent as a packet/);
        expect(report.pools.intent?.changed).toMatch(/read T\d+ as/);
        const used = new Set(report.turns.flatMap((turn) => turn.tools));
        for (const tool of ['glob', 'read', 'grep', 'save_note', 'recall']) expect([...used]).toContain(tool);
        const lines = run.stderr.trim().split('\n');
        expect(lines[0]).toContain('SIMULATED');
        expect(lines.at(-1)).toContain('SIMULATED');
      } finally {
        await redis?.stop();
      }
      expect((await leftovers()).filter((name) => !before.includes(name))).toEqual([]);
    },
    DEMO_MS,
  );
});

describe('the demo', () => {
  it(
    'prints two tables between two lines that say SIMULATED',
    async () => {
      const turns = join(cwd, 'turns.jsonl');
      await writeFile(turns, '{"input": "What does radish.md say about \\"Growing radish\\"?"}\n');
      const run = await cli(['demo', '--turns', 'turns.jsonl'], { cwd });
      await rm(turns);
      expect(run.exit, run.stderr).toBe(0);
      const lines = run.stdout.trim().split('\n');
      expect(lines[0]).toContain('SIMULATED');
      expect(lines.at(-1)).toContain('SIMULATED');
      expect(run.stdout).toMatch(/^Turn {2}Question +Steps {2}Tools +Prompt {2}Cached {2}Outcome +ms$/m);
      expect(run.stdout).toMatch(/^ +1 {2}What does radish\.md .* 2 {2}read .* completed +[\d,]+$/m);
      expect(run.stdout).toMatch(/^Pool +Jobs {2}What it changed$/m);
      expect(run.stdout).toContain('1 of 1 turns completed');
      expect(run.stderr).toMatch(/step +1 calls read/);
      expect(run.stdout).not.toContain('\u001b');
    },
    DEMO_MS,
  );

  it('exits 2 and names the line of a turns file that is wrong, before it starts anything', async () => {
    await writeFile(join(cwd, 'bad.jsonl'), '{"input": "one"}\n{"inptu": "two"}\n');
    const run = await runInTerminal(['demo', '--turns', 'bad.jsonl'], { cwd });
    await rm(join(cwd, 'bad.jsonl'));
    expect(run.exit).toBe(2);
    expect(run.stderr).toContain('line 2 of bad.jsonl');
    expect(run.stdout).toBe('');
  });

  it(
    'runs on a model of Ollama, taking the first one it has',
    async () => {
      const simulator = await startSimulator({ seed: 1, models: DEFAULT_SIM_MODELS.slice(1) });
      try {
        await writeFile(join(cwd, 'one.jsonl'), '{"input": "List the files that fit *.json"}\n');
        const env = { OLLAMA_HOST: simulator.url };
        const run = await cli(['demo', '--provider', 'ollama', '--turns', 'one.jsonl', '--json'], {
          cwd,
          env,
        });
        await rm(join(cwd, 'one.jsonl'));
        expect(run.exit, run.stderr).toBe(0);
        expect(onlyObject(run.stdout)).toMatchObject({
          simulated: false,
          provider: 'ollama',
          model: 'sim-large',
        });
        const missing = await runInTerminal(['demo', '--provider', 'ollama', '--model', 'none'], {
          cwd,
          env,
        });
        expect(missing.exit).toBe(2);
        expect(missing.stderr).toContain('has no model "none"; it has sim-large');
      } finally {
        await simulator.close();
      }
    },
    DEMO_MS,
  );

  it(
    'exits 1 when it is stopped midway, and leaves nothing behind',
    async () => {
      const before = await leftovers();
      const stop = new AbortController();
      const run = runInTerminal(['demo', '--json'], { cwd, stopped: stop.signal });
      await expect
        .poll(async () => (await leftovers()).length, { timeout: 60_000 })
        .toBeGreaterThan(before.length);
      stop.abort();
      const ended = await run;
      expect(ended.exit).toBe(1);
      expect(onlyObject(ended.stdout)).toMatchObject({ error: { code: 'interrupted' } });
      expect((await leftovers()).filter((name) => !before.includes(name))).toEqual([]);
    },
    DEMO_MS,
  );
});
