/** Plan to request: prefix, handoff, packet, cards, whole turns, the open turn with its tail. Same inputs, same bytes. */
import { blake3Hex } from '../../ledger/chain.ts';
import { canonicalJson } from '../../ledger/json.ts';
import type { ChatRequest } from '../request.ts';
import type { Prefix } from './prefix.ts';
import type { Rendered } from './weigh.ts';

/** Named by every plan: a request of another version cannot be rebuilt byte for byte. */
export const ASSEMBLER_VERSION = 3;

export interface AssembleInput {
  readonly prefix: Prefix;
  /** What stands before the open turn, in the order it is sent; the first `settled` pieces stay for several turns. */
  readonly history: readonly Rendered[];
  readonly settled?: number;
  readonly open: Rendered;
  readonly maxTokens: number;
  readonly cacheKey: string;
  /** The history only grows at its end: caches are read up to the last two messages. */
  readonly tail?: boolean;
}

export interface Assembled {
  readonly request: ChatRequest;
  /** Prefix and messages, as `tokensPerByte` counts them. */
  readonly requestBytes: number;
  /** Names the request's bytes by its pieces: a turn that was sent before is not hashed again. */
  readonly requestDigest: string;
}

/** Cache breakpoints: the prefix, what settled, the end of the history, the newest message. */
export function assemble(input: AssembleInput): Assembled {
  const { prefix, history, settled = 0, open, maxTokens, cacheKey, tail = false } = input;
  const pieces = [...history, open];
  const messages = pieces.flatMap((piece) => piece.messages);
  const endOfHistory = messages.length - open.messages.length - 1;
  const endOfSettled = history.slice(0, settled).flatMap((piece) => piece.messages).length - 1;
  const end = messages.length - 1;
  const breakpoints = tail ? [-1, Math.max(0, end - 1), end] : [-1, endOfSettled, endOfHistory, end];
  const digests = pieces.map((piece) => piece.digest);
  return {
    request: {
      system: prefix.system,
      tools: prefix.tools,
      ...(prefix.deferred === undefined ? {} : { deferred: prefix.deferred }),
      messages,
      maxTokens,
      cache: { key: cacheKey, breakpoints: [...new Set(breakpoints)] },
    },
    requestBytes: pieces.reduce((sum, piece) => sum + piece.bytes, prefix.bytes),
    requestDigest: blake3Hex(
      canonicalJson({ v: ASSEMBLER_VERSION, prefix: prefix.digest, maxTokens, pieces: digests }),
    ),
  };
}
