/** A file of turns to ask: `{"input": "…"}` a line. */
import { z } from 'zod';
import { readJsonLines } from '../json-lines.ts';

const line = z.strictObject({
  input: z.string().refine((text) => text.trim() !== '', 'a text that is not blank'),
});

/** @throws UsageError naming the line that is wrong, or saying why the file cannot be read. */
export async function readTurnsFile(name: string, cwd: string): Promise<readonly string[]> {
  const of = { option: '--turns', line, what: 'turn', example: '{"input": "…"}' };
  return (await readJsonLines(name, cwd, of)).map(({ input }) => input);
}
