import { spawn } from 'node:child_process';
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ownFolder } from '../../src/app/embedded/owner.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/app/embedded/postgres.ts';
import { processIdentity } from '../../src/app/embedded/processes.ts';
import { type OwnerProcess, queryRows, startOwner, temporaryDataDir } from '../support/embedded-folder.ts';

describe('the owner of a data folder', () => {
  let dataDir: string;
  let remove: () => Promise<void>;
  const cleanups: (() => Promise<void> | void)[] = [];

  const start = async (): Promise<EmbeddedPostgres> => {
    const server = await startEmbeddedPostgres({ dataDir });
    cleanups.push(() => server.stop());
    return server;
  };
  const own = async (): Promise<OwnerProcess> => {
    const owner = await startOwner(dataDir, 'wait');
    cleanups.push(async () => {
      owner.kill('SIGKILL');
      await owner.ended;
    });
    return owner;
  };

  beforeEach(async () => {
    ({ dataDir, remove } = await temporaryDataDir());
  });
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0)) await cleanup();
    await remove();
  });

  it('is named, with what to do, when another start wants the same folder', async () => {
    const owner = await own();
    await expect(start()).rejects.toMatchObject({
      code: 'data_folder_in_use',
      message: expect.stringMatching(new RegExp(`process ${owner.pid}\\b.*TURNWRIGHT_DATA_DIR`)),
      details: { ownerPid: owner.pid },
    });
    expect(await queryRows(owner.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('is this very process when it starts twice', async () => {
    const server = await start();
    await expect(startEmbeddedPostgres({ dataDir })).rejects.toMatchObject({
      code: 'data_folder_in_use',
      details: { ownerPid: process.pid },
    });
    expect(await queryRows(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });

  it('is replaced when it was killed, and its data is there', async () => {
    const owner = await own();
    await queryRows(owner.url, `CREATE TABLE kept AS SELECT 'here' AS word`);
    owner.kill('SIGKILL');
    await owner.ended;
    const server = await start();
    expect(await queryRows(server.url, 'SELECT word FROM kept')).toEqual([{ word: 'here' }]);
    expect(await processIdentity(owner.serverPid)).toBeNull();
  });

  it('is replaced when its number belongs to an unrelated process by now', async () => {
    const first = await start();
    await first.stop();
    // Of the server's own user: PostgreSQL takes the number of another user's process for stale by itself.
    const { uid, gid } = await stat(join(dataDir, 'cluster'));
    const unrelated = spawn('sleep', ['600'], { stdio: 'ignore', uid, gid });
    cleanups.push(() => void unrelated.kill('SIGKILL'));
    const pid = unrelated.pid ?? 0;
    await writeFile(join(dataDir, 'turnwright.lock'), JSON.stringify({ pid, identity: 'an earlier life' }));
    await writeFile(
      join(dataDir, 'cluster', 'postmaster.pid'),
      `${pid}\n${join(dataDir, 'cluster')}\n1\n1\n\n\n\nready\n`,
    );
    const second = await start();
    expect(await queryRows(second.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
    expect(unrelated.exitCode ?? unrelated.signalCode).toBeNull();
  });

  it('is nobody when the lock was cut short by a full disk', async () => {
    await mkdir(dataDir);
    await writeFile(join(dataDir, 'turnwright.lock'), '{"pid":');
    await (await ownFolder(dataDir)).release();
  });

  it('is exactly one of many that start at the same moment over a stale lock', async () => {
    await mkdir(dataDir);
    await writeFile(
      join(dataDir, 'turnwright.lock'),
      JSON.stringify({ pid: 1, identity: 'an earlier life' }),
    );
    const starts = await Promise.allSettled(Array.from({ length: 8 }, () => ownFolder(dataDir)));
    const owners = starts.filter((result) => result.status === 'fulfilled');
    expect(owners).toHaveLength(1);
    for (const result of starts) {
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'data_folder_in_use' });
    }
    await owners[0]?.value.release();
  });

  it('gives the folder free when the start fails, so that the next can try', async () => {
    await mkdir(join(dataDir, 'cluster', 'not-a-database'), { recursive: true });
    await expect(start()).rejects.toThrow();
    await (await ownFolder(dataDir)).release();
  });
});
