/** How much of a directive is read for what it asks: its two ends, what it brings along set aside. */

/** People put a request before the material or after it, and say it in less than this. */
const END_CHARS = 8 * 1024;

interface Stretch {
  readonly from: number;
  readonly to: number;
}

/** The text outside `pasted`, at most 16,384 UTF-16 units of it; a line break stands where something was left out. */
export function scannedText(directive: string, pasted: readonly Stretch[]): string {
  const asked = unpasted(directive, pasted);
  if (asked.length <= 2 * END_CHARS) return asked;
  return `${asked.slice(0, END_CHARS)}\n${asked.slice(-END_CHARS)}`.toWellFormed();
}

function unpasted(directive: string, pasted: readonly Stretch[]): string {
  if (pasted.length === 0) return directive;
  const parts: string[] = [];
  let from = 0;
  for (const stretch of pasted) {
    parts.push(directive.slice(from, stretch.from));
    from = stretch.to;
  }
  return [...parts, directive.slice(from)].join('\n');
}
