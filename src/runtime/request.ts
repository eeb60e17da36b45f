/**
 * From a claimed step to the request it sends: plan (once a turn), load what the plan names, assemble. The plan comes
 * from the ledger when the turn has one, so every step of a turn carries the same history.
 */
import { ASSEMBLER_VERSION, type Assembled, assemble } from '../context/assemble/assemble.ts';
import { renderOpen } from '../context/assemble/open-turn.ts';
import { cardMessages, packetMessages } from '../context/assemble/packet-piece.ts';
import type { Prefix } from '../context/assemble/prefix.ts';
import { renderTail } from '../context/assemble/tail.ts';
import { type Rendered, rendered } from '../context/assemble/weigh.ts';
import type { CapacityProfile } from '../context/capacity/profile.ts';
import { countedPrefix, tokensOf } from '../context/capacity/tokens.ts';
import { deterministicPacket } from '../context/packet/deterministic.ts';
import { promptCeiling } from '../context/plan/budget.ts';
import type { PlanOptions } from '../context/plan/contract.ts';
import type { Claim, SessionRef, TurnPlace } from '../db/contract.ts';
import type { Json } from '../ledger/json.ts';
import type { BodyOf, Policy, RecordDraft } from '../ledger/kinds.ts';
import type { TurnView } from '../ledger/view.ts';
import { EvictRequests } from './evict-request.ts';
import type { HeadItems } from './head-items.ts';
import { type Planned, type Planning, strandsOf } from './planning.ts';
import { profileOf, replyTokens } from './request-size.ts';
import type { TurnCache } from './turn-cache.ts';

/** New turns of a packet that a turn waits for; a longer chain is summarised beside the turns. */
const AWAITED_TURNS = 32;
/** Cards read for a packet that is made without a summariser: more would not fit any. */
const PACKET_CARDS = 96;

export interface RequestInput {
  readonly claim: Claim;
  /** The turn as the claim brought it. */
  readonly open: TurnView;
  readonly place: TurnPlace;
  readonly prefix: Prefix;
  /** Tools of the prefix that not every request of the session has. */
  readonly loaded?: readonly string[];
  readonly profile: CapacityProfile;
  readonly policy: Policy;
  readonly options: PlanOptions;
  /** Tokens a reply may have at most; null leaves it to the profile. */
  readonly maxTokens: number | null;
  readonly workContract: string | null;
  readonly locale: string | null;
  /** A summariser failed this turn: what it should have written is made from cards. */
  readonly packetless: boolean;
}

export interface WantedPacket {
  readonly kind: 'packet-wanted';
  readonly from: number;
  readonly to: number;
  /** What it may weigh in a request. */
  readonly bytes: number;
}

export type PlanBody = BodyOf<'context-plan'>;

export type PreparedRequest =
  | WantedPacket
  /** Prefix, tail and the turn itself do not fit: its steps must leave. */
  | { readonly kind: 'reset-wanted' }
  /** Not even the directive fits. */
  | { readonly kind: 'no-horizon' }
  | {
      readonly kind: 'request';
      readonly open: TurnView;
      /** Of the turn itself, its tail included. */
      readonly openBytes: number;
      readonly assembled: Assembled;
      readonly plan: PlanBody;
      readonly planDraft: RecordDraft | null;
      /** The span that leaves with this request. */
      readonly evicted: BodyOf<'evicted'> | null;
      /** What it was made of; null where plans choose. */
      readonly items: HeadItems | null;
    };

/** A turn as a step of it saw it, and the plan it followed. */
export interface SentFrom {
  readonly ref: SessionRef;
  readonly head: string;
  readonly epoch: number;
  readonly open: TurnView;
  readonly plan: PlanBody;
  readonly prefix: Prefix;
  readonly maxTokens: number | null;
  readonly workContract: string | null;
}

export class RequestBuilder {
  readonly #planning: Planning;
  readonly #turns: TurnCache;
  readonly #evict: EvictRequests;

