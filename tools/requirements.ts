/** Lists each requirement with the tests that carry its id; fails when a built one has none. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

const ROW = /^\| ([A-Z]{3}-\d{2}) \| (.+) \| (done|base|planned) \|$/u;
const TEST_NAME = /\b(?:it|test|describe)(?:\.\w+)*\(\s*(?:\n\s*)?[`'"]([^`'"\n]+)/gu;

const rows = (await readFile('docs/requirements.md', 'utf8')).split('\n').flatMap((line) => {
  const [, id = '', sentence = '', status = ''] = ROW.exec(line) ?? [];
  return id === '' ? [] : [{ id, sentence, status }];
});
const names = await testNames('test');
const bare: string[] = [];
for (const { id, sentence, status } of rows) {
  const carried = names.filter((name) => name.includes(id));
  if (status !== 'planned' && carried.length === 0) bare.push(id);
  if (process.argv.includes('--quiet')) continue;
  console.log(`${id}  ${status.padEnd(7)}  ${sentence}`);
  for (const name of carried) console.log(`         - ${name}`);
}
if (bare.length > 0) {
  console.error(`Marked as built, but no test carries the id: ${bare.join(', ')}.`);
  process.exitCode = 1;
}

async function testNames(folder: string): Promise<readonly string[]> {
  const files = (await readdir(folder, { recursive: true })).filter((file) =>
    /\.(?:test|suite)\.ts$/u.test(file),
  );
  const texts = await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')));
  return texts.flatMap((text) => [...text.matchAll(TEST_NAME)].map(([, name = '']) => name));
}
