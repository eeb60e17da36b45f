/**
 * The window over a tool result too long to be sent whole in its own turn, and the cuts that bring the
 * rest back. A *character* is a Unicode code point (an unpaired surrogate counts as one). A *line* ends
 * with `\n`, which belongs to it; a final `\n` begins no further line. Lines count from 1, ranges of lines
 * include both ends; characters count from 0, ranges of characters exclude their end.
 *
 * Laws: a text of at most `limitChars` comes back untouched. Of a longer one every character is either
 * shown or inside a range that the window names together with the recall call that returns it. The window
 * without its omission line holds at most `limitChars` characters.
 */

export const WINDOW_LIMIT_CHARS = 30_000;
/** Share of the limit that shows the beginning; the end, where results tend to conclude, has the rest. */
const HEAD_SHARE = 2 / 5;
/** What a window keeps of one line, so that a minified file cannot push every other line out. */
const LINE_CHARS = 2_000;

export interface LineSlice {
  readonly text: string;
  /** The range after clamping. Beyond the end of the text, `from` is greater than `to` and `text` empty. */
  readonly from: number;
  readonly to: number;
  readonly totalLines: number;
}

/** One line where it stands: code-unit indexes for slicing, the other numbers for a recall call. */
interface Line {
  readonly start: number;
  /** Before the line's `\n`. */
  readonly end: number;
  /** After the line's `\n`. */
  readonly next: number;
  readonly number: number;
  readonly chars: number;
  /** Characters of the whole text before this line. */
  readonly charsBefore: number;
}

/** A point between two lines. */
interface Cut {
  readonly at: number;
  readonly charsBefore: number;
  readonly linesBefore: number;
  readonly shown: string;
}

export interface WindowOptions {
  readonly evidenceId: string;
  readonly limitChars?: number;
  /** Guards what is shown of the text; ranges count the text itself, and what the window says of it is ours. */
  readonly guard?: (shown: string) => string;
}

const asIs = (shown: string): string => shown;

export function windowResult(text: string, options: WindowOptions): string {
  const { evidenceId, limitChars = WINDOW_LIMIT_CHARS } = options;
  if (fits(text, limitChars)) return text;
  const show = (line: Line) => showLine(text, line, options);
  const headChars = Math.floor(limitChars * HEAD_SHARE);
  const head = takeHead(text, headChars, show);
  const tail = takeTail(text, head.at, limitChars - headChars, show);
  if (tail.at === head.at) return head.shown + tail.shown;
  const range = { from: head.linesBefore + 1, to: tail.linesBefore };
  const omittedChars = tail.charsBefore - head.charsBefore;
  const lines = range.from === range.to ? `line ${range.from}` : `lines ${range.from} to ${range.to}`;
  const omission = `[${lines} omitted, ${omittedChars} characters: ${recallCall({ id: evidenceId, range })}]`;
  return `${head.shown}${omission}${tail.shown === '' ? '' : '\n'}${tail.shown}`;
}

/** Lines `from` to `to`, clamped to the text. */
export function sliceLines(text: string, from: number, to: number): LineSlice {
  const first = Math.max(1, from);
  let line = 0;
  let start = text.length;
  let end = text.length;
  for (let at = 0; at < text.length; ) {
    line += 1;
    if (line === first) start = at;
    const newline = text.indexOf('\n', at);
    at = newline === -1 ? text.length : newline + 1;
    if (line === to) end = at;
  }
  const last = Math.min(to, line);
  return { text: first > last ? '' : text.slice(start, end), from: first, to: last, totalLines: line };
}

/** Characters `from` (counted from 0) up to, not including, `to`. */
export function sliceChars(text: string, from: number, to: number): string {
  const start = advance(text, 0, from);
  return text.slice(start, advance(text, start, to - from));
}

export function countChars(text: string, start = 0, end = text.length): number {
  let pairs = 0;
  for (let at = start; at < end - 1; at += 1) {
    if (startsPair(text, at)) {
      pairs += 1;
      at += 1;
    }
  }
  return end - start - pairs;
}

/** The call as a model writes it. */
export function recallCall(args: {
  readonly id: string;
  readonly range?: { readonly from: number; readonly to: number };
  readonly chars?: { readonly from: number; readonly to: number };
}): string {
  return `recall(${JSON.stringify(args)})`;
}

function fits(text: string, limitChars: number): boolean {
  if (text.length <= limitChars) return true;
  return text.length <= 2 * limitChars && countChars(text) <= limitChars;
}

function takeHead(text: string, budgetChars: number, show: (line: Line) => string): Cut {
  let cut: Cut = { at: 0, charsBefore: 0, linesBefore: 0, shown: '' };
  let leftChars = budgetChars;
  while (cut.at < text.length) {
    const line = lineAt(text, cut);
    const shown = show(line);
    leftChars -= countChars(shown);
    if (leftChars < 0) break;
    cut = {
      at: line.next,
      charsBefore: line.charsBefore + line.chars + (line.next - line.end),
      linesBefore: line.number,
      shown: cut.shown + shown,
    };
  }
  return cut;
}

function takeTail(text: string, floor: number, budgetChars: number, show: (line: Line) => string): Cut {
  let cut: Cut = {
    at: text.length,
    charsBefore: countChars(text),
    linesBefore: sliceLines(text, 1, 1).totalLines,
    shown: '',
  };
  let leftChars = budgetChars;
  while (cut.at > floor) {
    const line = lineBefore(text, cut);
    const shown = show(line);
    leftChars -= countChars(shown);
    if (leftChars < 0) break;
    cut = {
      at: line.start,
      charsBefore: line.charsBefore,
      linesBefore: line.number - 1,
      shown: shown + cut.shown,
    };
  }
  return cut;
}

function lineAt(text: string, cut: Cut): Line {
  const newline = text.indexOf('\n', cut.at);
  const end = newline === -1 ? text.length : newline;
  return {
    start: cut.at,
    end,
    next: newline === -1 ? end : end + 1,
    number: cut.linesBefore + 1,
    chars: countChars(text, cut.at, end),
    charsBefore: cut.charsBefore,
  };
}

function lineBefore(text: string, cut: Cut): Line {
  const end = text.charCodeAt(cut.at - 1) === 10 ? cut.at - 1 : cut.at;
  const start = end === 0 ? 0 : text.lastIndexOf('\n', end - 1) + 1;
  const chars = countChars(text, start, end);
  return {
    start,
    end,
    next: cut.at,
    number: cut.linesBefore,
    chars,
    charsBefore: cut.charsBefore - chars - (cut.at - end),
  };
}

function showLine(text: string, line: Line, { evidenceId, guard = asIs }: WindowOptions): string {
  if (line.chars <= LINE_CHARS) return guard(text.slice(line.start, line.next));
  const kept = guard(text.slice(line.start, advance(text, line.start, LINE_CHARS)));
  const from = line.charsBefore + LINE_CHARS;
  const call = recallCall({ id: evidenceId, chars: { from, to: line.charsBefore + line.chars } });
  const note = `… [${line.chars - LINE_CHARS} more characters of line ${line.number}: ${call}]`;
  return kept + note + text.slice(line.end, line.next);
}

/** The index `chars` characters after `start`, at most the end. */
function advance(text: string, start: number, chars: number): number {
  let at = start;
  for (let left = chars; left > 0 && at < text.length; left -= 1) at += startsPair(text, at) ? 2 : 1;
  return at;
}

function startsPair(text: string, at: number): boolean {
  return (text.charCodeAt(at) & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00;
}
