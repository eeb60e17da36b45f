import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { defineConfig, loadConfig, parseConcurrency } from '../../../src/app/config.ts';
import { TurnwrightError } from '../../../src/ledger/errors.ts';
import { PROVIDER_KINDS } from '../../../src/providers/contract.ts';

let cwd: string;
const folders: string[] = [];
/** A module is imported once a path, so each file needs a folder of its own. */
async function freshFolder(): Promise<void> {
  cwd = await mkdtemp(join(tmpdir(), 'turnwright-config-'));
  folders.push(cwd);
}
beforeEach(freshFolder);
afterEach(() => Promise.all(folders.splice(0).map((made) => rm(made, { recursive: true, force: true }))));

const load = (env: Record<string, string> = {}) => loadConfig({ env, cwd });
const file = (content: string, name = 'turnwright.config.mjs') => writeFile(join(cwd, name), content);
const fileOf = (value: unknown) => file(`export default ${JSON.stringify(value)};`);

async function refusal(env: Record<string, string> = {}): Promise<string> {
  const error = await load(env).then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof TurnwrightError)) throw new Error(`expected a refusal, found ${String(error)}`);
  expect(error.code).toBe('config_invalid');
  return error.message;
}

const leg = { name: 'main', provider: 'openai', model: 'a-model' };

describe('a configuration with nothing said', () => {
  it('is the embedded stack on loopback with the documented defaults', async () => {
    expect(await load()).toEqual({
      queueNamespace: 'turnwright_queue',
      port: 4080,
      host: '127.0.0.1',
      dataDir: join(cwd, '.turnwright'),
      root: cwd,
      leaseMs: 6000,
      heartbeatMs: 2000,
      logLevel: 'info',
      legs: [],
      ladders: {},
      tools: [],
      cards: [],
      pools: {
        turn: { concurrency: 4 },
        step: { concurrency: 16 },
        tool: { concurrency: 16 },
        summary: { concurrency: 2 },
        probe: { concurrency: 1 },
        intent: { concurrency: 4 },
        upkeep: { concurrency: 1 },
      },
      probe: { local: 'full', hosted: 'off', samples: 3, maxMs: 900_000, maxMicroUsd: 500_000 },
      sideLegs: {},
      modelMapping: {},
      pricing: {},
      responseCache: { mode: 'off', layer: 'process', ttlMs: 604_800_000 },
      intent: { escalate: false, legs: 'any', maxClassifyMicroUsd: 10_000 },
      calls: { startHere: false },
      stopConditions: [],
      outbound: { allow: [] },
      limits: {
        stepBudget: 40,
        turnDeadlineMs: 900_000,
        maxBodyBytes: 1_048_576,
        drainMs: 30_000,
        tenantShare: 0.5,
        tenantRunning: null,
        tenantMicroUsdPerDay: null,
      },
    });
  });
});

