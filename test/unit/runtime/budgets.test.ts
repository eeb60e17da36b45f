import { describe, expect, it } from 'vitest';
import type { UsageStore } from '../../../src/db/usage.ts';
import { type Amount, Budgets, type CostBudget } from '../../../src/runtime/budgets.ts';

const REF = { tenant: 't', session: 's' };
const NONE: Amount = { microUsd: 0, tokens: 0 };

interface World {
  readonly session?: Amount;
  tenantMicroUsd?: number;
  nowMs?: number;
}

function open(world: World, tenantMicroUsdPerDay: number | null = null) {
  const asked: string[] = [];
  const store: UsageStore = {
    sessionSpent: () => {
      asked.push('session');
      return Promise.resolve(world.session ?? NONE);
    },
    tenantSpent: (tenant, day) => {
      asked.push(`${tenant} ${day}`);
      return Promise.resolve(world.tenantMicroUsd ?? 0);
    },
    report: () => Promise.resolve([]),
  };
  const clock = { nowMs: () => Date.UTC(2026, 2, 4, 23), monotonicMs: () => world.nowMs ?? 0 };
  return { asked, budgets: new Budgets({ store, clock, tenantMicroUsdPerDay }) };
}

function turn(limit: CostBudget | null, spent: Amount = NONE, session: CostBudget | null = null) {
  return { turn: { limit, spent }, session };
}

describe('budgets', () => {
  it('CST-01 a call that may reach the limit is made, one that may pass it is not', async () => {
    const { budgets } = open({});
    const spent = { microUsd: 70, tokens: 700 };
    const cost = turn({ microUsd: 100 }, spent);
    expect(await budgets.passed(REF, cost, { microUsd: 30, tokens: 9_999 })).toBeNull();
    expect(await budgets.passed(REF, cost, { microUsd: 31, tokens: 0 })).toBe('turn_cost');
    const tokens = turn({ tokens: 1_000 }, spent);
    expect(await budgets.passed(REF, tokens, { microUsd: 9_999, tokens: 300 })).toBeNull();
    expect(await budgets.passed(REF, tokens, { microUsd: 0, tokens: 301 })).toBe('turn_tokens');
  });

  it('CST-01 counts a session by all of its turns', async () => {
    const { budgets } = open({ session: { microUsd: 90, tokens: 900 } });
    const next = { microUsd: 11, tokens: 101 };
    expect(await budgets.passed(REF, turn(null, NONE, { microUsd: 101 }), next)).toBeNull();
    expect(await budgets.passed(REF, turn(null, NONE, { microUsd: 100 }), next)).toBe('session_cost');
    expect(await budgets.passed(REF, turn(null, NONE, { tokens: 1_000 }), next)).toBe('session_tokens');
  });

  it('CST-01 counts a tenant by its day in UTC, added up at most once a second', async () => {
    const world: World = { tenantMicroUsd: 90, nowMs: 0 };
    const { budgets, asked } = open(world, 100);
    const next = { microUsd: 11, tokens: 0 };
    expect(await budgets.passed(REF, turn(null), next)).toBe('tenant_cost');
    expect(await budgets.passed(REF, turn(null), { ...next, microUsd: 10 })).toBeNull();
    expect(asked).toEqual(['t 2026-03-04']);
    world.tenantMicroUsd = 95;
    world.nowMs = 1_000;
    expect(await budgets.passed(REF, turn(null), { ...next, microUsd: 10 })).toBe('tenant_cost');
    expect(asked).toHaveLength(2);
  });

  it('CST-01 asks the database nothing where nobody set a limit', async () => {
    const { budgets, asked } = open({});
    expect(await budgets.passed(REF, turn(null), { microUsd: 1e12, tokens: 1e12 })).toBeNull();
    expect(asked).toEqual([]);
  });
});
