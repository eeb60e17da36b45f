/** Text and markdown: the headings, the first paragraph, and how much there is. */
import { byteLength } from '../../ledger/json.ts';
import { counted, type Form } from './digest-form.ts';
import { readOutline, type Stretch } from './outline.ts';
import { type Quote, quoteOf } from './quote.ts';
import { countChars } from './window.ts';

/** Of what is no text, the beginning tells the kind. */
const SAMPLE_CHARS = 4_096;
const KINDS: readonly (readonly [RegExp, string])[] = [
  [/^data:/i, 'a data URL'],
  [/^[\da-f]+$/i, 'hexadecimal digits'],
  [/^[\w+/=-]+$/, 'encoded bytes'],
];

/** Takes any text. */
export function textForm(text: string): Form {
  const outline = readOutline(text);
  const quote =
    outline.paragraph === null ? null : quoteOf(text, outline.paragraph.start, outline.paragraph.end);
  const size = `${counted(outline.lines, 'line')}, ${counted(byteLength(text), 'byte')}`;
  if (quote === null && outline.headings.length === 0) return unquotable(text, size, outline.lines);
  const parts = [
    `Text of ${size}.`,
    ...(outline.headings.length > 0 ? ['Headings:'] : []),
    ...outline.headings.map((heading) => showHeading(text, heading)),
    ...(quote === null ? [] : [quoteLabel(quote), quote.text]),
  ];
  return { body: parts.join('\n'), shape: `text, ${counted(outline.lines, 'line')}` };
}

function quoteLabel({ whole }: Quote): string {
  return whole ? 'First paragraph:' : 'First sentence:';
}

function showHeading(text: string, { start, end }: Stretch): string {
  const quote = quoteOf(text, start, end);
  return quote?.whole ? quote.text : `(a heading of ${countChars(text, start, end)} characters)`;
}

/** Says what it is and nothing of what it holds. */
function unquotable(text: string, size: string, lines: number): Form {
  const beginning = text.trimStart().slice(0, SAMPLE_CHARS);
  const sample = beginning.replace(/\s+/g, '');
  const kind = KINDS.find(([pattern]) => pattern.test(sample))?.[1];
  if (sample === '') return { body: `White space, ${size}.`, shape: 'blank text' };
  if (kind !== undefined && isDense(beginning)) {
    return { body: `What looks like ${kind}: ${size}.`, shape: `data, ${counted(byteLength(text), 'byte')}` };
  }
  return {
    body: `Text of ${size}, without a short first sentence.`,
    shape: `text, ${counted(lines, 'line')}`,
  };
}

/** Without a single word between spaces. */
function isDense(beginning: string): boolean {
  return !/\s\S{1,40}\s/.test(beginning);
}
