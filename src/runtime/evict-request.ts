/**
 * Requests under the policy `evict`: every item that is still in the context, as it was sent before, and one residue for
 * each span that left. The room is weighed before each step. When an eviction is due the older half leaves at once, in
 * the commit that holds the step's answer; no model is asked.
 */
import { ASSEMBLER_VERSION, type Assembled, assemble } from '../context/assemble/assemble.ts';
import { type Rendered, rendered } from '../context/assemble/weigh.ts';
import type { CapacityProfile } from '../context/capacity/profile.ts';
import { tokensOf } from '../context/capacity/tokens.ts';
import type { Eviction, ItemTable, Measure, Piece, Span } from '../context/evict/contract.ts';
import { isDue, isPressed } from '../context/evict/gauge.ts';
import { nextLatch } from '../context/evict/latch.ts';
import { historyBytes, piecesOf } from '../context/evict/pieces.ts';
import { planSpan } from '../context/evict/plan.ts';
import { residueMessages } from '../context/evict/residue.ts';
import { promptCeiling } from '../context/plan/budget.ts';
import type { PlanOptions } from '../context/plan/contract.ts';
import type { Json } from '../ledger/json.ts';
import type { BodyOf } from '../ledger/kinds.ts';
import type { TurnView } from '../ledger/view.ts';
import { type HeadItems, type ItemsOf, measureOf } from './head-items.ts';
import { type GoesOn, type Planning, strandsOf } from './planning.ts';
import { toldBy } from './pressure.ts';
import type { PlanBody, PreparedRequest, RequestInput, SentFrom } from './request.ts';
import { profileOf, replyTokens } from './request-size.ts';

export class EvictRequests {
  readonly #planning: Planning;

  constructor(planning: Planning) {
    this.#planning = planning;
  }

  async prepare(input: RequestInput): Promise<PreparedRequest> {
    const { open } = input;
    const items = await this.#planning.items.read(itemsOf(input));
    const plan = standing(open) ?? planBody(input, items, await this.#goesOn(input));
    const planned = plan === open.plan ? null : plan;
    const measure = measureOf(items, open, {
      leg: input.claim.loaded.session.leg,
      limit: plan.limitTokens ?? null,
    });
    const isRefused = open.rejectedSeq > items.editedSeq;
    const due = isRefused || isDue(measure);
    const span = due ? planSpan(items.table, open.item) : null;
    // What the provider refused as too long, and nothing can leave of, is refused again.
    if (isRefused && span === null) return { kind: 'no-horizon' };
    const evicted = span === null ? null : { ...span, note: null, author: 'harness' as const };
    const table = evicted === null ? items.table : withSpan(items.table, evicted);
    const assembled = requestOf(table, items, {
      ...input,
      plan,
      session: input.claim.loaded.session.session,
    });
    return {
      kind: 'request',
      open,
      openBytes: bytesOf(piecesOf(table), open.number),
      assembled,
      plan,
      planDraft: planned === null ? null : { kind: 'context-plan', turnId: open.turnId, body: planned },
      evicted,
      items: { ...items, table },
    };
  }

  #goesOn({ claim, place, open, workContract, locale }: RequestInput): Promise<GoesOn> {
    const { session: ref } = claim.loaded;
    const { head } = place;
    const toPlan = claim.toPlan ?? null;
    return this.#planning.goesOn({ ref, head, epoch: ref.epoch, open, toPlan, workContract, locale });
  }

  /** From the records alone: what was sent once is the same bytes again. */
  async assemble({
    ref,
    head,
    epoch,
    open,
    plan,
    prefix,
    maxTokens,
    workContract,
  }: SentFrom): Promise<Assembled> {
    const place = { head, epoch, before: open.number };
    const items = await this.#planning.items.read({ ref, place, open, workContract });
    return requestOf(items.table, items, { plan, prefix, maxTokens, open, session: ref.session });
  }
}

function itemsOf({ claim, open, place, workContract }: RequestInput): ItemsOf & { readonly open: TurnView } {
  const { session } = claim.loaded;
  const { head } = place;
  return {
    ref: session,
    place: { head, epoch: session.epoch, before: open.number },
    open,
    workContract,
    toPlan: claim.toPlan,
  };
}

/** It holds for the turn, unless the provider refused a request of it as too long. */
function standing({ plan, rejections }: TurnView): PlanBody | null {
  return plan !== null && plan.rejections === rejections.length ? plan : null;
}

