/** What a session's settings say of its plans and of the tools it is offered. */
import type { PlanOptions } from '../context/plan/contract.ts';
import { planOptions } from '../context/plan/options.ts';
import type { Tool } from '../tools/contract.ts';
import type { SessionConfig } from './sessions.ts';

export interface SessionPlan {
  readonly options: PlanOptions;
  /** Tokens a reply may have; null leaves it to the profile. */
  readonly maxTokens: number | null;
  readonly workContract: string | null;
}

/**
 * What a session gets unless it says otherwise: a history that holds still while it can, so that a provider's prefix
 * cache reaches over it, and room for cards beside the whole turns. The margin is about what the newest replies move
 * the measured ratio by.
 */
const SESSION_DEFAULTS: Partial<PlanOptions> = { steady: true, wholeShare: 0.5, safetyMarginRatio: 0.03 };

/** The options were checked when the session was opened. */
export function sessionPlan({ policy, workContract }: SessionConfig): SessionPlan {
  const { maxTokens, ...chosen } = policy.options as Partial<PlanOptions> & { readonly maxTokens?: number };
  return {
    options: planOptions({ ...SESSION_DEFAULTS, ...chosen }),
    maxTokens: maxTokens ?? null,
    workContract: workContract ?? null,
  };
}

/** Deferred tools cost every request their schema: a session has them by name, or all with `surface: 'all'`. */
export function isOffered({ tools, policy }: SessionConfig, tool: Tool): boolean {
  if (tools !== null) return tools.includes(tool.name);
  return !tool.deferred || policy.options.surface === 'all';
}
