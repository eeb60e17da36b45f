/** Writes `docs/performance.md` from the last run of the bench. Not part of the checked pages: figures change by run. */
import { readFile, writeFile } from 'node:fs/promises';
import { cpus, platform } from 'node:os';
import type { OverheadResult } from '../bench/overhead.ts';

const results = JSON.parse(await readFile('bench/out/overhead.json', 'utf8')) as readonly OverheadResult[];
const ms = (value: number) => value.toFixed(2);
const rows = results.map(({ backend, parts, floorMs, turnMs, ratio, ratioRange, growth }) => {
  const range = `${ratioRange[0].toFixed(2)} to ${ratioRange[1].toFixed(2)}`;
  const figures = [ms(parts.commit), ms(parts.claim), ms(parts.trip), ms(floorMs), ms(turnMs)];
  return `| ${backend} | ${figures.join(' | ')} | **${ratio.toFixed(2)} ×** (${range}) | ${growth.toFixed(2)} × |`;
});
const page = `# Performance

\`npm run bench\` measures; this page is written from a run of it (\`npx tsx tools/performance.ts\`), on ${cpus().length} cores of ${cpus()[0]?.model.trim() ?? 'an unnamed processor'} (${platform()}, Node ${process.versions.node}), embedded PostgreSQL with \`fsync\` and \`synchronous_commit\` on.

*The standard turn*: one directive, three model steps, two of them call a tool that returns 2 KB, an answer of 500 characters; the model answers at once, so what is left is the engine. *Its floor*: six durable single-row commits, five that may be lost, five queue trips from add to handler, measured in alternation with the turns. Milliseconds, medians.

| queue | commit | claim | trip | floor | turn | turn over floor | turns 291–300 over turns 3–12, 8k leg |
|---|---|---|---|---|---|---|---|
${rows.join('\n')}
`;
await writeFile('docs/performance.md', page);
