/** One pass over a text for its lines, its headings and the paragraph it opens with. */

/** Code-unit indexes; `end` is excluded. */
export interface Stretch {
  readonly start: number;
  readonly end: number;
}

interface Outline {
  /** As counted everywhere: a final line end begins no further line. */
  readonly lines: number;
  readonly headings: readonly Stretch[];
  /** The first block of lines that reads as prose; else the first block that is neither heading nor fenced. */
  readonly paragraph: Stretch | null;
}

const HEADING = /^ {0,3}#{1,6}[ \t]+\S/;
const FENCE = /^ {0,3}(?:`{3,}|~{3,})/;
const UNDERLINE = /^ {0,3}(?:={3,}|-{3,})[ \t]*\r?$/;
/** Tables, markup and images, rules, lists and quotes do not open a text. */
const NO_PROSE = /^\s*(?:[|<>+=]|!\[|\[!\[|[-*_]{3}|[-*•]\s|\d{1,3}[.)]\s)/;
/** Longer than any beginning that the forms above look at. */
const LOOKED_AT_CHARS = 80;
const FRONT_MATTER = /^---\r?\n/;
/** A heading's underline is as long as people type them. */
const UNDERLINE_CHARS = 200;

interface Reading {
  readonly headings: Stretch[];
  fence: string | null;
  /** The block of non-blank lines that is being read. */
  block: { start: number; end: number; lines: number } | null;
  prose: Stretch | null;
  other: Stretch | null;
}

export function readOutline(text: string): Outline {
  const reading: Reading = { headings: [], fence: null, block: null, prose: null, other: null };
  const bodyStart = afterFrontMatter(text);
  let lines = 0;
  for (let at = 0; at < text.length; ) {
    const newline = text.indexOf('\n', at);
    const end = newline === -1 ? text.length : newline;
    if (at >= bodyStart && (end > at || reading.block !== null)) readLine(text, at, end, reading);
    lines += 1;
    at = end + 1;
  }
  endBlock(text, reading);
  return { lines, headings: reading.headings, paragraph: reading.prose ?? reading.other };
}

function readLine(text: string, start: number, end: number, reading: Reading): void {
  const opening = text.slice(start, Math.min(end, start + LOOKED_AT_CHARS));
  const fence = FENCE.exec(opening)?.[0].trimStart();
  if (reading.fence !== null) {
    if (fence?.startsWith(reading.fence)) reading.fence = null;
    return;
  }
  if (fence !== undefined) {
    endBlock(text, reading);
    reading.fence = fence;
  } else if (HEADING.test(opening)) {
    endBlock(text, reading);
    reading.headings.push({ start, end });
  } else if (isBlank(text, start, end)) endBlock(text, reading);
  else if (reading.block === null) reading.block = { start, end, lines: 1 };
  else if (reading.block.lines === 1 && underlines(text, start, end)) {
    reading.headings.push({ start: reading.block.start, end: reading.block.end });
    reading.block = null;
  } else {
    reading.block.end = end;
    reading.block.lines += 1;
  }
}

function endBlock(text: string, reading: Reading): void {
  const { block } = reading;
  reading.block = null;
  if (block === null || reading.prose !== null) return;
  const stretch = { start: block.start, end: block.end };
  const opening = text.slice(block.start, Math.min(block.end, block.start + LOOKED_AT_CHARS));
  if (!NO_PROSE.test(opening)) reading.prose = stretch;
  else reading.other ??= stretch;
}

function underlines(text: string, start: number, end: number): boolean {
  return end - start <= UNDERLINE_CHARS && UNDERLINE.test(text.slice(start, end));
}

function isBlank(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    const code = text.charCodeAt(at);
    if (code > 32 && code !== 0xa0) return false;
  }
  return true;
}

/** Where the text begins behind its front matter; 0 when it has none. */
function afterFrontMatter(text: string): number {
  if (!FRONT_MATTER.test(text.slice(0, 5))) return 0;
  const close = text.indexOf('\n---', 3);
  if (close === -1) return 0;
  const end = text.indexOf('\n', close + 1);
  const rest = text.slice(close + 4, end === -1 ? undefined : end);
  if (rest.trim() !== '') return 0;
  return end === -1 ? text.length : end + 1;
}
