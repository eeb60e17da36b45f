/** `npm run bench [-- --json] [-- --backend redis|postgres]`: prints every figure as a ratio to its floor. */
import { mkdir, writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { type OverheadResult, overhead } from './overhead.ts';
import type { Backend } from './stack.ts';

const { values } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    backend: { type: 'string', multiple: true, default: ['redis', 'postgres'] },
  },
});
const results: OverheadResult[] = [];
for (const backend of values.backend) results.push(await overhead(backend as Backend));
await mkdir('bench/out', { recursive: true });
await writeFile('bench/out/overhead.json', JSON.stringify(results, null, 1));
if (values.json) console.log(JSON.stringify({ overhead: results }));
else for (const result of results) console.log(table(result));

function table({ backend, parts, floorMs, turnMs, ratio, ratioRange, growth }: OverheadResult): string {
  const ms = (value: number) => `${value.toFixed(2)} ms`;
  return [
    `standard turn, one session, BullMQ on ${backend}`,
    `  commit ${ms(parts.commit)}   claim ${ms(parts.claim)}   queue trip ${ms(parts.trip)}`,
    `  floor (6 commits, 5 claims, 5 trips)   ${ms(floorMs)}`,
    `  turn (median)                          ${ms(turnMs)}`,
    `  turn over floor                        ${ratio.toFixed(2)} x  (${ratioRange[0].toFixed(2)} to ${ratioRange[1].toFixed(2)})`,
    `  turns 291-300 over turns 3-12, 8k leg  ${growth.toFixed(2)} x`,
  ].join('\n');
}
