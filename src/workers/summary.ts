/** The `summary` pool: packets for turns that left the requests, and the handoff of a turn that outgrew its model. */
import { packetMessages } from '../context/assemble/packet-piece.ts';
import { weighMessages } from '../context/assemble/weigh.ts';
import { evidenceOf, packetText, summaryIn } from '../context/packet/frame.ts';
import { batchesWithin, packetRequest, packetRoomBytes, weighCard } from '../context/packet/request.ts';
import { SUMMARY_WORDS } from '../context/packet/wording.ts';
import { PACKET_BATCH_TURNS } from '../context/plan/packets.ts';
import type { Claim } from '../db/contract.ts';
import type { RecordDraft } from '../ledger/kinds.ts';
import type { TurnCard } from '../ledger/turn-card.ts';
import type { SummaryInput } from '../machines/turn-context.ts';
import type { JobRef } from '../queues/contract.ts';
import { type CallResult, runSideCall, type Settled } from '../runtime/side-call.ts';
import type { WorkerDeps } from './deps.ts';
import { performHandoff } from './handoff.ts';
import { openSummariser, type Summariser } from './summarise.ts';

type PacketInput = Extract<SummaryInput, { purpose: 'packet' }>;

/** Words a summary is read with, the most that fit the room: a shorter one says less, and is whole. */
const WORD_STEPS = [SUMMARY_WORDS, 300, 200, 120, 60] as const;
/** Cards looked at for the results a packet names. */
const NAMED_TURNS = 32;
/** Indexed further than any turn: packets alone are read. */
const NO_TURNS = { turn: 2 ** 31 - 1, recordSeq: 0 };

export function summaryWorker(deps: WorkerDeps, ref: JobRef): Promise<Settled> {
  return runSideCall(deps.host, ref, (claim, signal) => {
    const input = JSON.parse(claim.call.input) as SummaryInput;
    return input.purpose === 'handoff'
      ? performHandoff(deps, ref, claim, signal)
      : performPacket(deps, { ref, claim, input }, signal);
  });
}

interface Asked {
  readonly ref: JobRef;
  readonly claim: Claim;
  readonly input: PacketInput;
}

async function performPacket(deps: WorkerDeps, asked: Asked, signal: AbortSignal): Promise<CallResult> {
  const { ref, claim, input } = asked;
  const head = claim.loaded.turn?.head ?? input.head ?? claim.loaded.session.liveHead;
  const { from, to } = input;
  const { packets } = await deps.host.engine.store.toPlan(ref, head, NO_TURNS);
  const longest = packets
    .filter((packet) => packet.from === from && packet.to <= to)
    .toSorted((a, b) => b.to - a.to)[0];
  if (longest?.to === to) return reached(to, []);
  const seedText = longest === undefined ? null : await deps.turns.packetText(ref, longest.seq);
  const seed =
    longest === undefined || seedText === null ? null : { to: longest.to, text: summaryIn(seedText) };
  const first = (seed?.to ?? from - 1) + 1;
  const failed = (code: string, problem: string, drafts: readonly RecordDraft[] = []): CallResult =>
    reached(from - 1, [...drafts, compactionFailed(asked, code, problem)]);
  const summariser = await openSummariser(deps, ref, claim);
  if (summariser === null) return failed('unknown_leg', 'the leg of the session is not configured');
  const at = { head, epoch: claim.loaded.session.epoch };
  const cards = (await deps.turns.cards(ref, at, first, to)).map(({ card }) => card);
  const covered = bite(cards, summariser, { from, to, seed });
  const upTo = first + covered.length - 1;
  const request = packetRequest({ from, to: upTo, seed, cards: covered }, summariser.limits);
  if (request === null) return failed('no_room', 'the turns do not fit the summariser');
  const summarised = await summariser.summarise(request, signal);
  if (summarised.kind === 'ended') return summarised.result;
  if (summarised.kind === 'failed') return failed(summarised.code, summarised.problem, summarised.drafts);
  const newest = await deps.turns.cards(ref, at, Math.max(from, upTo - NAMED_TURNS + 1), upTo);
  const named = newest.map(({ card }) => card).toReversed();
  const text = fitting({ from, to: upTo, bytes: input.bytes }, named, summarised.read);
  if (text === null) return failed('unusable', 'the reply held no summary that fits', [summarised.receipt]);
  return stored(asked, head, { from, to: upTo, text }, summarised.receipt);
}

function stored(
  { claim }: Asked,
  head: string,
  packet: { readonly from: number; readonly to: number; readonly text: string },
  receipt: RecordDraft,
): CallResult {
  const { from, to } = packet;
  const bytes = weighMessages(packetMessages(packet));
  const turnId = claim.loaded.actor.turn;
  return {
    kind: 'done',
    output: { to },
    additions: () => ({
      drafts: [receipt, { kind: 'packet', turnId, body: { ...packet, quality: 'model' } }],
      packet: { head, from, to, bytes, draft: 1 },
    }),
  };
}

/** The cards one call can read: whole batches where it holds more than one. */
function bite(
  cards: readonly TurnCard[],
  { limits }: Summariser,
  input: Parameters<typeof packetRoomBytes>[0],
): readonly TurnCard[] {
  const count = batchesWithin(cards.map(weighCard), packetRoomBytes(input, limits));
  if (count >= cards.length) return cards;
  return cards.slice(0, count < PACKET_BATCH_TURNS ? count : count - (count % PACKET_BATCH_TURNS));
}

/** The longest summary whose packet weighs at most what the plan has room for. */
function fitting(
  { from, to, bytes }: { readonly from: number; readonly to: number; readonly bytes: number },
  newestFirst: readonly TurnCard[],
  read: (words: number) => string | null,
): string | null {
  const lines = evidenceOf(newestFirst);
  const named = { lines, complete: newestFirst.length === to - from + 1 };
  const unnamed = { lines: [], complete: true };
  for (const words of WORD_STEPS) {
    const summary = read(words);
    if (summary === null) continue;
    for (const evidence of [named, unnamed]) {
      const text = packetText({ from, to, summary, evidence });
      if (weighMessages(packetMessages({ from, to, text })) <= bytes) return text;
    }
  }
  return null;
}

function reached(to: number, drafts: readonly RecordDraft[]): CallResult {
  return { kind: 'done', output: { to }, additions: () => ({ drafts }) };
}

function compactionFailed({ claim, input }: Asked, code: string, problem: string): RecordDraft {
  const { from, to } = input;
  return {
    kind: 'compaction-failed',
    turnId: claim.loaded.actor.turn,
    body: { purpose: 'packet', from, to, code, problem },
  };
}