  constructor(planning: Planning, turns: TurnCache) {
    this.#planning = planning;
    this.#turns = turns;
    this.#evict = new EvictRequests(planning);
  }

  async prepare(input: RequestInput): Promise<PreparedRequest> {
    if (input.policy === 'evict') return this.#evict.prepare(input);
    const { claim, open, place, prefix, options, maxTokens, workContract } = input;
    const ref = claim.loaded.session;
    const frozen = standingPlan(open);
    const planned = frozen === null ? await this.#plan(input) : null;
    if (planned !== null && !input.packetless) {
      const wanted = awaitedPacket(planned);
      if (wanted !== null) return wanted;
    }
    const plan = frozen ?? planBody(input, planned);
    const { epoch } = claim.loaded.session;
    const request = { ref, head: place.head, epoch, open, plan, prefix, maxTokens, workContract };
    const tail = planned === null ? await this.#tail(request) : planned.tail;
    const piece = planned?.open ?? rendered(renderOpen(open, tail));
    const outgrown = outgrows(request, options, piece.bytes, tail);
    if (outgrown !== null) return outgrown;
    return {
      kind: 'request',
      open,
      openBytes: piece.bytes,
      assembled: await this.#assemble(request, piece),
      plan,
      planDraft: frozen === null ? { kind: 'context-plan', turnId: open.turnId, body: plan } : null,
      evicted: null,
      items: null,
    };
  }

  /** The request of a step, from the records alone: what was sent once is the same bytes again. */
  async assemble(request: SentFrom): Promise<Assembled> {
    if (request.plan.policy === 'evict') return this.#evict.assemble(request);
    return this.#assemble(request, rendered(renderOpen(request.open, await this.#tail(request))));
  }

