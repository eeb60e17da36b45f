/**
 * Glob patterns, matched without regular expressions: the patterns come from a model, and a translation to
 * a backtracking expression takes seconds on `*a*a*a*…`. Here a match costs at most pattern × path.
 *
 * `*` and `?` stay inside one segment, `**` as a whole segment spans any number of them, `[abc]`, `[a-z]`
 * and `[!a]` match one character, `{a,b}` either part (nestable), and `\` takes the next character as it
 * is. A `/` at the end means everything below. Wildcards match names that begin with a dot.
 */
import { expandBraces, MAX_ALTERNATIVES } from './braces.ts';

/** Longer than any pattern written in earnest; bounds the work of one match. */
const MAX_PATTERN_CHARS = 1_000;

export interface Glob {
  /** `path` is relative, with `/` between its segments. */
  matches(path: string): boolean;
  /** Folder in which every match lies, '' for the root. */
  readonly base: string;
  /** Segments of the longest match below the root; null when `**` leaves it open. */
  readonly maxDepth: number | null;
  /** Segments that are plain names: a folder skipped by default is entered when it is named. */
  readonly names: ReadonlySet<string>;
}

export type CompiledGlob =
  | { readonly ok: true; readonly glob: Glob }
  | { readonly ok: false; readonly message: string };

type Token =
  | { readonly kind: 'char'; readonly char: string }
  | { readonly kind: 'one' }
  | { readonly kind: 'star' }
  | {
      readonly kind: 'set';
      readonly negated: boolean;
      readonly ranges: readonly (readonly [string, string])[];
    };

/** A segment without wildcards is compared as a string. */
type Segment =
  | { readonly kind: 'any-depth' }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'wild'; readonly tokens: readonly Token[] };

export function compileGlob(pattern: string): CompiledGlob {
  if (pattern.length > MAX_PATTERN_CHARS) {
    return refused(pattern, `has ${pattern.length} characters, at most ${MAX_PATTERN_CHARS} are allowed`);
  }
  if (pattern.includes('\0')) return refused(pattern, 'holds a NUL byte');
  if (pattern.startsWith('/'))
    return refused(pattern, 'starts with "/"; write it relative, as in "src/**/*.ts"');
  const expanded = expandBraces(pattern.endsWith('/') ? `${pattern}**` : pattern);
  if (expanded === null) return refused(pattern, `stands for more than ${MAX_ALTERNATIVES} alternatives`);
  const alternatives = expanded.map(parseSegments);
  if (alternatives.some((segments) => segments.some((one) => one.kind === 'name' && one.name === '..'))) {
    return refused(pattern, 'holds ".."; files outside the folder cannot be reached');
  }
  return { ok: true, glob: globOf(alternatives) };
}

function refused(pattern: string, reason: string): CompiledGlob {
  const shown = JSON.stringify(pattern.length > 80 ? `${pattern.slice(0, 80)}…` : pattern);
  return { ok: false, message: `The pattern ${shown} ${reason}.` };
}

function globOf(alternatives: readonly (readonly Segment[])[]): Glob {
  const names = alternatives.flat().flatMap((segment) => (segment.kind === 'name' ? [segment.name] : []));
  const open = alternatives.some((segments) => segments.some(({ kind }) => kind === 'any-depth'));
  return {
    matches: (path) => {
      const parts = path.split('/');
      return alternatives.some((segments) => matchWild(segments, parts, isAnyDepth, matchSegment));
    },
    base: commonBase(alternatives),
    maxDepth: open ? null : Math.max(...alternatives.map(({ length }) => length)),
    names: new Set(names),
  };
}

/** The leading plain names that all alternatives share; the last segment is a file's, never a folder's. */
function commonBase(alternatives: readonly (readonly Segment[])[]): string {
  const shared: string[] = [];
  const [first = []] = alternatives;
  for (const [index, segment] of first.slice(0, -1).entries()) {
    if (segment.kind !== 'name') break;
    const everywhere = alternatives.every((segments) => {
      const other = segments[index];
      return index < segments.length - 1 && other?.kind === 'name' && other.name === segment.name;
    });
    if (!everywhere) break;
    shared.push(segment.name);
  }
  return shared.join('/');
}

/**
 * Greedy match with one fallback point: when a later item fails, only the latest star takes one unit more.
 * That is enough because an earlier star can give nothing the latest one cannot.
 */
function matchWild<Item, Unit>(
  items: readonly Item[],
  units: readonly Unit[],
  isStar: (item: Item) => boolean,
  matchesOne: (item: Item, unit: Unit) => boolean,
): boolean {
  let item = 0;
  let unit = 0;
  let starItem = -1;
  let starUnit = 0;
  while (unit < units.length) {
    const current = items[item];
    if (current !== undefined && isStar(current)) {
      starItem = item++;
      starUnit = unit;
    } else if (current !== undefined && matchesOne(current, units[unit] as Unit)) {
      item += 1;
      unit += 1;
    } else if (starItem >= 0) {
      item = starItem + 1;
      starUnit += 1;
      unit = starUnit;
    } else {
      return false;
    }
  }
  return items.slice(item).every(isStar);
}

function isAnyDepth(segment: Segment): boolean {
  return segment.kind === 'any-depth';
}

function matchSegment(segment: Segment, part: string): boolean {
  if (segment.kind === 'name') return segment.name === part;
  if (segment.kind === 'any-depth') return true;
  return matchWild(segment.tokens, [...part], ({ kind }) => kind === 'star', matchToken);
}

function matchToken(token: Token, char: string): boolean {
  if (token.kind === 'char') return token.char === char;
  if (token.kind !== 'set') return true;
  return token.ranges.some(([low, high]) => low <= char && char <= high) !== token.negated;
}

function parseSegments(pattern: string): readonly Segment[] {
  const parts = pattern.split('/').filter((part) => part !== '' && part !== '.');
  return parts.map((part): Segment => {
    if (part === '**') return { kind: 'any-depth' };
    const tokens = parseTokens([...part]);
    const name = tokens.map((token) => (token.kind === 'char' ? token.char : '')).join('');
    return tokens.every(({ kind }) => kind === 'char') ? { kind: 'name', name } : { kind: 'wild', tokens };
  });
}

function parseTokens(chars: readonly string[]): readonly Token[] {
  const tokens: Token[] = [];
  for (let at = 0; at < chars.length; at += 1) {
    const char = chars[at] ?? '';
    const set = char === '[' ? parseSet(chars, at) : null;
    if (set !== null) {
      tokens.push(set.token);
      at = set.end;
    } else if (char === '\\' && at + 1 < chars.length) {
      at += 1;
      tokens.push({ kind: 'char', char: chars[at] ?? '' });
    } else if (char === '*') {
      tokens.push({ kind: 'star' });
    } else {
      tokens.push(char === '?' ? { kind: 'one' } : { kind: 'char', char });
    }
  }
  return tokens;
}

/** The set that opens at `open`; null when it is never closed, and `[` is then a plain character. */
function parseSet(chars: readonly string[], open: number): { token: Token; end: number } | null {
  const negated = chars[open + 1] === '!' || chars[open + 1] === '^';
  const first = open + (negated ? 2 : 1);
  const end = chars.indexOf(']', first + 1);
  if (end === -1) return null;
  const ranges: [string, string][] = [];
  for (let at = first; at < end; at += 1) {
    const low = chars[at] ?? '';
    if (chars[at + 1] === '-' && at + 2 < end) {
      ranges.push([low, chars[at + 2] ?? low]);
      at += 2;
    } else {
      ranges.push([low, low]);
    }
  }
  return { token: { kind: 'set', negated, ranges }, end };
}
