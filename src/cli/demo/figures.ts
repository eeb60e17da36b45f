/** Numbers as people read them. */

export function count(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

export function percent(part: number, whole: number): string {
  return whole === 0 ? '–' : `${Math.round((100 * part) / whole)}%`;
}

export function duration(ms: number): string {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

export function size(bytes: number): string {
  return bytes < 1_024 ? `${bytes} B` : `${(bytes / 1_024).toFixed(1)} KB`;
}

/** Both ends included. */
export function items(from: number, to: number): string {
  return from === to ? `item #${from}` : `items #${from} to #${to}`;
}
