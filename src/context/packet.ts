/** The deterministic packet: what stands for turns that left the request, made without a model. */

/** Bytes of directive lines, newest kept; older ones are counted, and recall reaches them. */
const DIRECTIVE_LINES_BYTES = 2_048;
/** Bytes of evidence lines, newest kept. */
const EVIDENCE_LINES_BYTES = 1_024;
const GIST_WORDS = 24;

export interface PacketTurn {
  readonly number: number;
  readonly asked: string;
  readonly outcome: string;
  readonly evidence: readonly { readonly id: string; readonly tool: string }[];
}

export interface PacketInput {
  readonly from: number;
  readonly to: number;
  /** The text of the longest stored packet with the same first turn; its lines come before the new ones. */
  readonly seed: string | null;
  /** The turns the seed does not cover, oldest first. */
  readonly turns: readonly PacketTurn[];
}

export function deterministicPacket(input: PacketInput): string {
  const earlier = parseSections(input.seed);
  const asked = [...earlier.asked, ...input.turns.map(askedLine)];
  const evidence = [
    ...earlier.evidence,
    ...input.turns.flatMap((turn) =>
      turn.evidence.map((item) => `${item.id}: ${item.tool} in T${turn.number}`),
    ),
  ];
  const lines = [
    `Turns ${input.from} to ${input.to} are summarised here and not shown. The record keeps them whole.`,
    'Asked, newest first:',
    ...newestWithin(asked, DIRECTIVE_LINES_BYTES),
  ];
  if (evidence.length > 0)
    lines.push(
      'Evidence, newest first; recall({"id": …}) returns it:',
      ...newestWithin(evidence, EVIDENCE_LINES_BYTES),
    );
  return lines.join('\n');
}

function askedLine(turn: PacketTurn): string {
  const words = turn.asked.split(/\s+/u).filter((word) => word !== '');
  const gist = words.length > GIST_WORDS ? `${words.slice(0, GIST_WORDS).join(' ')} …` : words.join(' ');
  return `T${turn.number} (${turn.outcome}): ${gist}`;
}

/** `lines` come oldest first; the result is newest first, whole lines only. */
function newestWithin(lines: readonly string[], limitBytes: number): readonly string[] {
  const kept: string[] = [];
  let bytes = 0;
  for (const line of lines.toReversed()) {
    bytes += Buffer.byteLength(line) + 3;
    if (bytes > limitBytes) break;
    kept.push(`- ${line}`);
  }
  return kept;
}

function parseSections(seed: string | null): {
  readonly asked: readonly string[];
  readonly evidence: readonly string[];
} {
  const asked: string[] = [];
  const evidence: string[] = [];
  for (const line of (seed ?? '').split('\n')) {
    if (!line.startsWith('- ')) continue;
    const content = line.slice(2);
    if (/^T\d+ \(/u.test(content)) asked.unshift(content);
    else evidence.unshift(content);
  }
  return { asked, evidence };
}
