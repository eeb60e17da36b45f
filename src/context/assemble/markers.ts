/** Our control markers, and the guard that keeps everybody else's text from looking like one. */

const TAGS = [
  'turn_context',
  'intent',
  'stance',
  'thread',
  'work_contract',
  'context_summary',
  'turn_cards',
  'handoff',
  'more_tools',
  'skills',
  'servers',
  'skill',
] as const;
/** How the runtime marks what it says to a model; the last two are how a window names what it left out. */
const BRACKETS = [
  'evidence:',
  'empty-step',
  'freshness-check',
  'steering-drift',
  'call-check',
  'grounding-check',
  'card-check',
  'presentation-check',
  'stop-check',
  'topic-mismatch',
  'uncited-source',
  'evicted\\b',
  'item #',
  'pressure\\]',
  'lines? \\d+(?: to \\d+)? omitted',
  '\\d+ more characters of line',
] as const;

const FORGED = new RegExp(`<(?=/?(?:${TAGS.join('|')})\\b)|\\[(?=(?:${BRACKETS.join('|')}))`, 'gi');

/**
 * Makes text of users, models and tools unable to open or close a marker: the one character that would
 * start it becomes its entity. Text without such a start is returned as it is; applying it twice changes nothing.
 */
export function escapeMarkers(text: string): string {
  return text.replace(FORGED, (start) => (start === '<' ? '&lt;' : '&#91;'));
}

export type Tag = (typeof TAGS)[number];

/** `content` is ours: whatever came from elsewhere in it was escaped before. */
export function tagged(tag: Tag, content: string, attributes = ''): string {
  return `<${tag}${attributes}>\n${content}\n</${tag}>`;
}
