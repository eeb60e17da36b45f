import { mkdir, mkdtemp, readFile, readlink, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { repairLinks } from '../../../../src/app/embedded/binaries.ts';

describe('repairing the PostgreSQL package', () => {
  let packageDir: string;
  let nativeDir: string;

  beforeEach(async () => {
    packageDir = await mkdtemp(join(tmpdir(), 'turnwright-package-'));
    nativeDir = join(packageDir, 'native');
    await mkdir(join(nativeDir, 'bin'), { recursive: true });
    await mkdir(join(nativeDir, 'lib'));
    for (const name of ['initdb', 'postgres']) {
      await writeFile(join(nativeDir, 'bin', name), '#!/bin/sh\n', { mode: 0o644 });
    }
    await writeFile(join(nativeDir, 'lib', 'libpq.so.5.18'), 'library');
    await writeFile(
      join(nativeDir, 'pg-symlinks.json'),
      JSON.stringify([
        { source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so.5' },
        { source: 'native/lib/libpq.so.5.18', target: 'native/lib/libpq.so' },
      ]),
    );
  });
  afterEach(() => rm(packageDir, { recursive: true, force: true }));

  it('makes the links that the install script would have made, relative so that the folder may move', async () => {
    await repairLinks(nativeDir);
    expect(await readlink(join(nativeDir, 'lib', 'libpq.so.5'))).toBe('libpq.so.5.18');
    expect(await readFile(join(nativeDir, 'lib', 'libpq.so'), 'utf8')).toBe('library');
  });

  it('makes the programs executable', async () => {
    await repairLinks(nativeDir);
    for (const name of ['initdb', 'postgres']) {
      expect((await stat(join(nativeDir, 'bin', name))).mode & 0o555).toBe(0o555);
    }
  });

  it('changes nothing where all is well, and runs without the list of links', async () => {
    await symlink('libpq.so.5.18', join(nativeDir, 'lib', 'libpq.so.5'));
    await repairLinks(nativeDir);
    await repairLinks(nativeDir);
    expect(await readlink(join(nativeDir, 'lib', 'libpq.so.5'))).toBe('libpq.so.5.18');
    await rm(join(nativeDir, 'pg-symlinks.json'));
    await expect(repairLinks(nativeDir)).resolves.toBeUndefined();
  });

  it('names the link that cannot be made and what to do', async () => {
    await rm(join(nativeDir, 'lib'), { recursive: true });
    await expect(repairLinks(nativeDir)).rejects.toMatchObject({
      code: 'database_unreachable',
      message: expect.stringMatching(
        /libpq\.so\.5 .*Install again with install scripts allowed, or set DATABASE_URL/,
      ),
    });
  });
});
