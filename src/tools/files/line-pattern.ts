/**
 * A pattern that finds lines. Expressions run on RE2: time grows with the text alone, never with how a model
 * happened to write the expression. A pattern without special characters is searched as a plain string.
 */
import { RE2JS, RE2JSException } from 're2js';

const MAX_PATTERN_CHARS = 1_000;
/** Instructions of the compiled expression: bounds the time per character, which repeat counts multiply. */
const MAX_PROGRAM_SIZE = 1_000;
const SPECIAL_CHARACTERS = /[\\^$.*+?()[\]{}|]/;

export interface LinePattern {
  /** Where the first match begins in the line; -1 for none. */
  indexIn(line: string): number;
  /** False only when no line of the block can match; cheaper than asking every line. */
  mayMatch(block: string): boolean;
}

export type CompiledPattern =
  | { readonly ok: true; readonly pattern: LinePattern }
  | { readonly ok: false; readonly message: string };

export function compileLinePattern(source: string, ignoreCase: boolean): CompiledPattern {
  if (source.length > MAX_PATTERN_CHARS) {
    const message = `The pattern has ${source.length} characters; at most ${MAX_PATTERN_CHARS} are allowed.`;
    return { ok: false, message };
  }
  if (SPECIAL_CHARACTERS.test(source) || ignoreCase) return compileExpression(source, ignoreCase);
  const pattern = {
    indexIn: (line: string) => line.indexOf(source),
    mayMatch: (block: string) => block.includes(source),
  };
  return { ok: true, pattern };
}

function compileExpression(source: string, ignoreCase: boolean): CompiledPattern {
  try {
    const expression = RE2JS.compile(source, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0);
    if (expression.programSize() > MAX_PROGRAM_SIZE) {
      const message = `The pattern is too large: its repeat counts unfold to ${expression.programSize()} instructions, at most ${MAX_PROGRAM_SIZE} are allowed. Use smaller counts, or * and +.`;
      return { ok: false, message };
    }
    const indexIn = (line: string) => {
      if (!expression.test(line)) return -1;
      const matcher = expression.matcher(line);
      return matcher.find() ? matcher.start() : -1;
    };
    return { ok: true, pattern: { indexIn, mayMatch: () => true } };
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    const reason = error.message.replace(/^error parsing regexp: /, '');
    const message = `The pattern is not a valid regular expression: ${reason}. RE2 syntax is used, without look-around or back-references; put \\ before a special character to find it literally.`;
    return { ok: false, message };
  }
}