describe('the environment', () => {
  it('sets every key it has a variable for', async () => {
    const config = await load({
      DATABASE_URL: 'postgres://app:secret@db:5432/tw',
      REDIS_URL: 'rediss://cache:6379',
      TURNWRIGHT_OWNER_URL: 'postgresql://owner@db/tw',
      TURNWRIGHT_PORT: '0',
      TURNWRIGHT_HOST: '0.0.0.0',
      TURNWRIGHT_DATA_DIR: 'data',
      TURNWRIGHT_ROOT: '/srv/files',
      TURNWRIGHT_LEASE_MS: '1000',
      TURNWRIGHT_HEARTBEAT_MS: '250',
      TURNWRIGHT_LOG_LEVEL: 'warn',
      TURNWRIGHT_CONCURRENCY: 'step=32, tool=8',
      TURNWRIGHT_START_HERE: 'true',
    });
    expect(config).toMatchObject({
      calls: { startHere: true },
      databaseUrl: 'postgres://app:secret@db:5432/tw',
      redisUrl: 'rediss://cache:6379',
      ownerUrl: 'postgresql://owner@db/tw',
      port: 0,
      host: '0.0.0.0',
      dataDir: join(cwd, 'data'),
      root: '/srv/files',
      leaseMs: 1000,
      heartbeatMs: 250,
      logLevel: 'warn',
    });
    expect(config.pools.step.concurrency).toBe(32);
    expect(config.pools.tool.concurrency).toBe(8);
    expect(config.pools.turn.concurrency).toBe(4);
  });

  it('wins over the file, key by key and pool by pool', async () => {
    await fileOf({
      port: 1111,
      host: 'file-host',
      pools: { step: { concurrency: 3 }, tool: { concurrency: 5 } },
    });
    const config = await load({ TURNWRIGHT_PORT: '2222', TURNWRIGHT_CONCURRENCY: 'step=7' });
    expect([config.port, config.host]).toEqual([2222, 'file-host']);
    expect([config.pools.step.concurrency, config.pools.tool.concurrency]).toEqual([7, 5]);
  });

  it('counts a variable that is set to nothing as not set', async () => {
    expect(await load({ DATABASE_URL: '', TURNWRIGHT_PORT: ' ' })).toEqual(await load());
  });

  it('shortens the heartbeat with the lease unless both are said', async () => {
    expect((await load({ TURNWRIGHT_LEASE_MS: '900' })).heartbeatMs).toBe(300);
  });

  it('refuses an unknown variable by name and suggests the one that was meant', async () => {
    const message = await refusal({ TURNWRIGHT_PROT: '1' });
    expect(message).toContain('TURNWRIGHT_PROT is unknown');
    expect(message).toContain('Did you mean TURNWRIGHT_PORT?');
  });

  it('ignores variables that are not ours', async () => {
    expect(await load({ PATH: '/bin', OPENAI_API_KEY: 'x', MY_TURNWRIGHT_PORT: '1' })).toEqual(await load());
  });

  it.each([
    [{ TURNWRIGHT_PORT: 'eighty' }, /TURNWRIGHT_PORT: port is wrong: found "eighty"; allowed is .*65535/],
    [{ TURNWRIGHT_PORT: '70000' }, /port is wrong: found 70000/],
    [{ TURNWRIGHT_PORT: '-1' }, /found "-1"/],
    [{ TURNWRIGHT_PORT: '80.5' }, /found "80.5"/],
    [{ TURNWRIGHT_LOG_LEVEL: 'inof' }, /logLevel is wrong: found "inof".*Did you mean info\?/],
    [{ TURNWRIGHT_LEASE_MS: '10' }, /leaseMs is wrong: found 10; allowed is .*from 300/],
    [
      { TURNWRIGHT_CONCURRENCY: 'steps=4' },
      /pools\.steps is unknown; allowed is turn, step.*Did you mean step\?/,
    ],
    [{ TURNWRIGHT_CONCURRENCY: 'step=none' }, /pools\.step\.concurrency is wrong: found "none"/],
    [{ TURNWRIGHT_START_HERE: 'yes' }, /calls\.startHere is wrong: found "yes"; allowed is true or false/],
    [{ TURNWRIGHT_CONCURRENCY: 'step' }, /cannot be read at "step"; allowed is a list like step=16,tool=8/],
    [
      { TURNWRIGHT_LEASE_MS: '1000', TURNWRIGHT_HEARTBEAT_MS: '501' },
      /heartbeatMs is 501 and leaseMs is 1000/,
    ],
  ])('refuses %j and says what was found and what is allowed', async (env, expected) => {
    expect(await refusal(env)).toMatch(expected);
  });

  it.each([
    'mysql://app:hunter2secret@db/tw',
    'postgres//app:hunter2secret@db/tw',
    'app:hunter2secret@db/tw',
    'postgres://app:hunter2secret@:port/tw',
    'postgres://',
  ])('refuses the database URL %s without repeating a password', async (url) => {
    const message = await refusal({ DATABASE_URL: url });
    expect(message).toMatch(/DATABASE_URL: databaseUrl is wrong/);
    expect(message).toContain('allowed is a URL like postgres://user:password@host:5432/database');
    expect(message).not.toContain('hunter2secret');
  });

  it('never repeats a password, whatever the URL looks like', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.stringMatching(/^[a-z+.:/@-]{0,12}$/),
        fc.stringMatching(/^[/:@a-z0-9.]{0,12}$/),
        async (head, rest) => {
          const url = `${head}q7Zk9xW4${rest}`;
          // What stands before the first "://" is a scheme, and a refusal names the scheme it found.
          fc.pre(!/^[^:/]*q7Zk9xW4[^:/]*:\/\//.test(url));
          const error: unknown = await load({ REDIS_URL: url }).then(
            () => null,
            (thrown: unknown) => thrown,
          );
          if (error instanceof Error) expect(error.message).not.toContain('q7Zk9xW4');
        },
      ),
    );
  });

  it('takes a database that is reached over a Unix socket', async () => {
    const url = 'postgres:///tw?host=/var/run/postgresql';
    expect((await load({ DATABASE_URL: url })).databaseUrl).toBe(url);
  });
});

