/** Plans, contexts and requests as the answers show them. */
import type { z } from 'zod';
import type { CapacityProfile } from '../context/capacity/profile.ts';
import { tokensOf } from '../context/capacity/tokens.ts';
import type { ItemRun, Room } from '../context/evict/explain.ts';
import type { PlannedPacket, Promotion } from '../context/plan/contract.ts';
import type { PlanPiece } from '../context/plan/why.ts';
import type { PlannedTurnRow } from '../db/queries/find-planned-turn.ts';
import type { PresentationRecord } from '../db/queries/list-presentations.ts';
import type { Json } from '../ledger/json.ts';
import { type BodyOf, parseBody } from '../ledger/kinds.ts';
import type { DryEvict } from '../runtime/dry-evict.ts';
import type { DryPlan } from '../runtime/dry-plan.ts';
import type { ItemsContext } from '../runtime/items-context.ts';
import { profileOf } from '../runtime/request-size.ts';
import type { SentRequest } from '../runtime/sent-request.ts';
import type { SessionContext } from '../runtime/session-context.ts';
import type { Begun } from '../runtime/summaries-ahead.ts';
import type * as schemas from './context-schemas.ts';

type Answer<Schema extends z.ZodType> = z.infer<Schema>;

export function dryPlanAnswer(session: string, leg: string, dry: DryPlan): Answer<typeof schemas.dryPlan> {
  const { plan, profile } = dry;
  return {
    session,
    turn_number: dry.number,
    policy: 'plan',
    leg,
    profile: profileAnswer(profile),
    ceiling_tokens: dry.ceilingTokens,
    open_turn_tokens: dry.openTurnTokens,
    prefix_tokens: dry.prefixTokens,
    budget_tokens: plan.budgetTokens,
    spent_tokens: plan.spentTokens,
    left_out: plan.leftOut,
    packet: packetAnswer(plan.packet, profile),
    continues: plan.continues,
    pieces: dry.pieces.map(turnPiece),
    promoted: plan.promoted.map(promotionAnswer),
    room: null,
    wants: plan.wants,
    evicts: null,
  };
}

export function dryEvictAnswer(session: string, leg: string, dry: DryEvict): Answer<typeof schemas.dryPlan> {
  const { profile } = dry;
  const pieces = dry.runs.map((run) => itemPiece(run, profile));
  return {
    session,
    turn_number: dry.number,
    policy: 'evict',
    leg,
    profile: profileAnswer(profile),
    ceiling_tokens: dry.ceilingTokens,
    open_turn_tokens: dry.openTurnTokens,
    prefix_tokens: dry.prefixTokens,
    budget_tokens: dry.ceilingTokens,
    spent_tokens: spent(pieces),
    left_out: 0,
    packet: null,
    continues: null,
    pieces,
    promoted: [],
    room: roomAnswer(dry.room),
    wants: null,
    evicts: dry.due,
  };
}

export function contextAnswer(
  session: string,
  row: PlannedTurnRow,
  { items, ...context }: SessionContext & { readonly items: ItemsContext | null },
): Answer<typeof schemas.sessionContext> {
  const { plan, prefix, receipts } = context;
  const profile = profileOf(plan);
  const answered = receipts.filter(({ settlement }) => settlement === 'answered');
  const pieces = items?.runs.map((run) => itemPiece(run, profile)) ?? context.pieces.map(turnPiece);
  return {
    session,
    context: {
      turn: row.turn,
      turn_number: row.number,
      status: row.status,
      steps: new Set(answered.map(({ step }) => step)).size,
      leg: receipts.at(-1)?.leg ?? null,
      assembler: plan.assembler,
      policy: plan.policy,
      prefix_digest: prefix.digest,
      prefix_bytes: prefix.bytes,
      prefix_tokens: prefix.tokens,
      profile: profileAnswer(profile),
      budget_tokens: plan.budgetTokens,
      spent_tokens: items === null ? plan.spentTokens : spent(pieces),
      left_out: plan.leftOut,
      packet: packetAnswer(plan.packet, profile),
      continues: plan.continues,
      pieces,
      promoted: plan.promoted,
      room: items === null ? null : roomAnswer(items.room),
      degraded: plan.degraded,
      handoff:
        context.handoff === null ? null : { record: context.handoff.seq, tokens: context.handoff.tokens },
      calls: receipts.map(callAnswer),
    },
  };
}

