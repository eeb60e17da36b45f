/** A file of turns to ask: `{"input": "…"}` a line. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { z } from 'zod';
import { UsageError } from '../exit.ts';

const line = z.strictObject({
  input: z.string().refine((text) => text.trim() !== '', 'a text that is not blank'),
});

/** @throws UsageError naming the line that is wrong, or saying why the file cannot be read. */
export async function readTurnsFile(name: string, cwd: string): Promise<readonly string[]> {
  let text: string;
  try {
    text = await readFile(resolve(cwd, name), 'utf8');
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`--turns: ${name} cannot be read (${reason}).`);
  }
  const inputs = text
    .split('\n')
    .flatMap((content, index) => (content.trim() === '' ? [] : [readLine(content, index + 1, name)]));
  if (inputs.length === 0)
    throw new UsageError(`--turns: ${name} holds no turn; write {"input": "…"}, one a line.`);
  return inputs;
}

function readLine(content: string, number: number, name: string): string {
  const where = `--turns: line ${number} of ${name}`;
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`${where} is no JSON (${reason}); write {"input": "…"}.`);
  }
  const parsed = line.safeParse(value);
  if (parsed.success) return parsed.data.input;
  const problem = parsed.error.issues.map((issue) =>
    [issue.path.join('.'), issue.message].filter(Boolean).join(': '),
  );
  throw new UsageError(`${where} is no turn (${problem.join('; ')}); write {"input": "…"}.`);
}