describe('the configuration file', () => {
  it('is read as TypeScript', async () => {
    const definePath = resolve(import.meta.dirname, '../../../src/app/config.ts');
    await file(
      `import { defineConfig } from ${JSON.stringify(definePath)};
       const port: number = 5005;
       export default defineConfig({ port, legs: [{ name: 'main', provider: 'ollama', model: 'm' }] });`,
      'turnwright.config.ts',
    );
    const config = await load();
    expect(config.port).toBe(5005);
    expect(config.legs).toEqual([{ name: 'main', provider: 'ollama', model: 'm', timeoutMs: 600_000 }]);
  });

  it.each(['turnwright.config.mjs', 'turnwright.config.js'])('may be called %s', async (name) => {
    await writeFile(join(cwd, 'package.json'), '{"type":"module"}');
    await file('export default { port: 5006 };', name);
    expect((await load()).port).toBe(5006);
  });

  it('is refused when there are two of them', async () => {
    await file('export default {};', 'turnwright.config.mjs');
    await file('export default {};', 'turnwright.config.js');
    expect(await refusal()).toMatch(/turnwright\.config\.mjs and turnwright\.config\.js.*only one/);
  });

  it('is refused by name when it cannot be loaded, with the reason', async () => {
    await file("throw new Error('the disk is on fire');");
    expect(await refusal()).toMatch(/turnwright\.config\.mjs cannot be loaded: the disk is on fire/);
  });

  it('is refused when it exports no configuration', async () => {
    await file('export const config = {};');
    expect(await refusal()).toMatch(/found no default export; allowed is export default defineConfig/);
  });

  it('is refused for an unknown key at any depth, with the allowed ones and a suggestion', async () => {
    await fileOf({ leg: [], limits: { stepBudgt: 3 }, legs: [{ ...leg, modle: 'x' }] });
    const message = await refusal();
    expect(message).toMatch(
      /turnwright\.config\.mjs: the key leg is unknown; allowed is .*Did you mean legs\?/,
    );
    expect(message).toMatch(
      /limits\.stepBudgt is unknown; allowed is stepBudget, .*Did you mean stepBudget\?/,
    );
    expect(message).toMatch(/legs\[0\]\.modle is unknown; .*Did you mean model\?/);
  });

  it('is refused for a wrong value, naming key, found and allowed', async () => {
    await fileOf({ legs: [{ ...leg, provider: 'opena', timeoutMs: 0 }], probe: { hosted: 'on' } });
    const message = await refusal();
    expect(message).toMatch(
      /legs\[0\]\.provider is wrong: found "opena"; allowed is one of anthropic, openai, .*bedrock.*Did you mean openai\?/,
    );
    expect(message).toMatch(
      /legs\[0\]\.timeoutMs is wrong: found 0; allowed is a whole number of milliseconds/,
    );
    expect(message).toMatch(/probe\.hosted is wrong: found "on"; allowed is off or full/);
  });

  it('names what is missing', async () => {
    await fileOf({ legs: [{ name: 'main', provider: 'openai' }] });
    expect(await refusal()).toMatch(/legs\[0\]\.model is wrong: found nothing/);
  });

  it('is refused without showing a key that was put where its variable belongs', async () => {
    await fileOf({ legs: [{ ...leg, apiKeyEnv: 'sk-live-0123456789', baseUrl: 'ftp://u:sk-live-98765@h' }] });
    const message = await refusal();
    expect(message).toMatch(/apiKeyEnv is wrong.*name of the environment variable/);
    expect(message).not.toMatch(/0123456789|98765/);
  });
});

