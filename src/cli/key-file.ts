/** Where `up` leaves its address and a key for the commands of the same folder. Readable by its owner alone. */
import { chmod, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

const NAME = 'client.json';

const content = z.object({ url: z.string(), key: z.string() });

export type KeyFile = z.infer<typeof content>;

export function keyFilePath(dataDir: string): string {
  return join(dataDir, NAME);
}

/** null when there is none, or what stands there was not written by us. */
export async function readKeyFile(dataDir: string): Promise<KeyFile | null> {
  try {
    const parsed = content.safeParse(JSON.parse(await readFile(keyFilePath(dataDir), 'utf8')));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}

/** Appears whole, and never readable by others, not even for a moment. */
export async function writeKeyFile(dataDir: string, file: KeyFile): Promise<void> {
  const path = keyFilePath(dataDir);
  const draft = `${path}.${process.pid}`;
  try {
    await writeFile(draft, `${JSON.stringify(file)}\n`, { mode: 0o600 });
    await chmod(draft, 0o600);
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
}
