/** What a summariser is asked: a request of its own, never the turn's, sized to the leg that answers it. */
import { byteLength } from '../../ledger/json.ts';
import type { TracedCall, TurnCard } from '../../ledger/turn-card.ts';
import { escapeMarkers } from '../assemble/markers.ts';
import { weighMessages } from '../assemble/weigh.ts';
import { oneLine } from '../one-line.ts';
import type { ChatMessage, ChatRequest } from '../request.ts';
import { fitLines } from './fit-lines.ts';
import { weigh } from './frame.ts';
import { HANDOFF, HANDOFF_REPLY_TOKENS, SUMMARY, SUMMARY_REPLY_TOKENS } from './wording.ts';

/** What a handoff's transcript leaves of the ceiling for all else. */
const HANDOFF_MARGIN_TOKENS = 2_000;
const HANDOFF_LEAST_CHARS = 4_000;
/** Longer arguments are a file's content or a script: recall returns them, a summary does not need them. */
const MAX_ARGS_BYTES = 512;

/** Of the leg that summarises: its largest prompt with the reply counted in, and its measured ratio. */
export interface SummariserLimits {
  readonly ceilingTokens: number;
  readonly tokensPerByte: number;
}

export interface PacketRequestInput {
  /** First turn of the packet. */
  readonly from: number;
  /** Last turn of `cards`. */
  readonly to: number;
  /** What is told already of the turns `from` to `seed.to`; null when the cards begin at `from`. */
  readonly seed: { readonly to: number; readonly text: string } | null;
  /** Oldest first; as many as `batchesWithin` allows. */
  readonly cards: readonly TurnCard[];
}

/** null when the leg has no room for it: then the packet is made without a model. */
export function packetRequest(input: PacketRequestInput, limits: SummariserLimits): ChatRequest | null {
  const room = packetRoomBytes(input, limits);
  const lines = input.cards.map((card) => cardDigest(card, room - 1));
  const bytes = lines.reduce((sum, line) => sum + weigh(line), 0);
  if (lines.length === 0 || bytes > room) return null;
  const text = [...packetHead(input), ...lines].join('\n');
  return { system: SUMMARY.system, tools: [], messages: told(text), maxTokens: SUMMARY_REPLY_TOKENS };
}

/** Bytes that the lines of cards may take beside the system text, the seed and the reply; may be negative. */
export function packetRoomBytes(
  input: Omit<PacketRequestInput, 'cards'>,
  { ceilingTokens, tokensPerByte }: SummariserLimits,
): number {
  const frame = byteLength(SUMMARY.system) + weighMessages(told(packetHead(input).join('\n')));
  return bytesWithin(ceilingTokens - SUMMARY_REPLY_TOKENS, tokensPerByte) - frame;
}

/** How many cards, from the oldest on, fit `budgetBytes`; at least one. `weights` are those of `weighCard`. */
export function batchesWithin(weights: readonly number[], budgetBytes: number): number {
  let bytes = 0;
  for (const [at, weight] of weights.entries()) {
    bytes += weight;
    if (bytes > budgetBytes) return Math.max(1, at);
  }
  return Math.max(1, weights.length);
}

/** What a card takes of a summariser's budget, in bytes. */
export function weighCard(card: TurnCard): number {
  return weigh(cardDigest(card, Number.POSITIVE_INFINITY));
}

export interface HandoffRequestInput {
  /** As the user wrote it. */
  readonly directive: string;
  /** The turn's steps as digests, oldest first; what came from elsewhere in them is escaped already. */
  readonly lines: readonly string[];
}

/**
 * The directive stands whole and first; of the lines, the newest that fit. null when the directive alone leaves
 * no room on this leg.
 */
export function handoffRequest(input: HandoffRequestInput, limits: SummariserLimits): ChatRequest | null {
  const head = [HANDOFF.directive, escapeMarkers(input.directive), HANDOFF.transcript];
  const frame = byteLength(HANDOFF.system) + weighMessages(told(''));
  const given = head.reduce((bytes, line) => bytes + weigh(line), weigh(HANDOFF.leftOut(input.lines.length)));
  const most = bytesWithin(limits.ceilingTokens - HANDOFF_REPLY_TOKENS, limits.tokensPerByte) - frame - given;
  if (most < 0) return null;
  const wanted = bytesWithin(limits.ceilingTokens - HANDOFF_MARGIN_TOKENS, limits.tokensPerByte) - given;
  const room = { wantedBytes: wanted, leastChars: HANDOFF_LEAST_CHARS, mostBytes: most };
  const { kept, leftOut } = fitLines(input.lines, room, HANDOFF.tooLong);
  const text = [...head, ...(leftOut > 0 ? [HANDOFF.leftOut(leftOut)] : []), ...kept].join('\n');
  return { system: HANDOFF.system, tools: [], messages: told(text), maxTokens: HANDOFF_REPLY_TOKENS };
}

function packetHead({ from, to, seed }: Omit<PacketRequestInput, 'cards'>): readonly string[] {
  if (seed === null) return [SUMMARY.turns(from, to)];
  return [SUMMARY.earlier(from, seed.to), escapeMarkers(seed.text), '', SUMMARY.turns(seed.to + 1, to)];
}

/** One line of all a card holds; one that is longer than `maxBytes` says less, down to the turn's number. */
function cardDigest(card: TurnCard, maxBytes: number): string {
  const { number, outcome, asked, did, presentations, narration } = card;
  const ended = outcome === 'completed' ? '' : ` (${outcome})`;
  const calls = did.map(callText).join('; ');
  const bare = did.map(({ tool, evidence }) => `${tool} → ${evidence ?? 'no result'}`).join('; ');
  const shown = presentations.map(({ type, title, id, digest }) => `${type} "${title}" ${id}: ${digest}`);
  const forms = [
    [asked, calls, ...shown, narration],
    [asked, bare, ...presentations.map(({ title, id }) => `"${title}" ${id}`)],
    [bare],
    [],
  ].map((parts) => {
    const said = parts.filter((part) => part !== '').join(' — ');
    return escapeMarkers(oneLine(`T${number}${ended}: ${said}`));
  });
  return forms.find((form) => byteLength(form) <= maxBytes) ?? forms.at(-1) ?? '';
}

function callText({ tool, args, evidence, shape }: TracedCall): string {
  const given = byteLength(args) > MAX_ARGS_BYTES ? '' : ` ${args}`;
  return `${tool}${given} → ${evidence === null ? shape : `${evidence} (${shape})`}`;
}

function told(text: string): readonly ChatMessage[] {
  return [{ role: 'user', content: [{ type: 'text', text }] }];
}

/** The most bytes that cost at most so many tokens; negative for a negative number of tokens. */
function bytesWithin(tokens: number, tokensPerByte: number): number {
  const bytes = Math.floor(tokens / tokensPerByte);
  return Math.ceil(bytes * tokensPerByte) <= tokens ? bytes : bytes - 1;
}
