/** Items of search and crawl results: an object with a title or a URL. */
import { IN_FULL_CHARS } from './digest-form.ts';
import { decoded, kindOf, membersOf, type Span } from './json-spans.ts';
import { countChars } from './window.ts';

const URL_NAMES = new Set(['url', 'link', 'href', 'uri']);
const TITLE_NAME = 'title';
/** Some services title a link by its name; a name without a link is no title. */
const NAME_NAME = 'name';
const LINE_BREAKS = /[\n\r\v\f\u0085\u2028\u2029]+/g;

/** `- title — URL`, or the one it has; null for any other value. */
export function linkLine(text: string, element: Span): string | null {
  if (kindOf(text, element) !== 'object') return null;
  let url: string | null = null;
  let title: string | null = null;
  let itsName: string | null = null;
  for (const { name, value } of membersOf(text, element)) {
    if (kindOf(text, value) !== 'text') continue;
    const key = keyOf(text, name);
    if (URL_NAMES.has(key)) url ??= shown(decoded(text, value), 'URL');
    else if (key === TITLE_NAME) title ??= shown(decoded(text, value), 'title');
    else if (key === NAME_NAME) itsName ??= shown(decoded(text, value), 'title');
  }
  const label = title ?? (url === null ? null : itsName);
  const parts = [label, url].filter((part) => part !== null);
  return parts.length === 0 ? null : `- ${parts.join(' — ')}`;
}

/** Empty for a name that is none of those looked for. */
function keyOf(text: string, name: Span): string {
  return name.end - name.start > TITLE_NAME.length + 2 ? '' : decoded(text, name).toLowerCase();
}

/** On one line; null when there is nothing to show. */
function shown(value: string, what: string): string | null {
  if (value.trim() === '') return null;
  if (value.length > IN_FULL_CHARS) {
    const chars = countChars(value);
    if (chars > IN_FULL_CHARS) return `(a ${what} of ${chars} characters)`;
  }
  return value.replace(LINE_BREAKS, ' ');
}
