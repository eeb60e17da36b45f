/** Output of a command: it opens with a line that states how the command ended. */
import { counted, type Form, IN_FULL_CHARS } from './digest-form.ts';
import { countChars, sliceLines } from './window.ts';

/** Lines shown of either end, of output that has more than twice as many. */
const END_LINES = 10;
/** The stated line is short; what is longer only begins with the same word. */
const STATED_CHARS = 120;
/** `exit code: 1`, `exit 0`, `[exit code 1]`, `exited with status 2 (killed)`, `return code 0, 3.1 s`. */
const STATED =
  /^\[?(?:process |command )?(?:exit(?:ed)?(?: with)?(?:[ _-]?(?:code|status))?|return[ _-]?code)[ :=]{0,3}(-?\d{1,10})(?:\]| ?[(,;].*)?$/i;

/** Null for text that states no exit code. */
export function commandForm(text: string): Form | null {
  const newline = text.indexOf('\n');
  const firstEnd = newline === -1 ? text.length : newline;
  if (firstEnd > STATED_CHARS) return null;
  const stated = text.slice(0, firstEnd).trim();
  const code = STATED.exec(stated)?.[1];
  if (code === undefined) return null;
  const last = sliceLines(text, 1, 1).totalLines;
  const lines = last - 1;
  const shape = `exit ${code}, ${lines === 0 ? 'no output' : counted(lines, 'line')}`;
  if (lines <= 2 * END_LINES) return { body: [stated, ...linesOf(text, 2, last)].join('\n'), shape };
  const head = linesOf(text, 2, END_LINES + 1);
  const tail = linesOf(text, last - END_LINES + 1, last);
  const omitted = `… ${counted(lines - 2 * END_LINES, 'line')} left out …`;
  return { body: [stated, ...head, omitted, ...tail].join('\n'), shape };
}

function linesOf(text: string, from: number, to: number): readonly string[] {
  if (from > to) return [];
  const slice = sliceLines(text, from, to).text;
  const ended = slice.endsWith('\n') ? slice.slice(0, -1) : slice;
  return ended.split('\n').map(showLine);
}

function showLine(line: string): string {
  if (line.length <= IN_FULL_CHARS) return line;
  const chars = countChars(line);
  return chars <= IN_FULL_CHARS ? line : `(a line of ${chars} characters)`;
}
