/** The longer forms of tests, by name: `npm run test:long -- <name>`. */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

interface LongForm {
  readonly file: string;
  readonly says: string;
  readonly env: Readonly<Record<string, string>>;
}

const VITEST = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url));

const LONG_FORMS: Readonly<Record<string, LongForm>> = {
  kill: {
    file: 'test/e2e/kill.test.ts',
    says: '40 kills of the worker on each queue backend',
    env: { TURNWRIGHT_TEST_KILLS: '40' },
  },
  'edit-scripts': {
    file: 'test/unit/reference/evict-agreement.test.ts',
    says: '5,000 random lives of sessions that evict, fork, clear and go back, against the reference',
    env: { TURNWRIGHT_TEST_EDIT_SCRIPTS: '5000' },
  },
};

const [name = ''] = process.argv.slice(2);
const form = Object.hasOwn(LONG_FORMS, name) ? LONG_FORMS[name] : undefined;
if (form === undefined) {
  const names = Object.entries(LONG_FORMS).map(([known, { says }]) => `  ${known}  ${says}`);
  process.stderr.write(`There is no long test "${name}". Run one of:\n${names.join('\n')}\n`);
  process.exit(2);
}
const run = spawnSync(process.execPath, [VITEST, 'run', form.file], {
  stdio: 'inherit',
  env: { ...process.env, ...form.env },
});
process.exit(run.status ?? 1);
