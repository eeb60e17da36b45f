/** What a hop reads, as the SELECTs of drizzle/0002_hop.sql put it together. Nothing here changes a row. */
import type {
  ActorRef,
  Loaded,
  NextTurn,
  RawRecord,
  SessionHead,
  SessionRef,
} from '../../../src/db/contract.ts';
import type { SessionRow, Tables, TurnRow } from './rows.ts';

export function headOf(session: SessionRow, nowMs: number): SessionHead {
  const { watchedUntilMs, config: _, parent: __, ...head } = session;
  return { ...head, watched: (watchedUntilMs ?? 0) > nowMs };
}

export function loadedOf(tables: Tables, ref: ActorRef, nowMs: number): Loaded | null {
  const session = tables.sessions.get(ref);
  const row = tables.actors.get(ref);
  if (session === undefined || row === undefined) return null;
  const { actor, machine, version, revision, snapshot, status } = row;
  const turn = row.turn === null ? undefined : tables.turns.get({ ...ref, turn: row.turn });
  return {
    session: headOf(session, nowMs),
    actor: {
      actor,
      turn: row.turn,
      machine,
      version,
      revision,
      snapshot,
      status,
      openChildren: openChildren(tables, ref),
    },
    turn:
      turn === undefined
        ? null
        : { head: turn.head, number: turn.number, status: turn.status, priority: turn.priority },
    next: turn === undefined ? null : nextTurn(tables, turn),
  };
}

function openChildren(tables: Tables, ref: ActorRef): readonly string[] {
  return tables.calls
    .of(ref)
    .filter(({ actor, status }) => actor === ref.actor && (status === 'queued' || status === 'running'))
    .map(({ child }) => child)
    .sort();
}

function nextTurn(tables: Tables, loaded: TurnRow): NextTurn | null {
  const waiting = turnsOfHead(tables, loaded, loaded.head).find(
    ({ turn, number, status }) =>
      number > loaded.number &&
      status === 'accepted' &&
      tables.actors.get({ ...loaded, actor: turn }) !== undefined,
  );
  const row = waiting === undefined ? undefined : tables.actors.get({ ...waiting, actor: waiting.turn });
  if (waiting === undefined || row === undefined) return null;
  const { actor, machine, version, revision, snapshot, status } = row;
  const { turn, priority, number } = waiting;
  return { turn, actor, machine, version, revision, snapshot, status, priority, number };
}

/** In order of their numbers. */
export function turnsOfHead(tables: Tables, ref: SessionRef, head: string): readonly TurnRow[] {
  return tables.turns
    .of(ref)
    .filter((turn) => turn.head === head)
    .sort((a, b) => a.number - b.number);
}

/** Without `kinds`, all of them. */
export function turnRecords(
  tables: Tables,
  ref: SessionRef,
  turn: string | null,
  kinds?: readonly string[],
): readonly RawRecord[] {
  if (turn === null) return [];
  return tables.records
    .of(ref)
    .filter(({ turnId, kind }) => turnId === turn && kinds?.includes(kind) !== false)
    .map(({ seq, kind, class: recordClass, turnId, body }) => ({
      seq,
      kind,
      class: recordClass,
      turnId,
      body,
    }));
}
