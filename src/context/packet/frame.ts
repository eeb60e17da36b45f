/** The text of a packet around whatever tells of its turns: which they are, how to reach them, what they left. */
import { byteLength } from '../../ledger/json.ts';
import type { TurnCard } from '../../ledger/turn-card.ts';
import { escapeMarkers } from '../assemble/markers.ts';
import { oneLine } from '../one-line.ts';
import { PACKET } from './wording.ts';

/** What the evidence lines of a packet may take, their heading included. */
export const EVIDENCE_BYTES = 1_024;
/** A longer line says less of its call: one call must not take the room of all others. */
const EVIDENCE_LINE_BYTES = 256;

/** A result that recall returns: the call that brought it and its shape in words, none of it escaped. */
export interface EvidenceLine {
  readonly id: string;
  readonly tool: string;
  readonly args: string;
  readonly turn: number;
  readonly shape: string;
}

export interface PacketFrame {
  /** Turn numbers, both ends included. */
  readonly from: number;
  readonly to: number;
  /** Ours or escaped already; null leaves the frame alone. */
  readonly summary: string | null;
  readonly evidence: PacketEvidence;
}

/** `complete` is false when turns of the range were not looked at, so that the number left out is unknown. */
export interface PacketEvidence {
  /** Newest first. */
  readonly lines: readonly EvidenceLine[];
  readonly complete: boolean;
}

export function packetText({ from, to, summary, evidence }: PacketFrame): string {
  const parts = [PACKET.head(from, to), summary ?? '', ...evidenceSection(evidence, EVIDENCE_BYTES)];
  return parts.filter((part) => part !== '').join('\n');
}

/** What `packetText` was given as its summary: the seed of a packet that reaches further. */
export function summaryIn(text: string): string {
  const start = text.indexOf('\n');
  if (start === -1) return '';
  const heading = text.lastIndexOf(`\n${PACKET.evidence}\n`);
  return text.slice(start + 1, heading === -1 ? undefined : Math.max(heading, start + 1));
}

/** Cards newest first; the results of one turn come last call first. */
export function evidenceOf(cards: readonly TurnCard[]): readonly EvidenceLine[] {
  return cards.flatMap(({ number, did }) =>
    did
      .flatMap(({ evidence, tool, args, shape }): EvidenceLine[] =>
        evidence === null ? [] : [{ id: evidence, tool, args, turn: number, shape }],
      )
      .reverse(),
  );
}

/** Heading, whole lines and the number left out, in at most `maxBytes` with their line breaks; none where none fits. */
export function evidenceSection({ lines, complete }: PacketEvidence, maxBytes: number): readonly string[] {
  const rest = (left: number): string => (complete ? PACKET.moreEvidence(left) : PACKET.olderEvidence);
  const reserve = weigh(rest(lines.length));
  const kept: string[] = [];
  let bytes = weigh(PACKET.evidence);
  for (const [at, line] of lines.entries()) {
    const text = evidenceText(line);
    const isLast = complete && at === lines.length - 1;
    if (bytes + weigh(text) + (isLast ? 0 : reserve) > maxBytes) break;
    bytes += weigh(text);
    kept.push(text);
  }
  if (kept.length === 0) return [];
  const left = lines.length - kept.length;
  return [PACKET.evidence, ...kept, ...(left > 0 || !complete ? [rest(left)] : [])];
}

/** Bytes of a line and of the break before it. */
export function weigh(line: string): number {
  return byteLength(line) + 1;
}

function evidenceText({ id, tool, args, turn, shape }: EvidenceLine): string {
  const called = args.length > EVIDENCE_LINE_BYTES ? '' : ` ${oneLine(args)}`;
  const shaped = shape === '' ? '' : ` — ${oneLine(shape)}`;
  const forms = [
    `- ${id}: ${tool}${called} in T${turn}${shaped}`,
    `- ${id}: ${tool} in T${turn}${shaped}`,
    `- ${id}: ${tool} in T${turn}`,
  ].map(escapeMarkers);
  return forms.find((form) => byteLength(form) <= EVIDENCE_LINE_BYTES) ?? forms.at(-1) ?? '';
}
