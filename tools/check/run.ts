/** Runs checks side by side. All of them run, whichever fails first, so that one run shows everything. */
import { spawn } from 'node:child_process';

export interface Check {
  readonly name: string;
  run(): Promise<Verdict>;
}

export interface Verdict {
  readonly ok: boolean;
  readonly output: string;
}

export interface CheckResult extends Verdict {
  readonly name: string;
  readonly tookMs: number;
}

/** A program of the project; it passes when it ends with code 0. */
export function commandCheck(name: string, root: string, command: readonly [string, ...string[]]): Check {
  const [program, ...args] = command;
  return {
    name,
    run: () =>
      new Promise((resolve) => {
        const child = spawn(program, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
        const parts: Buffer[] = [];
        for (const stream of [child.stdout, child.stderr]) {
          stream.on('data', (part: Buffer) => parts.push(part));
        }
        child.once('error', (error) => {
          resolve({ ok: false, output: `${program} cannot be started: ${error.message}. Run npm ci first.` });
        });
        child.once('close', (code, signal) => {
          const ending = signal === null ? '' : `\n${program} was ended by ${signal}.`;
          resolve({ ok: code === 0, output: `${Buffer.concat(parts).toString('utf8')}${ending}`.trim() });
        });
      }),
  };
}

/** At most `width` at a time; `onResult` is told as each ends. Results keep the order of the checks. */
export async function runChecks(
  checks: readonly Check[],
  width: number,
  onResult: (result: CheckResult) => void,
): Promise<readonly CheckResult[]> {
  const results: CheckResult[] = [];
  let next = 0;
  const lane = async (): Promise<void> => {
    while (next < checks.length) {
      const index = next;
      next += 1;
      const check = checks[index];
      if (check === undefined) return;
      const result = await runOne(check);
      results[index] = result;
      onResult(result);
    }
  };
  await Promise.all(Array.from({ length: width }, lane));
  return results;
}

async function runOne(check: Check): Promise<CheckResult> {
  const startMs = performance.now();
  const verdict = await check.run().catch(
    (error: unknown): Verdict => ({
      ok: false,
      output: error instanceof Error ? (error.stack ?? error.message) : String(error),
    }),
  );
  return { ...verdict, name: check.name, tookMs: Math.round(performance.now() - startMs) };
}
