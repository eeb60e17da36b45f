/** What messages weigh. One way of counting serves the planner, the request and the profile's ratios. */
import { blake3Hex } from '../../ledger/chain.ts';
import { byteLength, canonicalJson } from '../../ledger/json.ts';
import type { ChatMessage } from '../request.ts';

/** Bytes a wire spends around each message: roles, ids, separators. */
const MESSAGE_OVERHEAD_BYTES = 16;
/** What an image is counted as, whatever its file size: providers bill by area. */
const IMAGE_BYTES_EQUIVALENT = 6_000;

/** Messages with what they weigh and what names their bytes: made once for a turn that will not change. */
export interface Rendered {
  readonly messages: readonly ChatMessage[];
  readonly bytes: number;
  readonly digest: string;
}

export function rendered(messages: readonly ChatMessage[]): Rendered {
  return { messages, bytes: weighMessages(messages), digest: blake3Hex(canonicalJson(messages)) };
}

/** UTF-8 bytes the messages put before a model; thinking and native blocks are left out, as usage ratios leave them out. */
export function weighMessages(messages: readonly ChatMessage[]): number {
  let bytes = 0;
  for (const message of messages) {
    bytes += MESSAGE_OVERHEAD_BYTES;
    for (const block of message.content) bytes += weighBlock(block);
  }
  return bytes;
}

function weighBlock(block: ChatMessage['content'][number]): number {
  switch (block.type) {
    case 'text':
      return byteLength(block.text);
    case 'image':
      return IMAGE_BYTES_EQUIVALENT;
    case 'tool_call':
      return byteLength(block.name) + byteLength(canonicalJson(block.args));
    case 'tool_result':
      return byteLength(block.content);
    case 'thinking':
    case 'native':
      return 0;
  }
}
