/** Writes the generated pages of `docs/`; with `--check`, fails when one is not current. */
import { readFile, writeFile } from 'node:fs/promises';
import { turnMachine } from '../src/machines/turn.ts';
import { errorsPage } from './docs/errors.ts';
import { lifecyclePage } from './docs/lifecycle.ts';
import { eventsPage, metricsPage } from './docs/tables.ts';

const INTRO = `A turn is one directive and everything until its outcome. This page is drawn from the machine itself (\`src/machines/turn.ts\`); \`npm run docs\` draws it again.

A *side call* is a job on a pool of its own: \`step\`, \`tool\`, \`summary\`, \`intent\`. Its result comes back as an event in the transaction that stores it.`;

const pages: Readonly<Record<string, string>> = {
  'docs/turn-lifecycle.md': lifecyclePage('The life of a turn', INTRO, turnMachine),
  'docs/errors.md': errorsPage(),
  'docs/events.md': eventsPage(),
  'docs/metrics.md': metricsPage(),
};

const stale: string[] = [];
for (const [path, text] of Object.entries(pages)) {
  const current = await readFile(path, 'utf8').catch(() => '');
  if (current === text) continue;
  stale.push(path);
  if (!process.argv.includes('--check')) await writeFile(path, text);
}
if (process.argv.includes('--check') && stale.length > 0) {
  console.error(`Not current: ${stale.join(', ')}. Run \`npm run docs\` and commit the result.`);
  process.exitCode = 1;
}
