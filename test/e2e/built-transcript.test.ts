/** The thread that searches starts from what is published too, where no loader stands between a file and Node. */
import { execFile } from 'node:child_process';
import { cp, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const LIMIT_MS = 180_000;
const run = promisify(execFile);

const SEARCH = `
import { chainRecords, GENESIS_DIGEST } from './dist/ledger/chain.js';
import { grepTurns } from './dist/runtime/transcript/grep.js';
import { systemClock } from './dist/app/clock.js';
const [session, turn, headId] = ['1', '2', '3'].map((last) => '0190a000-0000-7000-8000-00000000000' + last);
const input = [{ type: 'text', text: 'Where is the lamp?' }];
const drafts = [
  { kind: 'turn-accepted', turnId: turn, body: { number: 1, input, mode: 'enqueue', priority: 0, asked: { digest: 'd' } } },
  { kind: 'turn-context', turnId: turn, body: { item: 1, utc: '2026-01-01T00:00:00Z', timezone: 'UTC' } },
].map((draft) => ({ headId, draft }));
const records = chainRecords({ session, nextSeq: 1, lastDigest: GENESIS_DIGEST }, drafts);
async function* source() {
  yield { session, turn, number: 1, items: { from: 1, to: 1 }, records };
}
const asked = { pattern: 'l[a]mp', items: null, newest: 1 };
const limits = { deadlineMs: 60_000, clock: systemClock, signal: new AbortController().signal };
console.log(JSON.stringify(await grepTurns(source(), asked, limits)));
`;

it(
  'DOR-01 a search runs in its thread from the built package',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'turnwright-built-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const tsc = join(ROOT, 'node_modules/typescript/bin/tsc');
    const built = ['-p', 'tsconfig.build.json', '--outDir', join(folder, 'dist')];
    // Types are checked elsewhere.
    await run(process.execPath, [tsc, ...built, '--noCheck', '--declaration', 'false'], { cwd: ROOT });
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
    await cp(join(ROOT, 'package.json'), join(folder, 'package.json'));
    await writeFile(join(folder, 'search.mjs'), SEARCH);
    const { stdout } = await run(process.execPath, ['search.mjs'], { cwd: folder });
    expect(JSON.parse(stdout)).toMatchObject({
      kind: 'found',
      total: 1,
      complete: true,
      hits: [{ item: 1, turn: 1, message: 1, line: 1, text: 'Where is the lamp?' }],
    });
  },
  LIMIT_MS,
);
