/**
 * Whose held-back rows the queue is given next, as `turnwright.admit` (drizzle/0003_upkeep.sql) chooses them. Tenants
 * take turns: each counts what it was given of the pool while it waited and what it has in flight there now, and the
 * least comes first. Inside a tenant the most urgent is first, then the oldest.
 */
import type { AdmitRules, HandOver } from '../../../src/db/contract.ts';
import { handOverOf } from './outbox.ts';
import { slotsOf } from './pools.ts';
import type { OutboxRow, Tables } from './rows.ts';

interface Standing {
  readonly tenant: string;
  /** Running, or in the queue. */
  readonly calls: number;
  readonly served: number;
  readonly known: boolean;
}

interface Bounds {
  readonly limit: number;
  /** Calls of a tenant beyond which others go first. */
  readonly share: number;
  /** Calls of a tenant in any case. */
  readonly running: number;
}

/** null when the rules leave no room. */
export function admit(
  tables: Tables,
  pool: string,
  asked: { readonly limit: number; readonly rules?: AdmitRules | undefined; readonly nowMs: number },
): readonly HandOver[] | null {
  const bounds = boundsOf(tables, pool, asked);
  if (bounds === null) return null;
  const held = tables.outbox.all().filter((row) => row.pool === pool && row.admittedMs === null);
  const standing = standingOf(tables, pool, new Set(held.map(({ tenant }) => tenant)));
  const due = held.filter(({ dueMs }) => dueMs <= asked.nowMs);
  const chosen = standing
    .flatMap((tenant) => candidatesOf(tenant, due, bounds))
    .sort(
      (a, b) =>
        Number(a.beyond) - Number(b.beyond) ||
        a.place - b.place ||
        Number(a.known) - Number(b.known) ||
        a.row.position - b.row.position,
    )
    .slice(0, bounds.limit)
    .map(({ row }) => row);
  for (const row of chosen) tables.outbox.put({ ...row, admittedMs: asked.nowMs });
  noteShares(tables, pool, standing, chosen);
  return chosen.map(handOverOf);
}

function boundsOf(
  tables: Tables,
  pool: string,
  { limit, rules, nowMs }: Parameters<typeof admit>[2],
): Bounds | null {
  if (rules === undefined)
    return { limit, share: Number.POSITIVE_INFINITY, running: Number.POSITIVE_INFINITY };
  const slots = slotsOf(tables, pool, nowMs - rules.leaseMs);
  const inQueue = tables.outbox.all().filter((row) => row.pool === pool && row.admittedMs !== null).length;
  const room = Math.min(limit, rules.perSlot * slots - inQueue);
  if (room <= 0) return null;
  const share = Math.max(1, Math.ceil(rules.tenantShare * slots));
  return { limit: room, share, running: rules.tenantRunning ?? Number.POSITIVE_INFINITY };
}

/** A tenant that comes anew starts where the least served of those that wait stands. */
function standingOf(tables: Tables, pool: string, waiting: ReadonlySet<string>): readonly Standing[] {
  const shares = tables.shares.get(pool);
  const known = [...waiting].flatMap((tenant) => shares?.get(tenant) ?? []);
  const least = known.length === 0 ? 0 : Math.min(...known);
  return [...waiting].map((tenant) => {
    const served = shares?.get(tenant);
    return {
      tenant,
      calls: inFlight(tables, pool, tenant),
      served: served ?? least,
      known: served !== undefined,
    };
  });
}

function inFlight(tables: Tables, pool: string, tenant: string): number {
  const inQueue = tables.outbox
    .all()
    .filter((row) => row.tenant === tenant && row.pool === pool && row.admittedMs !== null);
  const running = tables.calls
    .all()
    .filter((call) => call.tenant === tenant && call.pool === pool && call.status === 'running');
  return inQueue.length + running.length;
}

function candidatesOf({ tenant, calls, served, known }: Standing, due: readonly OutboxRow[], bounds: Bounds) {
  return due
    .filter((row) => row.tenant === tenant)
    .sort((a, b) => a.priority - b.priority || a.position - b.position)
    .slice(0, Math.max(0, Math.min(bounds.limit, bounds.running - calls)))
    .map((row, before) => ({
      row,
      known,
      beyond: calls + before >= bounds.share,
      place: served + calls + before,
    }));
}

/** A tenant that waits alone has nobody to share with, and one that waits no more is forgotten. */
function noteShares(
  tables: Tables,
  pool: string,
  standing: readonly Standing[],
  chosen: readonly OutboxRow[],
): void {
  const shared = standing.length > 1;
  const shares = new Map<string, number>();
  for (const { tenant, served, known } of standing) {
    const given = chosen.filter((row) => row.tenant === tenant).length;
    if (shared && given > 0) shares.set(tenant, served + given);
    else if (known && (shared || given > 0)) shares.set(tenant, served);
  }
  tables.shares.set(pool, shares);
}
