/**
 * One process owns a data folder. States of its lock file: absent; held (the named process lives);
 * stale (it does not, or its number now belongs to another process), which the next start takes over.
 */
import { createHash, randomBytes } from 'node:crypto';
import { link, mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { TurnwrightError } from '../../ledger/errors.ts';
import { isErrno, processIdentity } from './processes.ts';

const LOCK_NAME = 'turnwright.lock';
/** Each round lost means another process changes the lock; so many in a row means it is contested. */
const MAX_ROUNDS = 100;
const ROUND_PAUSE_MS = 20;
/** A stale lock is removed in a moment: a mark this old was left by a process that died over it. */
const MARK_MS = 1_000;

const lockContent = z.object({ pid: z.int().positive(), identity: z.string() });

export interface Ownership {
  release(): Promise<void>;
}

/** @throws TurnwrightError `data_folder_in_use`, naming the owner's process number. */
export async function ownFolder(dataDir: string): Promise<Ownership> {
  const path = join(dataDir, LOCK_NAME);
  const identity = (await processIdentity(process.pid)) ?? 'unknown';
  const mine = JSON.stringify({ pid: process.pid, identity });
  for (let round = 0; round < MAX_ROUNDS; round += 1) {
    if (await createWhole(path, mine)) return { release: () => removeOwn(path, mine) };
    const held = await readFile(path, 'utf8').catch(() => null);
    if (held === null) continue;
    const owner = await livingOwner(held);
    if (owner !== null) throw inUse(dataDir, `process ${owner}`, owner);
    await removeStale(path, held);
    await pause(ROUND_PAUSE_MS);
  }
  throw inUse(dataDir, 'another process that is starting at the same moment', null);
}

function inUse(dataDir: string, who: string, ownerPid: number | null): TurnwrightError {
  return new TurnwrightError(
    'data_folder_in_use',
    `The data folder ${dataDir} is in use by ${who}. Stop it, or choose another folder with TURNWRIGHT_DATA_DIR.`,
    { details: { dataDir, ownerPid } },
  );
}

/** A lock that cannot be read was not written by us whole, so nobody holds it. */
async function livingOwner(content: string): Promise<number | null> {
  const parsed = lockContent.safeParse(parseJson(content));
  if (!parsed.success) return null;
  const identity = await processIdentity(parsed.data.pid);
  return identity !== null && identity === parsed.data.identity ? parsed.data.pid : null;
}

/** Appears with its whole content or not at all, so a reader never sees half a lock. */
async function createWhole(path: string, content: string): Promise<boolean> {
  const draft = besideOf(path);
  await writeFile(draft, content, { mode: 0o600 });
  try {
    await link(draft, path);
    return true;
  } catch (error) {
    if (isErrno(error, 'EEXIST')) return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/**
 * Removes a lock whose holder is gone. Each stale content has one remover at a time, who alone may unlink it, so a
 * lock that took its place is never touched. A remover that died leaves its mark, which counts for a while.
 */
async function removeStale(path: string, stale: string): Promise<void> {
  const mark = `${path}.stale-${createHash('sha256').update(stale).digest('hex').slice(0, 16)}`;
  try {
    await mkdir(mark);
  } catch (error) {
    if (!isErrno(error, 'EEXIST')) throw error;
    const age = await stat(mark).then(
      ({ mtimeMs }) => Date.now() - mtimeMs,
      () => 0,
    );
    if (age > MARK_MS) await rm(mark, { recursive: true, force: true });
    return;
  }
  await removeOwn(path, stale);
  await rm(mark, { recursive: true, force: true });
}

async function removeOwn(path: string, content: string): Promise<void> {
  const found = await readFile(path, 'utf8').catch(() => null);
  if (found === content) await rm(path, { force: true });
}

function besideOf(path: string): string {
  return `${path}.${process.pid}.${randomBytes(6).toString('hex')}`;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
