/** The form in which a person asks to be shown something: a word of the name of the tool that shows it. */
import { wordsOf } from './toolbox.ts';

/** Words of a tool's name that say no form. */
const PLAIN_NAME_WORDS: ReadonlySet<string> = new Set(
  'emit show present display render draw make create card cards tool a an the'.split(' '),
);
/** Other words for a form, as whole orders. */
const OTHER_WORDS: Readonly<Record<string, RegExp>> = {
  chart: /\b(?:plot|graph) (?:the|a|an|how|it|this|them)\b|\b(?:chart|plot|graph) of\b/i,
  table: /\btabulate\b|\btable of\b/i,
  timeline: /\btimeline of\b/i,
  checklist: /\bcheck-?list of\b|\bto-?do list\b/i,
};
const REFUSES = /\b(?:don['’]t|do not|no need to|without)\s+(?:[\w-]+\s+){0,4}$/i;
const REFUSAL_CHARS = 80;

export function formsOf(name: string): readonly string[] {
  return wordsOf(name)
    .split(' ')
    .filter((word) => word !== '' && !PLAIN_NAME_WORDS.has(word));
}

/** The word by which a form is spoken of. */
export function formOf(name: string): string {
  return formsOf(name)[0] ?? 'card';
}

/** `as a table`, `a short checklist`, `as cards`; not what is refused. */
export function asksForForm(directive: string, form: string): boolean {
  const escaped = form.replace(/[^\w]/g, '\\$&');
  const asked = new RegExp(`\\b(?:as|in|into|an?)\\s+(?:[\\w-]+\\s+){0,2}${escaped}s?\\b`, 'i');
  const found = asked.exec(directive) ?? OTHER_WORDS[form]?.exec(directive) ?? null;
  if (found === null) return false;
  return !REFUSES.test(directive.slice(Math.max(0, found.index - REFUSAL_CHARS), found.index));
}
