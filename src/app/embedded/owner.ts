/**
 * One process owns a data folder. States of its lock file: absent; held (the named process lives);
 * stale (it does not, or its number now belongs to another process), which the next start takes over.
 */
import { randomBytes } from 'node:crypto';
import { link, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { TurnwrightError } from '../../ledger/errors.ts';
import { isErrno, processIdentity } from './processes.ts';

const LOCK_NAME = 'turnwright.lock';
/** Each round lost means another process changed the lock meanwhile; five in a row means it is contested. */
const MAX_ROUNDS = 5;

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
    if (await createWhole(path, mine)) return { release: () => removeIf(path, mine) };
    const held = await readFile(path, 'utf8').catch(() => null);
    if (held === null) continue;
    const owner = await livingOwner(held);
    if (owner !== null) throw inUse(dataDir, `process ${owner}`, owner);
    await removeIf(path, held);
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

/** Removes exactly the lock that was judged: one that took its place meanwhile is put back. */
async function removeIf(path: string, content: string): Promise<void> {
  const moved = besideOf(path);
  try {
    await rename(path, moved);
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return;
    throw error;
  }
  const found = await readFile(moved, 'utf8');
  if (found !== content) await createWhole(path, found);
  await rm(moved, { force: true });
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
