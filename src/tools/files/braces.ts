/** `{a,b}` in a glob pattern stands for one pattern with each part. */

/** `{a,b}{a,b}…` doubles with every brace. */
export const MAX_ALTERNATIVES = 200;

interface Brace {
  readonly before: string;
  readonly parts: readonly string[];
  readonly after: string;
}

/** Every pattern that the braces stand for, in order; null when there are more than `MAX_ALTERNATIVES`. */
export function expandBraces(pattern: string): readonly string[] | null {
  const pending = [pattern];
  const done: string[] = [];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const brace = firstBrace(next);
    if (brace === null) done.push(next);
    else for (const part of brace.parts.toReversed()) pending.push(brace.before + part + brace.after);
    if (done.length + pending.length > MAX_ALTERNATIVES) return null;
  }
  return done;
}

/** The first outermost brace with a comma. One that is never closed, or holds no comma, is plain text. */
function firstBrace(pattern: string): Brace | null {
  let depth = 0;
  let cuts: number[] = [];
  for (let at = 0; at < pattern.length; at += 1) {
    const char = pattern[at];
    if (char === '\\') {
      at += 1;
    } else if (char === '{') {
      depth += 1;
      if (depth === 1) cuts = [at];
    } else if (char === ',' && depth === 1) {
      cuts.push(at);
    } else if (char === '}' && depth > 0) {
      depth -= 1;
      if (depth === 0 && cuts.length > 1) return braceAt(pattern, cuts, at);
    }
  }
  return null;
}

/** `cuts` are where the brace opens and where its commas are. */
function braceAt(pattern: string, cuts: readonly number[], close: number): Brace {
  const ends = [...cuts.slice(1), close];
  const parts = cuts.map((cut, index) => pattern.slice(cut + 1, ends[index]));
  return { before: pattern.slice(0, cuts[0]), parts, after: pattern.slice(close + 1) };
}
