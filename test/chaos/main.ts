/** `npm run chaos`: breaks a whole deployment for some minutes and says what was lost, repeated or stuck. */
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { BACKENDS } from '../support/stack-contract.ts';
import { FAULT_KINDS } from './faults.ts';
import { holds, textOf } from './report.ts';
import { runChaos } from './run.ts';

const LEASE_MS = 3_000;
const PAUSES = { shortestMs: 1_000, longestMs: 5_000 };
const MS_PER_MINUTE = 60_000;

const USAGE = `npm run chaos -- --backend redis|postgres [--minutes M] [--seed S] [--sessions N] [--workers W] [--faults a,b] [--json]
With TURNWRIGHT_START_HERE=true processes start the next calls of their turns themselves.
Faults: ${FAULT_KINDS.map(({ name }) => name).join(', ')}. "none" runs without any.`;

const settings = z.strictObject({
  backend: z.enum(BACKENDS),
  minutes: z.coerce.number().positive().default(2),
  seed: z.coerce.number().int().default(1),
  sessions: z.coerce.number().int().positive().default(40),
  workers: z.coerce.number().int().positive().default(3),
  faults: z.string().optional(),
  json: z.boolean().default(false),
});

const parsed = settings.safeParse(given());
if (!parsed.success) {
  process.stderr.write(`${z.prettifyError(parsed.error)}\n${USAGE}\n`);
  process.exit(2);
}
const { backend, minutes, seed, sessions, workers, faults, json } = parsed.data;
const { report, folder } = await runChaos({
  backend,
  seed,
  sessions,
  workers,
  leaseMs: LEASE_MS,
  lastsMs: minutes * MS_PER_MINUTE,
  leastFaults: 0,
  pauses: PAUSES,
  ...(faults === undefined ? {} : { kinds: faults.split(',').map((name) => name.trim()) }),
  progress: (line) =>
    process.stderr.write(`${(performance.now() / 1_000).toFixed(1).padStart(6)} s  ${line}\n`),
});
process.stdout.write(json ? `${JSON.stringify(report)}\n` : `${textOf(report)}\n`);
if (folder !== null) process.stderr.write(`The logs of every process stand in ${folder}\n`);
process.exit(holds(report) ? 0 : 1);

function given(): unknown {
  try {
    return parseArgs({
      options: {
        backend: { type: 'string' },
        minutes: { type: 'string' },
        seed: { type: 'string' },
        sessions: { type: 'string' },
        workers: { type: 'string' },
        faults: { type: 'string' },
        json: { type: 'boolean' },
      },
    }).values;
  } catch (error) {
    return { backend: String(error) };
  }
}
