/** Names of tools in what people write. */
import type { CheckLexicon } from './lexicon/index.ts';

/** A name that is a word of the language: people write it without meaning the tool. */
const PLAIN_WORD = /^\p{Ll}+$/u;
const WORD_SIGN = /[\p{L}\p{M}\p{N}_]/u;
const QUOTES = '`"\'“”‘’';
const NEAR_CHARS = 24;

export function isPlainWord(name: string): boolean {
  return PLAIN_WORD.test(name);
}

/** The directive names the tool; a plain word does so in quotes or beside a word such as "tool". */
export function asksAboutTool(directive: string, name: string, lexicon: CheckLexicon): boolean {
  const asked = directive.toLowerCase();
  const written = name.toLowerCase();
  const spaced = written.replaceAll(/[_.-]+/gu, ' ');
  if (!isPlainWord(name) && placesOf(asked, written).next().done !== true) return true;
  for (const at of placesOf(asked, spaced)) {
    const end = at + spaced.length;
    if (QUOTES.includes(asked[at - 1] ?? ' ') && QUOTES.includes(asked[end] ?? ' ')) return true;
    if (asked[end] === '(') return true;
    const near = [wordBefore(asked, at), wordBehind(asked, end)];
    if (near.some((word) => lexicon.toolNouns.includes(word))) return true;
  }
  return false;
}

/** Where the name stands as a word of its own. */
function* placesOf(text: string, name: string): Generator<number, void, void> {
  if (name === '') return;
  for (let at = text.indexOf(name); at !== -1; at = text.indexOf(name, at + name.length)) {
    const isWhole = !WORD_SIGN.test(text[at - 1] ?? ' ') && !WORD_SIGN.test(text[at + name.length] ?? ' ');
    if (isWhole) yield at;
  }
}

function wordBefore(text: string, at: number): string {
  return (
    text
      .slice(Math.max(0, at - NEAR_CHARS), at)
      .trim()
      .split(/\W+/u)
      .at(-1) ?? ''
  );
}

function wordBehind(text: string, at: number): string {
  return (
    text
      .slice(at, at + NEAR_CHARS)
      .trim()
      .split(/\W+/u)[0] ?? ''
  );
}
