/** What the last request of a session was made of: sizes, ids and digests, no text. */
import { tokensOf } from '../context/capacity/tokens.ts';
import { explainPlan, type PlanPiece } from '../context/plan/why.ts';
import type { SessionRef, Store } from '../db/contract.ts';
import type { BodyOf } from '../ledger/kinds.ts';
import type { TurnView } from '../ledger/view.ts';
import type { HeadIndexes } from './head-index.ts';
import type { PlanBody } from './request.ts';
import { profileOf } from './request-size.ts';
import { storedPrefix } from './stored-prefix.ts';
import type { TurnCache } from './turn-cache.ts';
import { foldRecords } from './turn-cache.ts';

export interface ContextDeps {
  readonly store: Store;
  readonly indexes: HeadIndexes;
  readonly turns: TurnCache;
}

/** A turn that was planned, and its place. */
export interface PlannedTurn {
  readonly turn: string;
  readonly head: string;
  readonly number: number;
}

export interface SessionContext {
  readonly turn: TurnView;
  readonly plan: PlanBody;
  readonly prefix: { readonly digest: string; readonly bytes: number; readonly tokens: number };
  readonly pieces: readonly PlanPiece[];
  /** The handoff that stands before the history. */
  readonly handoff: { readonly seq: number; readonly tokens: number } | null;
  /** Of its model calls, in order, answered or not. */
  readonly receipts: readonly BodyOf<'work-receipt'>[];
}

/** null where the turn's plan was erased. */
export async function contextOf(
  { store, indexes, turns }: ContextDeps,
  ref: SessionRef & { readonly epoch: number },
  { turn, head, number }: PlannedTurn,
): Promise<SessionContext | null> {
  const stored = await store.turnRecords(ref, turn);
  const records = stored.filter(({ body }) => (body as string | null) !== null);
  const view = foldRecords(records);
  const { plan } = view;
  if (plan === null) return null;
  const profile = profileOf(plan);
  const receipts = records
    .filter(({ kind }) => kind === 'work-receipt')
    .map(({ body }) => JSON.parse(body) as BodyOf<'work-receipt'>)
    .filter(({ purpose }) => purpose === 'step');
  const sent = receipts.findLast(({ settlement }) => settlement === 'answered')?.prefixDigest;
  const [prefix, known, reset] = await Promise.all([
    storedPrefix(store, ref, sent ?? plan.prefixDigest),
    indexes.get(ref, { head, epoch: ref.epoch, before: number }, null),
    plan.reset === null ? null : turns.reset(ref, plan.reset),
  ]);
  return {
    turn: view,
    plan,
    prefix: { digest: prefix.digest, bytes: prefix.bytes, tokens: tokensOf(prefix.bytes, profile) },
    pieces: explainPlan({ index: known.turns, profile }, { ...plan, promoted: promoted(plan), wants: null }),
    handoff:
      plan.reset === null || reset === null
        ? null
        : { seq: plan.reset, tokens: tokensOf(reset.piece.bytes, profile) },
    receipts,
  };
}

function promoted({ promoted: found }: PlanBody) {
  return found.map(({ path, ...promotion }) => (path === undefined ? promotion : { ...promotion, path }));
}
