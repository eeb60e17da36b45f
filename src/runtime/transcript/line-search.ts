/**
 * A pattern that is asked of lines. Expressions run on RE2, in a time that grows with the text alone. Where a text is
 * known to stand in every match, only lines that hold it are asked.
 */
import { RE2JS, RE2JSException } from 're2js';
import { requiredLiteral } from './required-literal.ts';
import { type Line, linesHolding } from './searched.ts';

/** Both bound the time for a character, which is all that a pattern has a say in. */
const MAX_PATTERN_CHARS = 1_000;
const MAX_PROGRAM_SIZE = 1_000;

export interface LineSearch {
  /** The lines of the text that match, in order. */
  matching(text: string): Iterable<Line>;
}

export type CompiledSearch =
  | { readonly ok: true; readonly search: LineSearch }
  | { readonly ok: false; readonly message: string };

/** `message` is the engine's own. `prefilter` changes how long a search takes, and never what it finds. */
export function compileSearch(pattern: string, { prefilter = true } = {}): CompiledSearch {
  if (pattern.length > MAX_PATTERN_CHARS) {
    return refused(`the pattern has ${pattern.length} characters; at most ${MAX_PATTERN_CHARS} are allowed`);
  }
  try {
    const expression = RE2JS.compile(pattern);
    const size = expression.programSize();
    if (size > MAX_PROGRAM_SIZE) {
      return refused(
        `the pattern unfolds to ${size} instructions; at most ${MAX_PROGRAM_SIZE} are allowed. Smaller repeat counts, or * and +, make it fit`,
      );
    }
    const literal = prefilter ? requiredLiteral(pattern) : null;
    return { ok: true, search: { matching: (text) => matching(expression, literal, text) } };
  } catch (error) {
    if (error instanceof RE2JSException) return refused(error.message);
    throw error;
  }
}

function* matching(expression: RE2JS, literal: string | null, text: string): Generator<Line> {
  for (const line of linesHolding(text, literal)) if (expression.test(line.text)) yield line;
}

function refused(message: string): CompiledSearch {
  return { ok: false, message };
}
