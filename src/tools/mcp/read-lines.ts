/** The lines of a stream, each cut to a length: a line without an end must not fill the memory. */

import type { Stream } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';
import { plainText } from './plain-text.ts';

/** Twice what is shown of one: what is masked in it must not be cut by this. */
const LINE_CHARS = 4_000;

export function readLines(stream: Stream, onLine: (line: string) => void): void {
  const decoder = new StringDecoder('utf8');
  let line = '';
  const add = (part: string): void => {
    line += part.slice(0, LINE_CHARS - line.length);
  };
  const end = (): void => {
    if (line !== '') onLine(plainText(line));
    line = '';
  };
  stream.on('data', (chunk: Buffer) => {
    const [first = '', ...rest] = decoder.write(chunk).split('\n');
    add(first);
    for (const part of rest) {
      end();
      add(part);
    }
  });
  stream.on('end', end);
}
