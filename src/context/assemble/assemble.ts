/** Plan to request: prefix, packet, whole turns, the open turn with its tail. Same inputs, same bytes. */
import type { TurnView } from '../../ledger/view.ts';
import type { ChatMessage, ChatRequest } from '../request.ts';
import { escapeMarkers, tagged } from './markers.ts';
import type { Prefix } from './prefix.ts';
import { renderTail } from './tail.ts';
import { renderTurn, weighMessages } from './turn.ts';

/** Named by every plan: a request of another version cannot be rebuilt byte for byte. */
export const ASSEMBLER_VERSION = 1;

export interface PacketPiece {
  readonly from: number;
  readonly to: number;
  readonly text: string;
}

export interface AssembleInput {
  readonly prefix: Prefix;
  readonly packet: PacketPiece | null;
  /** The planned turns, oldest first. */
  readonly history: readonly TurnView[];
  readonly open: TurnView;
  readonly maxTokens: number;
  readonly cacheKey: string;
}

export interface Assembled {
  readonly request: ChatRequest;
  /** Prefix and messages, as `tokensPerByte` counts them. */
  readonly requestBytes: number;
}

export function assemble(input: AssembleInput): Assembled {
  const history = [
    ...packetMessages(input.packet),
    ...input.history.flatMap((turn) => renderTurn(turn, null)),
  ];
  const messages = [...history, ...renderTurn(input.open, renderTail(input.open))];
  const breakpoints = [...new Set([-1, history.length - 1, messages.length - 1])];
  const request: ChatRequest = {
    system: input.prefix.system,
    tools: input.prefix.tools,
    messages,
    maxTokens: input.maxTokens,
    cache: { key: input.cacheKey, breakpoints },
  };
  return { request, requestBytes: input.prefix.bytes + weighMessages(messages) };
}

export function packetMessages(packet: PacketPiece | null): readonly ChatMessage[] {
  if (packet === null) return [];
  const text = tagged('context_summary', escapeMarkers(packet.text), ` turns="${packet.from}-${packet.to}"`);
  return [{ role: 'user', content: [{ type: 'text', text }] }];
}
