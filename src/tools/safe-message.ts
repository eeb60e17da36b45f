/** What a model may be told of an unexpected error: its first words, no stack, no path of this machine. */
import { isAbsolute, relative, sep } from 'node:path';

const MESSAGE_CHARS = 500;
/** Looked at before cutting, so that an error of many megabytes costs nothing. */
const LOOKED_AT_CHARS = 4_000;
const STACK_LINE = /\n\s+at [\s\S]*$/;
const QUOTED_PATH = /(["'`])((?:file:\/\/)?\/[^"'`\n]*)\1/g;
/** A slash that begins a path: not inside a word, not the `//` of a URL. */
const BARE_PATH = /(?<![\w.\-/])(?:\/(?!\/)|(?<!:)\/{2,})[^\s"'`)\],;]+/g;
const FILE_URL = /file:\/\/\/[^\s"'`)\],;]+/g;
const WINDOWS_PATH = /\b[A-Za-z]:\\[^\s"'`)\],;]+/g;
const HIDDEN = '[path]';

export function safeMessage(error: unknown, root: string): string {
  const text = messageOf(error).slice(0, LOOKED_AT_CHARS).replace(STACK_LINE, '').trim();
  const safe = hidePaths(text, root);
  if (safe === '') return 'no reason was given';
  return safe.length > MESSAGE_CHARS ? `${safe.slice(0, MESSAGE_CHARS)}…` : safe;
}

function messageOf(error: unknown): string {
  if (error instanceof Error) return String(error.message);
  return typeof error === 'string' ? error : '';
}

function hidePaths(text: string, root: string): string {
  return text
    .replace(QUOTED_PATH, (_, quote: string, path: string) => quote + shownPath(path, root) + quote)
    .replace(FILE_URL, (path) => shownPath(path, root))
    .replace(BARE_PATH, (path) => shownPath(path, root))
    .replace(WINDOWS_PATH, HIDDEN);
}

/** A path inside the root becomes relative to it; any other is hidden. */
function shownPath(path: string, root: string): string {
  const inside = relative(root, path.replace(/^file:\/\//, ''));
  if (inside === '') return '.';
  const escapes = inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside);
  return escapes ? HIDDEN : inside;
}
