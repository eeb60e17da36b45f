/** The pieces that stand for turns which are not shown: packet, cards, and the handoff of a reset. */
import type { ChatMessage } from '../request.ts';
import { tagged } from './markers.ts';

/** Cards stand in blocks of so many turns, by number: one that is full keeps its bytes from turn to turn. */
const CARDS_A_BLOCK = 8;

export interface PacketPiece {
  readonly from: number;
  readonly to: number;
  /** What came from elsewhere in it was escaped when it was made. */
  readonly text: string;
}

export interface CardPiece {
  readonly number: number;
  /** Escaped when it was made. */
  readonly line: string;
}

export function packetMessages({ from, to, text }: PacketPiece): readonly ChatMessage[] {
  return message(tagged('context_summary', text, ` turns="${from}-${to}"`));
}

export function resetMessages(text: string): readonly ChatMessage[] {
  return message(tagged('handoff', text));
}

/**
 * One line a turn, oldest first. The blocks that are full stand in a message of their own, before that of the newest
 * turns: a cache may end there.
 */
export function cardMessages(cards: readonly CardPiece[]): readonly (readonly ChatMessage[])[] {
  const newest = cards.at(-1)?.number ?? 0;
  const filled = Math.floor(newest / CARDS_A_BLOCK) * CARDS_A_BLOCK;
  const parts = [
    cards.filter(({ number }) => number <= filled),
    cards.filter(({ number }) => number > filled),
  ];
  return parts.filter((part) => part.length > 0).map(cardsMessage);
}

function cardsMessage(cards: readonly CardPiece[]): readonly ChatMessage[] {
  return message(tagged('turn_cards', cards.map(({ line }) => line).join('\n')));
}

function message(text: string): readonly ChatMessage[] {
  return [{ role: 'user', content: [{ type: 'text', text }] }];
}
