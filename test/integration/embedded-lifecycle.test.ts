import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/app/embedded/postgres.ts';
import { processIdentity } from '../../src/app/embedded/processes.ts';
import { queryRows, temporaryDataDir } from '../support/embedded-folder.ts';

const isRoot = process.getuid?.() === 0;

describe('a running embedded PostgreSQL', () => {
  let dataDir: string;
  let server: EmbeddedPostgres;
  let remove: () => Promise<void>;

  beforeAll(async () => {
    ({ dataDir, remove } = await temporaryDataDir());
    process.env.TURNWRIGHT_TEST_MARKER = 'marker-of-this-test';
    server = await startEmbeddedPostgres({ dataDir });
  });
  afterAll(async () => {
    delete process.env.TURNWRIGHT_TEST_MARKER;
    await server.stop();
    await remove();
  });

  it('makes a database in UTF-8 with the C locale that writes durably', async () => {
    expect(
      await queryRows(
        server.url,
        `SELECT pg_encoding_to_char(encoding) AS encoding, datcollate AS locale,
                current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commit,
                current_setting('full_page_writes') AS pages, current_setting('max_connections') AS connections
         FROM pg_database WHERE datname = current_database()`,
      ),
    ).toEqual([
      { encoding: 'UTF8', locale: 'C', fsync: 'on', commit: 'on', pages: 'on', connections: '200' },
    ]);
  });

  it('listens on loopback alone and refuses a wrong password', async () => {
    expect(new URL(server.url).hostname).toBe('127.0.0.1');
    expect(await queryRows(server.url, `SHOW listen_addresses`)).toEqual([{ listen_addresses: '127.0.0.1' }]);
    const wrong = new URL(server.url);
    wrong.password = 'wrong';
    await expect(queryRows(wrong.href, 'SELECT 1')).rejects.toThrow(/password authentication failed/);
  });

  it('keeps its random password in a file that the owner alone reads', async () => {
    const path = join(dataDir, 'postgres-password');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    const password = (await readFile(path, 'utf8')).trim();
    expect(new URL(server.url).password).toBe(password);
    expect(password.length).toBeGreaterThanOrEqual(32);
  });

  it('shows the server nothing of the environment, where credentials stand', async () => {
    const environment = await readFile(`/proc/${server.pid}/environ`, 'utf8');
    expect(environment).toContain('PATH=');
    expect(environment).not.toContain('marker-of-this-test');
  });

  it.runIf(isRoot)('runs as an ordinary user inside a folder that only root may enter', async () => {
    expect((await stat(join(dataDir, '..'))).mode & 0o777).toBe(0o700);
    expect((await stat(join(dataDir, 'cluster'))).uid).not.toBe(0);
    const status = await readFile(`/proc/${server.pid}/status`, 'utf8');
    expect(/^Uid:\s+(\d+)/m.exec(status)?.[1]).not.toBe('0');
  });
});

describe('the embedded PostgreSQL from one start to the next', () => {
  let dataDir: string;
  let remove: () => Promise<void>;
  const running: EmbeddedPostgres[] = [];

  const start = async (): Promise<EmbeddedPostgres> => {
    const server = await startEmbeddedPostgres({ dataDir });
    running.push(server);
    return server;
  };

  beforeEach(async () => {
    ({ dataDir, remove } = await temporaryDataDir());
  });
  afterEach(async () => {
    await Promise.all(running.splice(0).map((server) => server.stop()));
    await remove();
  });

  it('keeps data, user and password from one start to the next', async () => {
    const first = await start();
    await queryRows(first.url, `CREATE TABLE kept AS SELECT 'here' AS word`);
    await first.stop();
    const second = await start();
    expect(await queryRows(second.url, 'SELECT word FROM kept')).toEqual([{ word: 'here' }]);
    expect(new URL(second.url).password).toBe(new URL(first.url).password);
  });

  it('leaves no process and no lock after stop, which may be called twice', async () => {
    const server = await start();
    await Promise.all([server.stop(), server.stop()]);
    await server.stop();
    expect(await processIdentity(server.pid)).toBeNull();
    expect((await readdir(dataDir)).sort()).toEqual(['cluster', 'postgres-password']);
  });

  it('keeps what was committed when the server itself is killed', async () => {
    const first = await start();
    await queryRows(first.url, `CREATE TABLE kept AS SELECT 'here' AS word`);
    process.kill(first.pid, 'SIGKILL');
    await first.stop();
    const second = await start();
    expect(await queryRows(second.url, 'SELECT word FROM kept')).toEqual([{ word: 'here' }]);
  });

  it('refuses a folder whose database came from another major version, and says what to do', async () => {
    const server = await start();
    await server.stop();
    await writeFile(join(dataDir, 'cluster', 'PG_VERSION'), '12\n');
    await expect(start()).rejects.toMatchObject({
      code: 'database_unreachable',
      message: expect.stringMatching(/made by PostgreSQL 12.*carries 18.*another folder/),
    });
  });

  it('names the missing password file of an existing database', async () => {
    const server = await start();
    await server.stop();
    await rm(join(dataDir, 'postgres-password'));
    await expect(start()).rejects.toMatchObject({
      code: 'database_unreachable',
      message: expect.stringContaining(join(dataDir, 'postgres-password')),
    });
  });
});
