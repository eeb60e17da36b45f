/** Says whether the declared schema has changes that no migration makes. */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The problem in words, or null when every declared change has its migration. */
export async function missingMigration(root: string): Promise<string | null> {
  const copy = await mkdtemp(join(tmpdir(), 'turnwright-migrations-'));
  try {
    await cp(join(root, 'drizzle'), copy, { recursive: true });
    const before = await readdir(copy);
    const drizzle = join(root, 'node_modules', '.bin', 'drizzle-kit');
    // drizzle-kit takes `--out` for relative, and writes nothing to an absolute one.
    const out = relative(root, copy);
    const args = ['generate', '--dialect', 'postgresql', '--schema', './src/db/schema.ts', '--out', out];
    const { stdout } = await run(drizzle, args, { cwd: root });
    const after = await readdir(copy);
    return after.length === before.length
      ? null
      : `The schema declares what no migration makes. Run \`npx drizzle-kit generate\`.\n${stdout}`;
  } finally {
    await rm(copy, { recursive: true, force: true });
  }
}
