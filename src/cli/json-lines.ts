/** Files of one JSON object a line. Empty lines are left out. */
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { z } from 'zod';
import { UsageError } from './exit.ts';

export interface LinesOf<Line> {
  /** Under which the file was named, such as `--turns`. */
  readonly option: string;
  readonly line: z.ZodType<Line>;
  /** One line in words, such as `turn`, and as it is written. */
  readonly what: string;
  readonly example: string;
}

/** @throws UsageError naming the line that is wrong, or saying why the file cannot be read. */
export async function readJsonLines<Line>(
  name: string,
  cwd: string,
  of: LinesOf<Line>,
): Promise<readonly Line[]> {
  const text = await readFile(resolve(cwd, name), 'utf8').catch((error: unknown) => {
    throw new UsageError(`${of.option}: ${name} cannot be read (${reasonOf(error)}).`);
  });
  const lines = text
    .split('\n')
    .flatMap((content, index) => (content.trim() === '' ? [] : [readLine(content, index + 1, { name, of })]));
  if (lines.length > 0) return lines;
  throw new UsageError(`${of.option}: ${name} holds no ${of.what}; write ${of.example}, one a line.`);
}

function readLine<Line>(
  content: string,
  number: number,
  { name, of }: { readonly name: string; readonly of: LinesOf<Line> },
): Line {
  const where = `${of.option}: line ${number} of ${name}`;
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch (error) {
    throw new UsageError(`${where} is no JSON (${reasonOf(error)}); write ${of.example}.`);
  }
  const parsed = of.line.safeParse(value);
  if (parsed.success) return parsed.data;
  const problem = parsed.error.issues.map((issue) =>
    [issue.path.join('.'), issue.message].filter(Boolean).join(': '),
  );
  throw new UsageError(`${where} is no ${of.what} (${problem.join('; ')}); write ${of.example}.`);
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
