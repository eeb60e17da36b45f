/** What a session's settings say of its plans and of the tools it may call. */
import type { PlanOptions } from '../context/plan/contract.ts';
import { planOptions } from '../context/plan/options.ts';
import type { Policy } from '../ledger/kinds.ts';
import type { Tool } from '../tools/contract.ts';
import { isAdmittedBy, type SurfaceTerms } from '../tools/surface.ts';
import type { SessionConfig } from './sessions.ts';

export interface SessionPlan {
  readonly policy: Policy;
  readonly options: PlanOptions;
  /** Tokens a reply may have; null leaves it to the profile. */
  readonly maxTokens: number | null;
  readonly workContract: string | null;
  readonly locale: string | null;
}

/**
 * What a session gets unless it says otherwise: a history that holds still while it can, so that a provider's prefix
 * cache reaches over it, and room for cards beside the whole turns. The margin is about what the newest replies move
 * the measured ratio by.
 */
const SESSION_DEFAULTS: Partial<PlanOptions> = { steady: true, wholeShare: 0.5, safetyMarginRatio: 0.03 };

/** The options were checked when the session was opened. */
export function sessionPlan({ policy, workContract, locale }: SessionConfig): SessionPlan {
  const { maxTokens, ...chosen } = policy.options as Partial<PlanOptions> & { readonly maxTokens?: number };
  return {
    policy: policy.name,
    options: planOptions({ ...SESSION_DEFAULTS, ...chosen }),
    maxTokens: maxTokens ?? null,
    workContract: workContract ?? null,
    locale: locale ?? null,
  };
}

/** Sessions one below the other that turns make for their directives: deeper, nobody follows who asked for what. */
export const MAX_DEPTH = 3;

/** How many turns stand above the session, each having made the next one's; 0 for a session that a user made. */
export function depthOf({ delegated }: SessionConfig): number {
  return delegated?.depth ?? 0;
}

/** Which tools the session may call, and whether all of them are loaded from the start. */
export function surfaceTerms(config: SessionConfig): SurfaceTerms {
  const { tools, policy } = config;
  return {
    tools,
    all: policy.options.surface === 'all',
    evicts: policy.name === 'evict',
    delegates: depthOf(config) < MAX_DEPTH,
  };
}

/** An admitted tool may be called, loaded or not. */
export function isAdmitted(config: SessionConfig, tool: Tool): boolean {
  return isAdmittedBy(surfaceTerms(config), tool);
}