describe('legs, ladders and tools', () => {
  const second = { ...leg, name: 'second', apiKeyEnv: 'SOME_KEY', window: 8000 };

  it('are taken as written, with the default time limit of a call', async () => {
    await fileOf({
      legs: [leg, { ...second, timeoutMs: 5 }],
      ladders: { both: ['second', 'main'] },
      defaultLeg: 'main',
    });
    const config = await load();
    expect(config.legs).toEqual([
      { ...leg, timeoutMs: 600_000 },
      { ...second, timeoutMs: 5 },
    ]);
    expect(config.ladders).toEqual({ both: ['second', 'main'] });
    expect(config.defaultLeg).toBe('main');
  });

  it('are refused where a name meets no leg', async () => {
    await fileOf({ legs: [leg, second], ladders: { both: ['main', 'secnd'] }, defaultLeg: 'mian' });
    const message = await refusal();
    expect(message).toMatch(
      /ladders\.both\[1\] names the leg "secnd".*allowed is main, second\..*Did you mean second\?/,
    );
    expect(message).toMatch(/defaultLeg names the leg "mian".*Did you mean main\?/);
  });

  it('say what stands in for them, what they cost and whether their provider keeps replies', async () => {
    const price = {
      inputPerMillion: 3,
      cachedInputPerMillion: 0.3,
      cacheWritePerMillion: 3.75,
      outputPerMillion: 15,
    };
    const hosted = { ...second, family: 'qwen', probeWith: 'main', price, serverState: false };
    await fileOf({ legs: [leg, hosted] });
    expect((await load()).legs[1]).toEqual({ ...hosted, timeoutMs: 600_000 });
  });

  it('are refused with a price below nothing or without its output', async () => {
    await fileOf({ legs: [{ ...leg, price: { inputPerMillion: -1 } }] });
    const message = await refusal();
    expect(message).toMatch(/price\.inputPerMillion is wrong: found -1; allowed is US dollars per million/);
    expect(message).toMatch(/price\.outputPerMillion/);
  });

  it('are refused when they are probed with a leg that is not configured', async () => {
    await fileOf({ legs: [{ ...leg, probeWith: 'secnd' }, second] });
    expect(await refusal()).toMatch(
      /probeWith of the leg "main" names the leg "secnd".*allowed is main, second\..*Did you mean second\?/,
    );
  });

  it.each(PROVIDER_KINDS)('may be of the kind %s', async (provider) => {
    await fileOf({ legs: [{ ...leg, provider }] });
    expect((await load()).legs[0]?.provider).toBe(provider);
  });

  it('are refused where a name stands twice, and where a ladder has no rung', async () => {
    await fileOf({ legs: [leg, leg] });
    expect(await refusal()).toMatch(/legs holds the name "main" more than once/);
    await file('export default { legs: [], ladders: { none: [] } };', 'turnwright.config.js');
    await rm(join(cwd, 'turnwright.config.mjs'));
    await writeFile(join(cwd, 'package.json'), '{"type":"module"}');
    expect(await refusal()).toMatch(
      /ladders\.none is wrong: found a list of 0; allowed is a list of at least one/,
    );
  });

  it('hand a tool on as the very object it is', async () => {
    await file(`
      class Echo {
        name = 'echo'; description = 'Echoes.'; inputSchema = { type: 'object' }; serves = []; alwaysLoaded = false;
        effect = 'read'; approval = false; timeoutMs = 1000;
        parse(args) { return { ok: true, args }; }
        async run(args) { return { content: this.name + JSON.stringify(args), isError: false }; }
      }
      export default { tools: [new Echo()] };`);
    const [tool] = (await load()).tools;
    expect(tool?.parse({ a: 1 })).toEqual({ ok: true, args: { a: 1 } });
  });

  it('refuse a tool that is none, naming the part', async () => {
    await fileOf({ tools: [{ name: 'half', description: 'x', effect: 'sometimes' }] });
    const message = await refusal();
    expect(message).toMatch(/tools\[0\]\.effect is wrong: found "sometimes"; allowed is what defineTool/);
    expect(message).toMatch(/tools\[0\]\.run is wrong: found nothing/);
  });
});

