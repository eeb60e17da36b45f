import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPostgres, type TestDatabase } from '../../support/postgres.ts';
import { redisAvailable, startRedis } from '../../support/redis.ts';
import { onlyObject, runInTerminal } from '../../unit/cli/terminal.ts';
import { serve } from './cli-process.ts';

const START_MS = 120_000;
const NOWHERE = 'postgres://u:p@127.0.0.1:1/db';

let database: TestDatabase;
let cwd = '';

beforeAll(async () => {
  cwd = await mkdtemp(join(tmpdir(), 'turnwright-commands-'));
  database = await startPostgres();
});

afterAll(async () => {
  await database.stop();
  await rm(cwd, { recursive: true, force: true });
});

async function json(words: readonly string[], env: Readonly<Record<string, string>>) {
  const run = await runInTerminal([...words, '--json'], { cwd, env });
  return { exit: run.exit, value: onlyObject(run.stdout), stderr: run.stderr };
}

async function query(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

describe('a dependency that is away', () => {
  it.each([[['migrate']], [['worker']], [['api', '--port', '0']], [['keys', 'list']]])(
    'makes %j exit 3 and name it, without the password',
    async (words) => {
      const run = await json(words, { DATABASE_URL: NOWHERE });
      expect(run.exit).toBe(3);
      expect(run.value).toMatchObject({ error: { code: 'database_unreachable' } });
      expect(run.stderr).not.toContain('u:p');
    },
  );

  it('makes the demo exit 3 when no Redis is where REDIS_URL says', async () => {
    const run = await json(['demo', '--backend', 'redis'], {
      DATABASE_URL: database.url,
      REDIS_URL: 'redis://127.0.0.1:1',
    });
    expect(run.exit).toBe(3);
    expect(run.value).toMatchObject({ error: { code: 'queue_unreachable' } });
  });

  it('makes doctor exit 3, with a line for each', async () => {
    const run = await json(['doctor'], { DATABASE_URL: NOWHERE, REDIS_URL: 'redis://127.0.0.1:1' });
    expect(run.exit).toBe(3);
    expect(run.value.checks).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ name: 'postgres', finding: 'unreachable' }),
        expect.objectContaining({ name: 'queue', finding: 'unreachable' }),
      ]),
    );
  });
});

describe('a database nobody migrated', () => {
  it('makes worker and API exit 3 and say what to run, and doctor 1', async () => {
    const fresh = await startPostgres();
    try {
      const env = { DATABASE_URL: fresh.url };
      expect(await json(['worker'], env)).toMatchObject({
        exit: 3,
        value: { error: { code: 'migration_required' } },
      });
      expect((await json(['doctor'], env)).exit).toBe(1);
      expect(await json(['migrate'], env)).toMatchObject({ exit: 0, value: { migrated: true } });
      expect(await json(['migrate'], env)).toMatchObject({ exit: 0, value: { migrated: true } });
      expect((await json(['doctor'], env)).exit).toBe(0);
    } finally {
      await fresh.stop();
    }
  });

  it('prints the SQL for an administrator and exits 3 when the user may not create roles', async () => {
    const name = `tw_weak_${randomBytes(4).toString('hex')}`;
    await query(database.url, `CREATE ROLE ${name} LOGIN PASSWORD 'weak'`);
    const url = new URL(database.url);
    [url.username, url.password] = [name, 'weak'];
    try {
      const env = { DATABASE_URL: url.href };
      const asked = await json(['migrate'], env);
      const { error } = asked.value as { error: { code: string; details: { sql: string } } };
      expect([asked.exit, error.code]).toEqual([3, 'roles_missing']);
      const printed = await runInTerminal(['migrate'], { cwd, env });
      expect(printed.stdout).toBe(`${error.details.sql}\n`);
      expect(printed.stdout).toContain(`GRANT turnwright_owner TO "${name}"`);
    } finally {
      await query(database.url, `DROP ROLE ${name}`);
    }
  });
});

describe.each(['postgres', 'redis'] as const)('worker and API on %s', (backend) => {
  it.skipIf(backend === 'redis' && !redisAvailable())(
    'RUN-13 serve until Ctrl-C and then end by themselves',
    async () => {
      const redis = backend === 'redis' ? await startRedis() : null;
      const env = { DATABASE_URL: database.url, ...(redis === null ? {} : { REDIS_URL: redis.url }) };
      try {
        expect((await json(['migrate'], env)).exit).toBe(0);
        const worker = await serve(['worker', '--pools', 'step,tool', '--concurrency', 'step=3'], {
          cwd,
          env,
        });
        expect(worker.ready).toMatchObject({
          pools: { step: { concurrency: 3 }, tool: { concurrency: 16 } },
        });
        const api = await serve(['api', '--port', '0'], { cwd, env });
        expect((await fetch(`${String(api.ready.url)}/readyz`)).status).toBe(200);
        expect((await json(['doctor'], env)).exit).toBe(0);
        expect((await worker.stop('SIGTERM')).exit).toBe(0);
        expect((await api.stop('SIGINT')).exit).toBe(0);
      } finally {
        await redis?.stop();
      }
    },
    START_MS,
  );
});

describe('sim', () => {
  it('says that it simulates, answers, and ends on Ctrl-C', async () => {
    const sim = await serve(['sim'], { cwd });
    expect(sim.ready).toMatchObject({ simulated: true });
    expect((await fetch(`${String(sim.ready.url)}/sim/healthz`)).status).toBe(200);
    expect((await sim.stop('SIGINT')).exit).toBe(0);
  });
});
