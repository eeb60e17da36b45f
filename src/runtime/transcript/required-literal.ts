/**
 * A text that stands in every match of an expression, case and all. What is read of the expression is only what is
 * certain: at the first sign that is not, there is none, and every line is asked.
 */

/** A shorter text of those found is required as well, and is sought in a time that grows with the text alone. */
const MAX_LITERAL_CHARS = 32;

const REPEAT = /\{\d+(?:,\d*)?\}/y;
/** A class without another inside. What stands first in it is a member, a closing bracket too; a `^` before it never is. */
const CLASS = /\[(?:\^|(?!\^))(?:\]|[^[\]\\]|\\.)(?:[^[\]\\]|\\.)*\]/suy;
/** What stands for a class or a place, and for no text. */
const NAMED = new Set('dDwWsSbBAz');
const ALPHANUMERIC = /^[0-9A-Za-z]$/;

type Token =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'repeat'; readonly atLeastOnce: boolean }
  | { readonly type: 'open' | 'close' | 'or' | 'other' | 'unsure' };

/** null where none is certain. */
export function requiredLiteral(pattern: string): string | null {
  if (!pattern.isWellFormed()) return null;
  const found: string[] = [];
  let run: string[] = [];
  let depth = 0;
  const endRun = (): void => {
    found.push(run.join(''));
    run = [];
  };
  for (const token of tokens(pattern)) {
    if (token.type === 'unsure' || (token.type === 'or' && depth === 0)) return null;
    if (token.type === 'open') depth += 1;
    if (token.type === 'close') depth -= 1;
    if (depth < 0) return null;
    if (depth === 0 && token.type === 'text') run.push(token.text);
    else {
      if (token.type === 'repeat' && !token.atLeastOnce) run.pop();
      endRun();
    }
  }
  endRun();
  const longest = found.reduce((best, other) => (other.length > best.length ? other : best), '');
  return longest === '' ? null : longest.slice(0, MAX_LITERAL_CHARS);
}

function* tokens(pattern: string): Generator<Token> {
  for (let at = 0; at < pattern.length; ) {
    const { token, length } = tokenAt(pattern, at);
    yield token;
    at += length;
  }
}

function tokenAt(pattern: string, at: number): { readonly token: Token; readonly length: number } {
  const char = String.fromCodePoint(pattern.codePointAt(at) ?? 0);
  switch (char) {
    case '\\':
      return { token: escaped(pattern.codePointAt(at + 1)), length: escapedLength(pattern, at) };
    case '(':
      // Flags may change what every letter means.
      return { token: { type: pattern[at + 1] === '?' ? 'unsure' : 'open' }, length: 1 };
    case ')':
      return { token: { type: 'close' }, length: 1 };
    case '|':
      return { token: { type: 'or' }, length: 1 };
    case '*':
    case '?':
      return { token: { type: 'repeat', atLeastOnce: false }, length: 1 };
    case '+':
      return { token: { type: 'repeat', atLeastOnce: true }, length: 1 };
    case '{':
      return sized(REPEAT, pattern, at, { type: 'repeat', atLeastOnce: false });
    case '[':
      return sized(CLASS, pattern, at, { type: 'other' });
    case '.':
    case '^':
    case '$':
      return { token: { type: 'other' }, length: 1 };
    default:
      return { token: { type: 'text', text: char }, length: char.length };
  }
}

function escaped(codePoint: number | undefined): Token {
  if (codePoint === undefined) return { type: 'unsure' };
  const char = String.fromCodePoint(codePoint);
  if (NAMED.has(char)) return { type: 'other' };
  return ALPHANUMERIC.test(char) || codePoint > 0x7f ? { type: 'unsure' } : { type: 'text', text: char };
}

function escapedLength(pattern: string, at: number): number {
  return 1 + ((pattern.codePointAt(at + 1) ?? 0) > 0xffff ? 2 : 1);
}

function sized(form: RegExp, pattern: string, at: number, token: Token) {
  form.lastIndex = at;
  const [text] = form.exec(pattern) ?? [];
  return text === undefined
    ? { token: { type: 'unsure' } as const, length: 1 }
    : { token, length: text.length };
}
