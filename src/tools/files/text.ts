/** Text out of an open file: whole, or in blocks of whole lines with a bounded memory. Reading never trusts a size. */
import type { FileHandle } from 'node:fs/promises';
import { TextDecoder } from 'node:util';

/** One tool result of this size is already hundreds of windows long. */
export const MAX_TEXT_BYTES = 10_000_000;
/** Small enough that the dearest pattern searches one block in a fraction of a second. */
const BLOCK_BYTES = 16_384;
const SNIFFED_BYTES = 8_192;
const REPLACEMENT = '\uFFFD';

/** A line longer than a block comes in pieces: a piece that does not end in `\n` goes on in the next block. */
export interface LineBlock {
  readonly firstLine: number;
  readonly text: string;
}

/** A NUL byte near the beginning, as every binary format has and no text does. */
export async function isBinary(handle: FileHandle): Promise<boolean> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(SNIFFED_BYTES), 0, SNIFFED_BYTES, 0);
  return buffer.subarray(0, bytesRead).includes(0);
}

/** The first bytes of a file in hexadecimal, to tell its format by. */
export async function firstBytes(handle: FileHandle, count: number): Promise<string> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(count), 0, count, 0);
  return buffer
    .subarray(0, bytesRead)
    .toString('hex')
    .replace(/..(?=.)/g, '$& ');
}

/** The whole text; null when the file holds more than `MAX_TEXT_BYTES`. */
export async function readText(handle: FileHandle, signal: AbortSignal): Promise<string | null> {
  const parts: string[] = [];
  let readBytes = 0;
  const decoder = new TextDecoder();
  for await (const bytes of byteBlocks(handle, signal, BLOCK_BYTES * 16)) {
    readBytes += bytes.length;
    if (readBytes > MAX_TEXT_BYTES) return null;
    parts.push(decode(decoder, bytes));
  }
  parts.push(decoder.decode());
  return parts.join('');
}

export async function* lineBlocks(
  handle: FileHandle,
  signal: AbortSignal,
): AsyncGenerator<LineBlock, void, void> {
  const decoder = new TextDecoder();
  let firstLine = 1;
  let carried = '';
  for await (const bytes of byteBlocks(handle, signal, BLOCK_BYTES)) {
    const decoded = decode(decoder, bytes);
    const cut = decoded.lastIndexOf('\n') + 1;
    if (cut === 0 && carried.length + decoded.length < BLOCK_BYTES) {
      carried += decoded;
      continue;
    }
    const text = carried + (cut === 0 ? decoded : decoded.slice(0, cut));
    carried = cut === 0 ? '' : decoded.slice(cut);
    yield { firstLine, text };
    firstLine += countLineEnds(text);
  }
  carried += decoder.decode();
  if (carried !== '') yield { firstLine, text: carried };
}

/** A note for a text in which something could not be decoded. */
export function undecodedNote(text: string): string {
  const marker = `\n(${REPLACEMENT} stands for a byte that is not UTF-8 text.)`;
  return text.includes(REPLACEMENT) ? marker : '';
}

function countLineEnds(text: string): number {
  let count = 0;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) count += 1;
  return count;
}

/** A NUL past the sniffed bytes counts as undecodable: a text with NUL fits no Postgres column. */
function decode(decoder: TextDecoder, bytes: Buffer): string {
  return decoder.decode(bytes, { stream: true }).replaceAll('\0', REPLACEMENT);
}

async function* byteBlocks(
  handle: FileHandle,
  signal: AbortSignal,
  blockBytes: number,
): AsyncGenerator<Buffer, void, void> {
  const block = Buffer.alloc(blockBytes);
  for (let position = 0; ; ) {
    signal.throwIfAborted();
    const { bytesRead } = await handle.read(block, 0, blockBytes, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield block.subarray(0, bytesRead);
  }
}
