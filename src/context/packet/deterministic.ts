/** A packet made from cards alone: what stands for turns while no summariser has written of them. */
import { byteLength } from '../../ledger/json.ts';
import type { TurnCard } from '../../ledger/turn-card.ts';
import { escapeMarkers } from '../assemble/markers.ts';
import { oneLine } from '../one-line.ts';
import { EVIDENCE_BYTES, evidenceOf, evidenceSection, weigh } from './frame.ts';
import { PACKET } from './wording.ts';

/** The part of what is left below the head that turns may not take while there is evidence to name. */
const EVIDENCE_SHARE = 1 / 3;
/** A longer line says less of its turn. */
const TURN_LINE_BYTES = 1_024;
/** The full head stands where it takes at most this part of the whole. */
const HEAD_SHARE = 1 / 2;

export interface DeterministicInput {
  /** Turn numbers, both ends included. */
  readonly from: number;
  readonly to: number;
  /** Newest first and without gaps; may stop before `from`: the turns beyond are counted, not named. */
  readonly cards: readonly TurnCard[];
  /** UTF-8 bytes of the whole text. */
  readonly maxBytes: number;
}

/**
 * Whole lines only, never more than `maxBytes`. Below some 120 bytes nothing true fits and the text is empty.
 * The same cards give the same text whatever was made before.
 */
export function deterministicPacket({ from, to, cards, maxBytes }: DeterministicInput): string {
  const heads = [PACKET.head(from, to), PACKET.shortHead(from, to)];
  const head =
    heads.find((one) => byteLength(one) <= maxBytes * HEAD_SHARE) ??
    heads.findLast((one) => byteLength(one) <= maxBytes);
  if (head === undefined) return '';
  const room = maxBytes - byteLength(head);
  const evidence = evidenceOf(cards);
  const reserved = evidence.length === 0 ? 0 : Math.min(EVIDENCE_BYTES, Math.floor(room * EVIDENCE_SHARE));
  const turns = turnSection(cards, to - from + 1, room - reserved);
  const left = room - turns.reduce((bytes, line) => bytes + weigh(line), 0);
  const complete = cards.length === to - from + 1;
  const results = evidenceSection({ lines: evidence, complete }, Math.min(EVIDENCE_BYTES, left));
  return [head, ...turns, ...results].join('\n');
}

/** One line a turn, then how many are not named. */
function turnSection(cards: readonly TurnCard[], total: number, maxBytes: number): readonly string[] {
  const reserve = weigh(PACKET.unnamed(total));
  const lines: string[] = [];
  let bytes = 0;
  for (const card of cards) {
    const line = turnLine(card);
    const isLast = lines.length === total - 1;
    if (bytes + weigh(line) + (isLast ? 0 : reserve) > maxBytes) break;
    bytes += weigh(line);
    lines.push(line);
  }
  const unnamed = total - lines.length;
  if (unnamed === 0 || bytes + reserve > maxBytes) return lines;
  return [...lines, PACKET.unnamed(unnamed)];
}

/** `- T17 (failed): what was asked — metric "Title" p2`; in the spelling in which a card stands in a request. */
function turnLine({ number, outcome, asked, presentations }: TurnCard): string {
  const ended = outcome === 'completed' ? '' : ` (${outcome})`;
  const shown = presentations.map(({ type, title, id }) => `${type} "${title}" ${id}`).join(', ');
  const forms = [
    `- T${number}${ended}: ${asked}${shown === '' ? '' : ` — ${shown}`}`,
    `- T${number}${ended}: ${asked}`,
    `- T${number}${ended}`,
  ].map((form) => escapeMarkers(oneLine(form)));
  return forms.find((form) => byteLength(form) <= TURN_LINE_BYTES) ?? forms.at(-1) ?? '';
}
