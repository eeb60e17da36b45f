/** All that is stored of a session beside its records, each list in the order of its key. */
import type { SessionRef, SessionState } from '../../../src/db/contract.ts';
import { byRevision } from './events.ts';
import type { EventRow, Tables } from './rows.ts';

export function stateOf(tables: Tables, ref: SessionRef, nowMs: number): SessionState | null {
  const row = tables.sessions.get(ref);
  if (row === undefined) return null;
  const { watchedUntilMs: _, ...session } = ownColumns(row);
  return {
    session,
    heads: tables.heads.of(ref).map(ownColumns).sort(by('head')),
    turns: tables.turns.of(ref).map(ownColumns).sort(by('number', 'turn')),
    keys: tables.keys.of(ref).map(ownColumns).sort(by('key')),
    evidence: tables.evidence.of(ref).map(ownColumns).sort(by('ordinal')),
    packets: tables.packets
      .of(ref)
      .map(ownColumns)
      .sort(by('head', 'from', 'to')),
    evictions: tables.evictions.of(ref).map(ownColumns).sort(by('head', 'seq')),
    segments: tables.segments.of(ref).map(ownColumns).sort(by('head', 'ordinal')),
    edges: tables.edges.of(ref).map(ownColumns).sort(by('turn', 'ordinal')),
    presentations: tables.presentations.of(ref).map(ownColumns).sort(by('ordinal')),
    prefixes: tables.prefixes.of(ref).map(ownColumns).sort(by('seq')),
    vectors: tables.vectors.of(ref).map(ownColumns).sort(by('seq')),
    usage: tables.usage
      .of(ref)
      .map(ownColumns)
      .sort(by('day', 'leg', 'purpose')),
    actors: tables.actors
      .of(ref)
      .map(ownColumns)
      .map(({ drains: __, ...actor }) => actor)
      .sort(by('actor')),
    events: [...tables.events.of(ref)]
      .sort((a, b) => by<EventRow>('actor')(a, b) || byRevision(a, b))
      .map(({ actor, id, event, revision, digest, receivedMs }) => ({
        actor,
        id,
        event,
        revision,
        digest,
        receivedInMs: receivedMs - nowMs,
      })),
    calls: tables.calls
      .of(ref)
      .map(ownColumns)
      .map(({ lastError: __, claimedMs: ___, deaths: ____, ...call }) => call)
      .sort(by('actor', 'child')),
    timers: tables.timers
      .of(ref)
      .map(({ actor, timer, event, revision, dueMs }) => ({
        actor,
        timer,
        event,
        revision,
        dueInMs: dueMs - nowMs,
      }))
      .sort(by('actor', 'timer')),
    outbox: tables.outbox
      .of(ref)
      .map(({ actor, child, dispatch, pool, priority, dueMs, admittedMs }) => ({
        actor,
        child,
        dispatch,
        pool,
        priority,
        dueInMs: dueMs - nowMs,
        admitted: admittedMs !== null,
      }))
      .sort(by('actor', 'child', 'dispatch')),
  };
}

function ownColumns<Row extends SessionRef>({ tenant: _, session: __, ...columns }: Row) {
  return columns;
}

function by<Row>(...columns: readonly (keyof Row)[]): (a: Row, b: Row) => number {
  return (a, b) => {
    const column = columns.find((name) => a[name] !== b[name]);
    if (column === undefined) return 0;
    return a[column] < b[column] ? -1 : 1;
  };
}
