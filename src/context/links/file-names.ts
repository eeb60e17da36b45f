/** File names that a text mentions: what links a directive to the turns that worked on those files. */

/** More names than this is pasted material, not a request about files. */
const MAX_NAMES = 32;
const MAX_NAME_LENGTH = 512;
/** One class and no alternatives, so that a run is read once, however long it is. */
const RUN = /[^\s"'`“”‘’<>()[\]{},;|=]+/gu;
const LINE_REFERENCE = /:\d{1,9}(?::\d{1,9})?$/;
const EXTENSION = /^(?=[0-9]*[A-Za-z])[A-Za-z0-9]{1,8}$/;
/** A figure, its unit included: `1.5k`, `29.1GB`. */
const FIGURE = /^[~$€£+-]?\d[\d.]*\.\d+[A-Za-z]*$/u;
const ABBREVIATIONS: ReadonlySet<string> = new Set(['e.g', 'i.e', 'a.m', 'p.m', 'u.s', 'u.k', 'u.n', 'e.u']);

/** Each name once, as written, in order of appearance, at most 32. A leading `./` is left out. */
export function fileNames(text: string): string[] {
  const names = new Set<string>();
  for (const [run] of text.matchAll(RUN)) {
    const name = bareName(run);
    if (!isFileName(name)) continue;
    names.add(name);
    if (names.size === MAX_NAMES) break;
  }
  return [...names];
}

/** Whether it ends in an extension of 1 to 8 letters or digits, one of them a letter; no address, no figure. */
export function isFileName(name: string): boolean {
  if (name.length > MAX_NAME_LENGTH || name.includes('*') || isAddress(name)) return false;
  const segment = lastSegment(name);
  const dot = segment.lastIndexOf('.');
  if (dot < 1 || !EXTENSION.test(segment.slice(dot + 1))) return false;
  return !FIGURE.test(segment) && !ABBREVIATIONS.has(name.toLowerCase());
}

/** What stands after the last slash. */
export function lastSegment(path: string): string {
  return path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('\\')) + 1);
}

function bareName(run: string): string {
  if (run.length > MAX_NAME_LENGTH) return '';
  let end = run.length;
  while (end > 0 && '.:!?…'.includes(run.charAt(end - 1))) end -= 1;
  const name = run.slice(0, end).replace(LINE_REFERENCE, '');
  return name.startsWith('./') ? name.slice(2) : name;
}

/** A scheme, a `www.`, or something before an `@` that no slash precedes. */
function isAddress(name: string): boolean {
  if (name.includes('://') || /^(?:www\.|mailto:)/i.test(name)) return true;
  const at = name.indexOf('@');
  return at > 0 && !name.slice(0, at).includes('/');
}
