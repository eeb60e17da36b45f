/** What the next turn's first request would carry if items were evicted: those recorded as evicted, and at most one span that is due. */
import { weighMessages } from '../context/assemble/weigh.ts';
import type { CapacityProfile } from '../context/capacity/profile.ts';
import { tokensOf } from '../context/capacity/tokens.ts';
import type { Span } from '../context/evict/contract.ts';
import { explainItems, type ItemRun, type Room, roomOf } from '../context/evict/explain.ts';
import { isDue } from '../context/evict/gauge.ts';
import { planSpan } from '../context/evict/plan.ts';
import { renderItems } from '../context/evict/render.ts';
import { promptCeiling } from '../context/plan/budget.ts';
import type { SessionRef } from '../db/contract.ts';
import type { TurnView } from '../ledger/view.ts';
import { limitOf, withSpan } from './evict-request.ts';
import { measureOf } from './head-items.ts';
import { type NextTurn, type NextTurnDeps, nextTurnFor } from './next-turn.ts';
import type { Planning } from './planning.ts';

export interface DryEvict {
  /** The turn it is made for. */
  readonly number: number;
  readonly profile: CapacityProfile;
  readonly ceilingTokens: number;
  readonly prefixTokens: number;
  readonly openTurnTokens: number;
  readonly runs: readonly ItemRun[];
  readonly room: Room;
  /** What would leave before the request is sent. */
  readonly due: Span | null;
}

/** Nothing is written. @throws TurnwrightError `session_not_found`. */
export async function dryEvict(
  deps: NextTurnDeps & { readonly planning: Planning },
  ref: SessionRef,
  next: NextTurn,
): Promise<DryEvict> {
  const { head, epoch, open, profile, options, prefix, toPlan, workContract } = await nextTurnFor(
    deps,
    ref,
    next,
  );
  const place = { head, epoch, before: open.number };
  const items = await deps.planning.items.read({ ref, place, open: null, workContract, toPlan });
  const limit = limitOf(profile, options);
  const measure = measureOf(items, null, { leg: next.leg.name, limit });
  const prompt = promptRow(open, items.table.items.at(-1)?.item ?? 0);
  const asked = { ...items.table, items: [...items.table.items, prompt], open: prompt.item };
  const due = isDue(measure) ? planSpan(asked, prompt.item) : null;
  const evicted = due === null ? null : { ...due, note: null, author: 'harness' as const };
  return {
    number: open.number,
    profile,
    ceilingTokens: promptCeiling(profile, options),
    prefixTokens: tokensOf(prefix.bytes, profile),
    openTurnTokens: tokensOf(prompt.bytes, profile),
    runs: explainItems(evicted === null ? items.table : withSpan(items.table, evicted)),
    room: roomOf(measure, limit),
    due,
  };
}

/** The prompt in hand never leaves by force, and so is counted among what stays. */
function promptRow(open: TurnView, newest: number) {
  const item = newest + 1;
  const [prompt] = renderItems({ ...open, item }, null);
  const bytes = prompt === undefined ? 0 : weighMessages(prompt.messages);
  return { item, role: 'user', kind: 'own', turn: open.number, label: '', bytes } as const;
}