describe('limits of tenants and of providers', () => {
  it('are taken as they are given', async () => {
    const limits = { requestsPerMinute: 600, tokensPerMinute: 90_000, concurrent: 4 };
    await fileOf({ legs: [{ ...leg, limits }], limits: { tenantShare: 0.25, tenantRunning: 3 } });
    const config = await load();
    expect(config.legs[0]?.limits).toEqual(limits);
    expect(config.limits).toMatchObject({ tenantShare: 0.25, tenantRunning: 3, stepBudget: 40 });
  });

  it('are refused where they could hold nothing, each with what is allowed', async () => {
    for (const [given, sentence] of [
      [{ limits: { tenantShare: 0 } }, /limits\.tenantShare is wrong: found 0; allowed is a number above 0/],
      [{ limits: { tenantShare: 1.5 } }, /limits\.tenantShare is wrong: found 1\.5/],
      [{ limits: { tenantRunning: 0 } }, /limits\.tenantRunning is wrong: found 0; .* or null/],
      [{ legs: [{ ...leg, limits: { concurrent: 0 } }] }, /legs\[0\]\.limits\.concurrent is wrong: found 0/],
      [{ legs: [{ ...leg, limits: { rpm: 3 } }] }, /legs\[0\]\.limits\.rpm is unknown; .*requestsPerMinute/],
    ] as const) {
      await fileOf(given);
      expect(await refusal()).toMatch(sentence);
      await freshFolder();
    }
  });

  it('are the same for legs that call one model with one key, as they are counted together', async () => {
    const limits = { requestsPerMinute: 60 };
    const twin = { ...leg, name: 'twin' };
    await fileOf({
      legs: [
        { ...leg, limits },
        { ...twin, limits: { requestsPerMinute: 30 } },
      ],
    });
    expect(await refusal()).toMatch(/"main" and "twin" call the same model with the same key/);
    await freshFolder();
    await fileOf({
      legs: [
        { ...leg, limits },
        { ...twin, limits },
        { ...leg, name: 'third', apiKeyEnv: 'K' },
      ],
    });
    expect((await load()).legs).toHaveLength(3);
  });
});

describe('a refusal', () => {
  it('comes for every key that is not known, whatever it is called', async () => {
    await fc.assert(
      fc.asyncProperty(fc.stringMatching(/^x[A-Za-z]{1,12}$/), async (key) => {
        const message = await refusal({ [`TURNWRIGHT_${key.toUpperCase()}`]: '1' });
        expect(message).toContain(`TURNWRIGHT_${key.toUpperCase()} is unknown`);
      }),
      { numRuns: 30 },
    );
  });
});

it('defineConfig returns what it was given', () => {
  const input = { port: 1 };
  expect(defineConfig(input)).toBe(input);
});

it('a concurrency from the command line is read as the variable is, and names its source', () => {
  expect(parseConcurrency('turn=1,upkeep=2', '--concurrency')).toEqual({
    turn: { concurrency: 1 },
    upkeep: { concurrency: 2 },
  });
  expect(() => parseConcurrency('turn=0', '--concurrency')).toThrow(
    /--concurrency: pools\.turn\.concurrency is wrong: found 0/,
  );
});
