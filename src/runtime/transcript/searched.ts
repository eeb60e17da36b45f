/** The text of a message as a search sees it: what its parts show, each from a line of its own. */
import type { Part, TranscriptMessage } from './parts.ts';

export interface Line {
  /** Counts from 1. */
  readonly number: number;
  /** Without its line break. */
  readonly text: string;
}

export function searchedText({ parts }: TranscriptMessage): string {
  const texts = parts.map(textOf).filter((text) => text !== '');
  // One text, however long, is searched as it is: a copy would be as long again.
  return texts.map((text, index) => (index < texts.length - 1 ? ended(text) : text)).join('');
}

export function searchedLines(message: TranscriptMessage): readonly Line[] {
  return [...linesHolding(searchedText(message), null)];
}

/**
 * The lines of a text in which `literal` stands, and perhaps some where it only begins; every line where it is null. A
 * line ends with `\n` or `\r\n`; a final break begins no further line. Time grows with the text alone.
 */
export function* linesHolding(text: string, literal: string | null): Generator<Line> {
  let number = 1;
  let at = 0;
  while (at < text.length) {
    const found = literal === null ? at : text.indexOf(literal, at);
    if (found === -1) return;
    let end = endOfLine(text, at);
    while (end < found) {
      number += 1;
      at = end + 1;
      end = endOfLine(text, at);
    }
    yield { number, text: text.slice(at, text[end - 1] === '\r' && end < text.length ? end - 1 : end) };
    number += 1;
    at = end + 1;
  }
}

function endOfLine(text: string, from: number): number {
  const newline = text.indexOf('\n', from);
  return newline === -1 ? text.length : newline;
}

function textOf(part: Part): string {
  switch (part.type) {
    case 'text':
    case 'reasoning':
    case 'result':
      return part.text;
    case 'program':
      return `${part.tool} ${part.source}`;
    // Neither has text to find; `read` says that they are there.
    case 'binary':
    case 'custom':
      return '';
  }
}

function ended(text: string): string {
  return text.endsWith('\n') ? text : `${text}\n`;
}