  async #assemble(request: SentFrom, open: Rendered): Promise<Assembled> {
    const { ref, plan, prefix } = request;
    const { history, settled } = await this.#history(request);
    const bytes = [open, ...history].reduce((sum, piece) => sum + piece.bytes, prefix.bytes);
    return assemble({
      prefix,
      history,
      settled,
      open,
      maxTokens: replyTokens(profileOf(plan), request.maxTokens, bytes),
      cacheKey: ref.session,
    });
  }

  async #tail(request: SentFrom): Promise<string | null> {
    const { ref, open, plan, workContract } = request;
    return renderTail(open, await this.#planning.tail(ref, request, open, plan, workContract));
  }

  #plan(input: RequestInput): Promise<Planned> {
    const { claim, open, place, prefix, profile, options, workContract, locale } = input;
    return this.#planning.plan({
      ref: claim.loaded.session,
      head: place.head,
      epoch: claim.loaded.session.epoch,
      toPlan: claim.toPlan,
      profile,
      options,
      prefix,
      open,
      workContract,
      locale,
    });
  }

  /** Handoff, packet, cards, whole turns: what stands before the open turn, in this order. */
  async #history(
    request: SentFrom,
  ): Promise<{ readonly history: readonly Rendered[]; readonly settled: number }> {
    const { ref, plan } = request;
    const runsOf = (fidelity: 'full' | 'card') => plan.runs.filter((run) => run.fidelity === fidelity);
    const [reset, packet, cards, full] = await Promise.all([
      plan.reset === null ? null : this.#turns.reset(ref, plan.reset),
      this.#packet(request),
      Promise.all(runsOf('card').map(({ from, to }) => this.#turns.cards(ref, request, from, to))),
      Promise.all(runsOf('full').map(({ from, to }) => this.#turns.range(ref, request, from, to))),
    ]);
    const lines = cards.flat().map(({ card, line }) => ({ number: card.number, line }));
    const before = [...(reset === null ? [] : [reset.piece]), ...(packet === null ? [] : [packet])];
    const carded = cardMessages(lines).map(rendered);
    // The newest cards change from turn to turn; what stands before them settled.
    const settled = before.length + Math.max(0, carded.length - 1);
    return { history: [...before, ...carded, ...full.flat()], settled };
  }

  async #packet(request: SentFrom): Promise<Rendered | null> {
    const { ref, plan } = request;
    const { packet } = plan;
    if (packet === null) return null;
    const { from, to, seq, bytes } = packet;
    if (seq !== null) return this.#turns.packet(ref, { from, to, seq });
    const frame = rendered(packetMessages({ from, to, text: '' })).bytes;
    const cards = await this.#turns.cards(ref, request, Math.max(from, to - PACKET_CARDS + 1), to);
    const newestFirst = cards.map(({ card }) => card).toReversed();
    const text = deterministicPacket({ from, to, cards: newestFirst, maxBytes: bytes - frame });
    return rendered(packetMessages({ from, to, text }));
  }
}

/** Only a measured ratio may take steps away from a turn or end it: an estimate lets the provider say. */
function outgrows(
  { open, plan, prefix }: SentFrom,
  options: PlanOptions,
  openBytes: number,
  tail: string | null,
): PreparedRequest | null {
  const profile = profileOf(plan);
  if (profile.tokensPerByte.samples === 0) return null;
  const ceiling = promptCeiling(profile, options);
  const counted = countedPrefix(profile, prefix.digest) ?? tokensOf(prefix.bytes, profile);
  const tokens = (bytes: number): number => counted + tokensOf(bytes, profile);
  if (tokens(openBytes) <= ceiling) return null;
  const directive = rendered(renderOpen({ ...open, steps: [], steering: [] }, tail));
  // A refusal may have been of prompt and reply together: what cannot be made smaller is sent once more.
  if (tokens(directive.bytes) > ceiling) return open.rejections.length === 1 ? null : { kind: 'no-horizon' };
  return open.reset === null ? { kind: 'reset-wanted' } : null;
}

/** The plan holds for the turn, unless the provider refused it as too long or a reset took what it was made of. */
function standingPlan({ plan, rejections, reset }: TurnView): PlanBody | null {
  if (plan === null || plan.rejections !== rejections.length) return null;
  return reset === null || plan.reset === reset.seq ? plan : null;
}

/** The packet a turn waits for: one that is not stored, and that a summariser can write in one go. */
function awaitedPacket({ plan: { wants, packet }, known }: Planned): WantedPacket | null {
  if (wants === null || packet === null) return null;
  const { from, to } = wants;
  const covered = known.packets
    .filter((packet) => packet.from === from && packet.to < to)
    .reduce((longest, packet) => Math.max(longest, packet.to), from - 1);
  const bytes = packet.bytes;
  return to - covered <= AWAITED_TURNS ? { kind: 'packet-wanted', from, to, bytes } : null;
}

function planBody(input: RequestInput, planned: Planned | null): PlanBody {
  const { open, loaded = [] } = input;
  if (planned === null) throw new Error(`turn ${open.turnId} has no plan`);
  const { plan, known } = planned;
  const { packet } = plan;
  const stored =
    packet?.quality === 'model'
      ? known.packets.find(({ from, to }) => from === packet.from && to === packet.to)
      : undefined;
  return {
    assembler: ASSEMBLER_VERSION,
    policy: 'plan',
    runs: [...plan.runs],
    packet: packet === null ? null : { ...packet, seq: stored?.seq ?? null },
    degraded: input.packetless && packet !== null && stored === undefined,
    promoted: plan.promoted.map(({ path, ...promotion }) =>
      path === undefined ? promotion : { ...promotion, path: [...path] },
    ),
    ...strandsOf(planned.placed),
    continues: plan.continues,
    reset: planned.reset,
    budgetTokens: plan.budgetTokens,
    spentTokens: plan.spentTokens,
    leftOut: plan.leftOut,
    prefixDigest: input.prefix.digest,
    ...(loaded.length === 0 ? {} : { loaded: [...loaded] }),
    rejections: open.rejections.length,
    profile: input.profile as unknown as Record<string, Json>,
  };
}
