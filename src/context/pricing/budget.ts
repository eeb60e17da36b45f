/** What may be spent at most. A part left out has no limit. */
export interface Budgets {
  readonly turn?: { readonly limitMicroUsd: number };
}

/** Whether the next call may go past the limit; `nextMicroUsd` is its upper estimate. */
export function overBudget(budget: {
  readonly limitMicroUsd: number;
  readonly spentMicroUsd: number;
  readonly nextMicroUsd: number;
}): boolean {
  return budget.spentMicroUsd + budget.nextMicroUsd > budget.limitMicroUsd;
}
