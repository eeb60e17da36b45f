/** What calls may cost at most: a turn, its session, its tenant's day. Asked before each call, with the most that it can come to. */
import type { BudgetName } from '../checks/facts.ts';
import type { SessionRef } from '../db/contract.ts';
import type { UsageStore } from '../db/usage.ts';
import type { Clock } from '../ledger/clock.ts';
import type { TurnView } from '../ledger/view.ts';
import type { SessionConfig } from './sessions.ts';

export interface CostBudget {
  readonly microUsd?: number;
  readonly tokens?: number;
}

export interface Amount {
  readonly microUsd: number;
  readonly tokens: number;
}

/** Of one turn: its own limit and what its calls came to, and the limit of its session. */
export interface Spending {
  readonly turn: { readonly limit: CostBudget | null; readonly spent: Amount };
  readonly session: CostBudget | null;
}

export function spendingOf(
  open: Pick<TurnView, 'budget' | 'spent'>,
  config: Pick<SessionConfig, 'budget'>,
): Spending {
  return { turn: { limit: open.budget ?? null, spent: open.spent }, session: config.budget ?? null };
}

/** A tenant's day is added up over its sessions; within this time the last sum will do. */
const TENANT_FRESH_MS = 1_000;

export interface BudgetsOptions {
  readonly store: UsageStore;
  readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs'>;
  /** Micro-dollars a tenant may spend a day (UTC); null for no limit. */
  readonly tenantMicroUsdPerDay: number | null;
}

export class Budgets {
  readonly #options: BudgetsOptions;
  readonly #tenants = new Map<string, { readonly atMs: number; readonly microUsd: number }>();

  constructor(options: BudgetsOptions) {
    this.#options = options;
  }

  /** The budget that a call of this size could pass; null where it fits all. */
  async passed(ref: SessionRef, { turn, session }: Spending, next: Amount): Promise<BudgetName | null> {
    const ofTurn = exceeded('turn', turn.limit, turn.spent, next);
    if (ofTurn !== null) return ofTurn;
    if (session !== null) {
      const ofSession = exceeded('session', session, await this.#options.store.sessionSpent(ref), next);
      if (ofSession !== null) return ofSession;
    }
    const most = this.#options.tenantMicroUsdPerDay;
    if (most === null) return null;
    return (await this.#tenantSpent(ref.tenant)) + next.microUsd > most ? 'tenant_cost' : null;
  }

  async #tenantSpent(tenant: string): Promise<number> {
    const { store, clock } = this.#options;
    const known = this.#tenants.get(tenant);
    const nowMs = clock.monotonicMs();
    if (known !== undefined && nowMs - known.atMs < TENANT_FRESH_MS) return known.microUsd;
    const day = new Date(clock.nowMs()).toISOString().slice(0, 10);
    const microUsd = await store.tenantSpent(tenant, day);
    this.#tenants.set(tenant, { atMs: nowMs, microUsd });
    return microUsd;
  }
}

function exceeded(
  of: 'turn' | 'session',
  limit: CostBudget | null,
  spent: Amount,
  next: Amount,
): BudgetName | null {
  if (limit === null) return null;
  if (limit.microUsd !== undefined && spent.microUsd + next.microUsd > limit.microUsd) return `${of}_cost`;
  if (limit.tokens !== undefined && spent.tokens + next.tokens > limit.tokens) return `${of}_tokens`;
  return null;
}