/** `content`: the words too, which take a scope of their own. */
export function sentAnswer(
  turn: string,
  sent: SentRequest,
  { content }: { readonly content: boolean },
): Answer<typeof schemas.sentRequest> {
  const { receipt, rebuilt } = sent;
  const answer = {
    turn,
    step: receipt.step,
    assembler: sent.assembler,
    settlement: receipt.settlement,
    request_digest: receipt.requestDigest,
    rebuilt_digest: rebuilt?.digest ?? null,
    same: sent.same,
    notice: sent.notice,
    request_bytes: receipt.requestBytes,
    messages: rebuilt?.request.messages.length ?? null,
  };
  if (rebuilt === null || !content) return answer;
  const { system, tools, messages, maxTokens } = rebuilt.request;
  // They hold JSON alone; their types do not say so.
  const [plainTools, plainMessages] = [tools as unknown as Json, messages as unknown as Json];
  return {
    ...answer,
    request: { system, tools: plainTools, messages: plainMessages, max_tokens: maxTokens },
  };
}

export function compactAnswer(session: string, { wants, actor }: Begun): Answer<typeof schemas.compacted> {
  return { session, wants, started: actor !== null, actor, notice: compactNotice({ wants, actor }) };
}

function compactNotice({ wants, actor }: Begun): string {
  if (wants === null) return 'There is nothing to compact: every turn stands in the next request already.';
  const turns = `turns ${wants.from} to ${wants.to}`;
  if (actor === null) return `A summary is being written already; ${turns} are still without one.`;
  return `A summary of ${turns} is being written.`;
}

/** null for a card that was erased. */
export function presentationAnswer(
  { turn, number, body }: PresentationRecord,
  { content }: { readonly content: boolean },
): Answer<typeof schemas.presentation> | null {
  if (body === null) return null;
  const made = parseBody('presentation', JSON.parse(body));
  return {
    id: made.presentation,
    turn,
    turn_number: number,
    type: made.type,
    title: made.title,
    source: made.source.kind,
    derived_from: made.derivedFrom,
    ...(content ? { payload: made.payload } : {}),
  };
}

type PieceAnswer = Answer<typeof schemas.dryPlan>['pieces'][number];

function turnPiece(piece: PlanPiece): PieceAnswer {
  return { ...piece, unit: 'turn' };
}

function itemPiece({ from, to, fidelity, bytes, reason }: ItemRun, profile: CapacityProfile): PieceAnswer {
  return { unit: 'item', from, to, fidelity, tokens: tokensOf(bytes, profile), reason };
}

function spent(pieces: readonly PieceAnswer[]): number {
  return pieces.reduce((sum, { tokens }) => sum + tokens, 0);
}

function roomAnswer({
  unit,
  used,
  limit,
  pressureFrom,
  dueFrom,
}: Room): Answer<typeof schemas.dryPlan>['room'] {
  return { unit, used, limit, pressure_from: pressureFrom, due_from: dueFrom };
}

function profileAnswer(profile: CapacityProfile): Answer<typeof schemas.dryPlan>['profile'] {
  const { declaredWindow, verifiedWindow, horizon, tokensPerByte } = profile;
  return {
    window: Math.min(declaredWindow, verifiedWindow ?? declaredWindow),
    horizon_tokens: horizon.tokens,
    confidence: horizon.confidence,
    tokens_per_byte: tokensPerByte.value,
  };
}

function packetAnswer(
  packet: Pick<PlannedPacket, 'from' | 'to' | 'quality' | 'bytes'> | null,
  profile: CapacityProfile,
): Answer<typeof schemas.dryPlan>['packet'] {
  if (packet === null) return null;
  const { from, to, quality, bytes } = packet;
  return { from, to, quality, tokens: tokensOf(bytes, profile) };
}

function promotionAnswer({ path, ...promotion }: Promotion) {
  return path === undefined ? promotion : { ...promotion, path: [...path] };
}

function callAnswer(receipt: BodyOf<'work-receipt'>) {
  const { step, attempt, leg, model, settlement, requestDigest, requestBytes, usage } = receipt;
  return {
    step,
    attempt,
    leg,
    model,
    settlement,
    request_digest: requestDigest,
    request_bytes: requestBytes,
    usage:
      usage === null
        ? null
        : {
            input_tokens: usage.inputTokens,
            cache_read_tokens: usage.cacheReadTokens,
            cache_write_tokens: usage.cacheWriteTokens,
            output_tokens: usage.outputTokens,
          },
  };
}
