/** Where stored projections differ from those made anew of the originals. Pure. */
import type { SessionState } from '../db/contract.ts';
import { canonicalJson, type Json } from '../ledger/json.ts';
import { usageKey } from '../ledger/usage.ts';
import type { AwaitedCall, AwaitedTimer } from './awaited.ts';
import type { ProjectedActor } from './project-actors.ts';
import type { FromRecords } from './project-records.ts';

export type ProjectedTable =
  | 'sessions'
  | 'heads'
  | 'turns'
  | 'accepted_keys'
  | 'evidence'
  | 'packets'
  | 'edges'
  | 'presentations'
  | 'prefixes'
  | 'turn_vectors'
  | 'evictions'
  | 'segments'
  | 'usage'
  | 'actors'
  | 'side_calls'
  | 'timers'
  | 'outbox';

export interface Difference {
  readonly table: ProjectedTable;
  readonly key: string;
  /** Canonical JSON of the row; null where there is none. */
  readonly stored: string | null;
  readonly rebuilt: string | null;
}

export interface Projected {
  readonly records: FromRecords;
  /** Those whose events lead somewhere this version knows; the others are left as they stand. */
  readonly actors: ReadonlyMap<string, ProjectedActor>;
}

export function differences(stored: SessionState | null, projected: Projected): readonly Difference[] {
  const { records, actors } = projected;
  const found = [
    ...compare('sessions', () => 'session', stored === null ? [] : [stored.session], [records.session]),
    ...compare('heads', ({ head }) => head, stored?.heads, records.heads),
    ...compare('turns', ({ turn }) => turn, stored?.turns, records.turns),
    ...compare('accepted_keys', ({ key }) => key, stored?.keys, records.keys),
    ...compare('evidence', ({ ordinal }) => `e${ordinal}`, stored?.evidence, records.evidence),
    ...compare('packets', ({ head, from, to }) => `${head}/${from}-${to}`, stored?.packets, records.packets),
    ...compare('edges', ({ turn, ordinal }) => `${turn}/${ordinal}`, stored?.edges, records.edges),
    ...compare('presentations', ({ ordinal }) => `p${ordinal}`, stored?.presentations, records.presentations),
    ...compare('prefixes', ({ digest }) => digest, stored?.prefixes, records.prefixes),
    ...compare('turn_vectors', ({ turn, model }) => `${turn}/${model}`, stored?.vectors, records.vectors),
    ...compare('evictions', ({ head, seq }) => `${head}/${seq}`, stored?.evictions, records.evictions),
    ...compare('segments', ({ head, ordinal }) => `${head}/${ordinal}`, stored?.segments, records.segments),
    ...compare('usage', usageKey, stored?.usage, records.usage),
  ];
  for (const [actor, made] of actors) found.push(...compareActor(stored, actor, made, records));
  return found;
}

function compareActor(
  stored: SessionState | null,
  actor: string,
  { row, awaited }: ProjectedActor,
  { parked }: FromRecords,
): readonly Difference[] {
  const mine = <Row extends { readonly actor: string }>(rows: readonly Row[] = []) =>
    rows.filter((candidate) => candidate.actor === actor);
  const kept = mine(stored?.actors).map(({ parkedReason: _, ...rest }) => rest);
  const found: Difference[] = [];
  // How often an actor was parked and brought back, its events do not tell.
  if (!parked.has(actor)) found.push(...compare('actors', (one) => one.actor, kept, [row]));
  else if (kept.length === 0) found.push(...compare('actors', (one) => one.actor, kept, [row]));
  const isStanding = kept.some(({ status }) => status === 'parked') || parked.has(actor);
  if (isStanding) return found;
  const calls = mine(stored?.calls);
  const open = calls.filter(({ status }) => status === 'queued' || status === 'running');
  // A result that waits to be applied has settled its call already.
  const pending = pendingIds(stored, actor);
  const awaitedCalls = (awaited?.calls ?? []).filter(({ child }) => !pending.has(child));
  found.push(...compare('side_calls', callKey, open.map(callFacts), awaitedCalls.map(callFacts)));
  const timers = mine(stored?.timers).map(timerFacts);
  found.push(
    ...compare('timers', (one) => `${actor}~${one.timer}`, timers, firesLater(stored, actor, awaited)),
  );
  const handedOver = mine(stored?.outbox).filter(({ child }) => child !== 'drain');
  const queued = open.filter(({ status }) => status === 'queued');
  found.push(...compare('outbox', callKey, handedOver.map(dispatchFacts), queued.map(dispatchFacts)));
  return found;

  function callKey({ child }: { readonly child: string }): string {
    return `${actor}~${child}`;
  }
}

const callFacts = ({ child, src, pool, input }: AwaitedCall): AwaitedCall => ({ child, src, pool, input });
const timerFacts = ({ timer, event, revision }: Omit<AwaitedTimer, 'dueMs'>) => ({ timer, event, revision });
const dispatchFacts = ({ child, dispatch, pool }: { child: string; dispatch: number; pool: string }) => ({
  child,
  dispatch,
  pool,
});

function pendingIds(stored: SessionState | null, actor: string): ReadonlySet<string> {
  const mine = (stored?.events ?? []).filter((event) => event.actor === actor && event.revision === null);
  return new Set(mine.map(({ id }) => id));
}

/** A timer that fell due is a pending event and no row any more. */
function firesLater(stored: SessionState | null, actor: string, awaited: ProjectedActor['awaited']) {
  const fired = pendingIds(stored, actor);
  return (awaited?.timers ?? [])
    .filter(({ timer, revision }) => !fired.has(`timer.${timer}.${revision}`))
    .map(timerFacts);
}

function compare<Row extends object>(
  table: ProjectedTable,
  keyOf: (row: Row) => string,
  stored: readonly Row[] | undefined,
  rebuilt: readonly Row[],
): readonly Difference[] {
  const texts = (rows: readonly Row[]) =>
    new Map(rows.map((row) => [keyOf(row), canonicalJson(row as unknown as Json)]));
  const before = texts(stored ?? []);
  const after = texts(rebuilt);
  const keys = [...new Set([...before.keys(), ...after.keys()])];
  return keys.flatMap((key): Difference[] => {
    const [was, is] = [before.get(key) ?? null, after.get(key) ?? null];
    return was === is ? [] : [{ table, key, stored: was, rebuilt: is }];
  });
}
