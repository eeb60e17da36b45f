/** Which failures a model is asked to mend: looking back in vain is none, the next try finds no more. */
const LOOKS_BACK: ReadonlySet<string> = new Set(['recall', 'session_search', 'transcript']);

export function isRepairable(toolName: string): boolean {
  return !LOOKS_BACK.has(toolName);
}
