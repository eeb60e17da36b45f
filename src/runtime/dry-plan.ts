/** The plan the next turn of a session would get, under any leg's profile: made by the planner of the loop, never kept. */

import type { CapacityProfile } from '../context/capacity/profile.ts';
import { tokensOf } from '../context/capacity/tokens.ts';
import { prefixTokens, promptCeiling } from '../context/plan/budget.ts';
import type { Plan } from '../context/plan/contract.ts';
import { explainPlan, type PlanPiece } from '../context/plan/why.ts';
import type { SessionRef } from '../db/contract.ts';
import { type NextTurn, type NextTurnDeps, nextTurnFor } from './next-turn.ts';
import type { Planning } from './planning.ts';

export interface DryPlan {
  /** The turn it is made for. */
  readonly number: number;
  readonly profile: CapacityProfile;
  readonly ceilingTokens: number;
  readonly prefixTokens: number;
  readonly openTurnTokens: number;
  readonly plan: Plan;
  /** The record of the handoff that stands before the history. */
  readonly reset: number | null;
  readonly pieces: readonly PlanPiece[];
}

/** No turn is written. With an embedding leg its model places the directive, and the receipt is written beside. @throws TurnwrightError `session_not_found`. */
export async function dryPlan(
  deps: NextTurnDeps & { readonly planning: Planning },
  ref: SessionRef,
  next: NextTurn,
): Promise<DryPlan> {
  const request = await nextTurnFor(deps, ref, next);
  const { plan, input, known, open } = await deps.planning.plan(request);
  const { profile, options } = request;
  return {
    number: request.open.number,
    profile,
    ceilingTokens: promptCeiling(profile, options),
    prefixTokens: prefixTokens(input),
    openTurnTokens: tokensOf(open.bytes, profile),
    plan,
    reset: known.reset,
    pieces: explainPlan(input, plan),
  };
}
