/** Plan to request: prefix, packet, whole turns, the open turn with its tail. Same inputs, same bytes. */
import { blake3Hex } from '../../ledger/chain.ts';
import { canonicalJson } from '../../ledger/json.ts';
import type { ChatMessage, ChatRequest } from '../request.ts';
import { escapeMarkers, tagged } from './markers.ts';
import type { Prefix } from './prefix.ts';
import type { Rendered } from './turn.ts';

/** Named by every plan: a request of another version cannot be rebuilt byte for byte. */
export const ASSEMBLER_VERSION = 1;

export interface PacketPiece {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

export interface AssembleInput {
  readonly prefix: Prefix;
  readonly packet: Rendered | null;
  /** The planned turns, oldest first. */
  readonly history: readonly Rendered[];
  readonly open: Rendered;
  readonly maxTokens: number;
  readonly cacheKey: string;
}

export interface Assembled {
  readonly request: ChatRequest;
  /** Prefix and messages, as `tokensPerByte` counts them. */
  readonly requestBytes: number;
  /** Names the request's bytes by its pieces: a turn that was sent before is not hashed again. */
  readonly requestDigest: string;
}

export function assemble(input: AssembleInput): Assembled {
  const { prefix, packet, open, maxTokens } = input;
  const before = packet === null ? input.history : [packet, ...input.history];
  const pieces = [...before, open];
  const messages = pieces.flatMap((piece) => piece.messages);
  const endOfHistory = messages.length - open.messages.length - 1;
  const breakpoints = [...new Set([-1, endOfHistory, messages.length - 1])];
  const digests = pieces.map((piece) => piece.digest);
  return {
    request: {
      system: prefix.system,
      tools: prefix.tools,
      messages,
      maxTokens,
      cache: { key: input.cacheKey, breakpoints },
    },
    requestBytes: pieces.reduce((sum, piece) => sum + piece.bytes, prefix.bytes),
    requestDigest: blake3Hex(
      canonicalJson({ v: ASSEMBLER_VERSION, prefix: prefix.digest, maxTokens, pieces: digests }),
    ),
  };
}

export function packetMessages(packet: PacketPiece): readonly ChatMessage[] {
  const text = tagged('context_summary', escapeMarkers(packet.text), ` turns="${packet.from}-${packet.to}"`);
  return [{ role: 'user', content: [{ type: 'text', text }] }];
}