/** Of a window that nobody stated nothing can be said in tokens. */
export function limitOf(profile: CapacityProfile, options: PlanOptions): number | null {
  const isKnown =
    profile.windowSource !== 'fallback' || profile.verifiedWindow !== null || options.contextWindow !== null;
  return isKnown ? promptCeiling(profile, options) : null;
}

function planBody(
  { open, prefix, loaded = [], profile, options }: RequestInput,
  items: HeadItems,
  { placed, continues }: GoesOn,
): PlanBody {
  const limit = limitOf(profile, options);
  return {
    assembler: ASSEMBLER_VERSION,
    policy: 'evict',
    runs: [],
    packet: null,
    degraded: false,
    promoted: [],
    ...strandsOf(placed),
    continues,
    reset: null,
    budgetTokens: promptCeiling(profile, options),
    spentTokens: tokensOf(historyBytes(piecesOf(items.table)), profile),
    leftOut: 0,
    prefixDigest: prefix.digest,
    ...(loaded.length === 0 ? {} : { loaded: [...loaded] }),
    rejections: open.rejections.length,
    limitTokens: limit,
    told: items.before?.told ?? false,
    profile: profile as unknown as Record<string, Json>,
  };
}

export function withSpan(table: ItemTable, eviction: Eviction): ItemTable {
  return { ...table, evictions: [...table.evictions, eviction] };
}

interface RequestParts extends Pick<SentFrom, 'plan' | 'prefix' | 'maxTokens' | 'open'> {
  readonly session: string;
}

function requestOf(
  table: ItemTable,
  { pieceOf }: HeadItems,
  { plan, prefix, maxTokens, open, session }: RequestParts,
): Assembled {
  const pieces = piecesOf(table);
  const own = pieces.findIndex((piece) => piece.kind === 'item' && piece.row.turn === open.number);
  const at = own === -1 ? pieces.length : own;
  const sent = pieces.map((piece) =>
    piece.kind === 'item' ? pieceOf(piece.row.item) : residueOf(piece.eviction),
  );
  const bytes = sent.reduce((sum, piece) => sum + piece.bytes, prefix.bytes);
  return assemble({
    prefix,
    history: sent.slice(0, at),
    open: joined(sent.slice(at)),
    maxTokens: replyTokens(profileOf(plan), maxTokens, bytes),
    cacheKey: session,
    tail: true,
  });
}

function residueOf(eviction: Eviction): Rendered {
  return rendered(residueMessages(eviction));
}

function joined(pieces: readonly Rendered[]): Rendered {
  return rendered(pieces.flatMap(({ messages }) => messages));
}

function bytesOf(pieces: readonly Piece[], turn: number): number {
  return historyBytes(pieces.filter((piece) => piece.kind === 'item' && piece.row.turn === turn));
}

/** What the model is told as its calls are about to run; null where there is nothing new to say. */
export function pressureAt(
  step: number,
  { open, plan, items }: Pick<Extract<PreparedRequest, { kind: 'request' }>, 'open' | 'plan' | 'items'>,
  { leg, usedTokens }: { readonly leg: string; readonly usedTokens: number | null },
): BodyOf<'pressure-told'> | null {
  if (plan.policy !== 'evict' || items === null) return null;
  const measure = measured(items.table, plan.limitTokens ?? null, usedTokens);
  if (measure.unit === 'stale') return null;
  if (!nextLatch(toldBy({ ...open, plan }, leg), isPressed(measure)).tell) return null;
  const would: Span | null = planSpan(items.table, open.item);
  const limit = measure.unit === 'tokens' ? measure.limit : 0;
  return {
    step,
    used: measure.used,
    limit,
    unit: measure.unit,
    would: would === null ? null : { from: would.from, to: would.to },
  };
}

function measured(table: ItemTable, limit: number | null, usedTokens: number | null): Measure {
  if (limit === null) return { unit: 'bytes', used: historyBytes(piecesOf(table)) };
  return usedTokens === null ? { unit: 'stale' } : { unit: 'tokens', used: usedTokens, limit };
}

/** Whether another span could leave the history of a request; says nothing where plans choose. */
export function leaving({
  items,
  open,
}: Pick<Extract<PreparedRequest, { kind: 'request' }>, 'open' | 'items'>): { readonly leaves?: boolean } {
  return items === null ? {} : { leaves: planSpan(items.table, open.item) !== null };
}
