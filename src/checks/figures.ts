/**
 * Figures of a text as keys that two writings of one figure share: `1,234.50`, `1 234,5` and `1234.5` are one, and
 * so is each with decimals dropped or rounded. A figure is read every way it may be meant, so a key found says that
 * a figure may be used; none found says that it is not.
 */
import type { CheckLexicon } from './lexicon/index.ts';

/** Groups of three behind a space or apostrophe, or anything joined by points and commas. */
const FIGURE = /\d{1,3}(?:[ '’\u00a0\u202f]\d{3}(?!\d))+(?:[.,]\d+)?|\d+(?:[.,]\d+)*/gu;
const WORD_BEHIND = /^[ \u00a0-]?(\p{L}{1,12})(?!\p{L})/u;
const WORD_BEHIND_CHARS = 16;
const LEAST_DIGITS = 2;
/** Nobody rounds to more. */
const MAX_DECIMALS = 4;
const MAX_SIGNIFICANT = 4;
/** Numbers are exact up to here. */
const MAX_NUMBER_DIGITS = 15;
/** A longer run of digits and points is data. */
const MAX_FIGURE_CHARS = 64;
/** Shorter figures are not written with a word such as "million". */
const LEAST_SCALED_DIGITS = 4;

interface Figure {
  readonly whole: string;
  readonly decimals: string;
  /** Followed by a word such as "million". */
  readonly scaled: boolean;
}

/** What the figures of a text say, for comparison with `marksOf`. */
export function figureKeys(text: string, lexicon: CheckLexicon): ReadonlySet<string> {
  const keys = new Set<string>();
  for (const { whole, decimals, scaled } of figuresOf(text, lexicon)) {
    keys.add(keyOf(whole, decimals));
    if (scaled || whole.length > LEAST_SCALED_DIGITS) keys.add(scaledKey(whole + decimals));
  }
  return keys;
}

/** Of each figure with at least two digits, the keys by which it may be used. */
export function* marksOf(text: string, lexicon: CheckLexicon): Generator<readonly string[], void, void> {
  for (const figure of figuresOf(text, lexicon))
    if (figure.whole.length + figure.decimals.length >= LEAST_DIGITS) yield keysOf(figure);
}

function* figuresOf(text: string, lexicon: CheckLexicon): Generator<Figure, void, void> {
  const magnitudes = new Set(lexicon.magnitudes);
  for (const match of text.matchAll(FIGURE)) {
    if (match[0].length > MAX_FIGURE_CHARS) continue;
    const end = match.index + match[0].length;
    const behind = WORD_BEHIND.exec(text.slice(end, end + WORD_BEHIND_CHARS))?.[1]?.toLowerCase() ?? '';
    for (const reading of readingsOf(match[0])) yield { ...reading, scaled: magnitudes.has(behind) };
  }
}

/** A separator may group thousands, begin decimals, or stand between figures. */
function readingsOf(written: string): readonly Omit<Figure, 'scaled'>[] {
  const groups = written.split(/\D/u);
  const [first = '', ...rest] = groups;
  const last = rest.at(-1);
  if (last === undefined) return [{ whole: first, decimals: '' }];
  const separators = written.replaceAll(/\d/gu, '');
  const readings = [{ whole: groups.slice(0, -1).join(''), decimals: last }];
  if (rest.every((group) => group.length === 3)) readings.push({ whole: groups.join(''), decimals: '' });
  if (separators === '.') return readings;
  return [...readings, ...groups.map((whole) => ({ whole, decimals: '' }))];
}

function keysOf({ whole, decimals, scaled }: Figure): readonly string[] {
  const keys = [keyOf(whole, decimals)];
  for (let kept = 0; kept < Math.min(decimals.length, MAX_DECIMALS); kept++) {
    keys.push(keyOf(whole, decimals.slice(0, kept)));
    if (whole.length <= MAX_NUMBER_DIGITS) keys.push(roundedKey(`${whole}.${decimals}`, kept));
  }
  if (/^0+$/u.test(whole) && decimals !== '') keys.push(percentKey(decimals));
  if (scaled || whole.length >= LEAST_SCALED_DIGITS)
    keys.push(...scaledKeys(scaled ? whole + decimals : whole));
  return keys;
}

function roundedKey(figure: string, decimals: number): string {
  const [whole = '', rest = ''] = Number(figure).toFixed(decimals).split('.');
  return keyOf(whole, rest);
}

/** A share of one, as a share of a hundred. */
function percentKey(decimals: string): string {
  const digits = decimals.padEnd(2, '0');
  return keyOf(digits.slice(0, 2), digits.slice(2));
}

/** The figure by its first digits, cut and rounded: what stays of 1,267,000 in "1.3 million". */
function scaledKeys(digits: string): readonly string[] {
  const shown = withoutLeadingZeros(digits).slice(0, MAX_NUMBER_DIGITS);
  const keys: string[] = [scaledKey(digits)];
  for (let kept = 1; kept <= Math.min(shown.length, MAX_SIGNIFICANT); kept++) {
    const rounded =
      Number(shown)
        .toExponential(kept - 1)
        .split('e')[0] ?? '';
    keys.push(scaledKey(shown.slice(0, kept)), scaledKey(rounded.replace('.', '')));
  }
  return keys;
}

function scaledKey(digits: string): string {
  return `~${withoutTrailingZeros(withoutLeadingZeros(digits))}`;
}

function keyOf(whole: string, decimals: string): string {
  const rest = withoutTrailingZeros(decimals);
  return rest === '' ? withoutLeadingZeros(whole) : `${withoutLeadingZeros(whole)}.${rest}`;
}

function withoutLeadingZeros(digits: string): string {
  return digits.replace(/^0+(?=\d)/u, '');
}

function withoutTrailingZeros(digits: string): string {
  let end = digits.length;
  while (end > 0 && digits[end - 1] === '0') end -= 1;
  return digits.slice(0, end);
}
