import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const SCRIPT = fileURLToPath(new URL('./long-search.ts', import.meta.url));
const TURNS = 400;
const TURN_BYTES = 500_000;
/** Of 1,048,576 bytes each. */
const MOST_GROWTH_MB = 64;
const LIMIT_MS = 60_000;

it(
  'DOR-02 fault 17: a search of 200 MB holds one turn at a time: the process grows by less than 64 MB',
  async () => {
    const args = ['--expose-gc', '--import', 'tsx', SCRIPT, `${TURNS}`, `${TURN_BYTES}`];
    const { stdout } = await promisify(execFile)(process.execPath, args, { timeout: LIMIT_MS });
    const said = JSON.parse(stdout) as Record<'total' | 'madeBytes' | 'grownBytes' | 'seconds', number>;
    process.stderr.write(`a search of ${said.madeBytes} bytes: ${said.grownBytes} more, ${said.seconds} s\n`);
    // Numbers from 17 to 397 that end in 7.
    expect(said.total).toBe(39);
    expect(said.madeBytes).toBeGreaterThanOrEqual(TURNS * TURN_BYTES);
    expect(said.grownBytes).toBeLessThan(MOST_GROWTH_MB * 1_048_576);
  },
  LIMIT_MS,
);
