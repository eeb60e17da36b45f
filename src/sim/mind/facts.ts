/** One thing that was found, in the parts a form may show of it. */
import { withoutGutter } from './evidence.ts';

const MAX_LABEL_CHARS = 60;
const LABELLED = /^(.{2,60}?)(?:\s+(?:is|are|was|were|has|costs?|equals)\s|\s*[:=]\s)/i;
const FIGURE = /-?\d[\d,]*(?:\.\d+)?/;
const URL_IN = /\bhttps?:\/\/[^\s"'<>)\]]+/gi;
const LABEL_WORDS = 4;

export interface Fact {
  readonly text: string;
  readonly label: string;
  readonly figure: number | null;
  readonly unit: string;
  readonly path: string | null;
}

export const NO_FACT: Fact = { text: '', label: '', figure: null, unit: '', path: null };

export function factOf(line: string, path: string | null): Fact {
  const text = withoutGutter(line).trim();
  const words = text.split(/\s+/).slice(0, LABEL_WORDS).join(' ');
  const label = cut(LABELLED.exec(text)?.[1] ?? words, MAX_LABEL_CHARS);
  const rest = text.slice(label.length);
  const figure = FIGURE.exec(rest);
  const unit =
    figure === null
      ? ''
      : (/^\s?(%|[\p{L}°€$£]+)/u.exec(rest.slice(figure.index + figure[0].length))?.[1] ?? '');
  return { text, label, figure: figure === null ? null : Number(figure[0].replaceAll(',', '')), unit, path };
}

export function urlsIn(text: string): readonly string[] {
  return text.match(URL_IN) ?? [];
}

/** At most so many characters; an address the bound would cut goes whole, for half of it names another place. */
export function cut(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  for (const match of text.slice(0, 2 * maxChars).matchAll(URL_IN)) {
    if (match.index < maxChars && match.index + match[0].length > maxChars)
      return text.slice(0, match.index).trimEnd();
  }
  return text.slice(0, maxChars);
}
