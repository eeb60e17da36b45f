/** What the database holds after a run, read once everything has come to rest. */
import { setTimeout as delay } from 'node:timers/promises';
import type { SessionRef } from '../../src/db/contract.ts';
import { createPool, PostgresStore } from '../../src/db/index.ts';
import { readAppliedEvents } from '../../src/db/queries/read-applied-events.ts';
import type { StoredRecord } from '../../src/ledger/verify.ts';
import type { AppliedEvent } from '../../src/runtime/replay.ts';
import type { World } from './world.ts';

export interface StoredActor {
  readonly actor: string;
  readonly turn: string | null;
  readonly machine: string;
  readonly version: number;
  readonly status: string;
  readonly snapshot: string;
  readonly events: readonly AppliedEvent[];
}

export interface StoredTurn {
  readonly turn: string;
  readonly number: number;
  readonly status: string;
  readonly outcome: string | null;
  readonly steps: number;
}

export interface StoredSession {
  readonly session: string;
  readonly nextSeq: number;
  readonly lastDigest: string;
  readonly records: readonly StoredRecord[];
  readonly turns: readonly StoredTurn[];
  readonly actors: readonly StoredActor[];
}

/** Rows that work leaves behind only while it is under way, by what they are. */
export type Leftovers = Readonly<Record<string, number>>;

const LEFTOVERS = `
  SELECT (SELECT count(*) FROM turnwright.side_calls WHERE status IN ('queued', 'running'))::integer AS "open side calls",
    (SELECT count(*) FROM turnwright.outbox)::integer AS "outbox rows",
    (SELECT count(*) FROM turnwright.timers)::integer AS timers,
    (SELECT count(*) FROM turnwright.actor_events WHERE revision IS NULL)::integer AS "pending events",
    (SELECT count(*) FROM turnwright.heads WHERE open_turn IS NOT NULL)::integer AS "busy heads",
    (SELECT count(*) FROM turnwright.turns WHERE status <> 'closed')::integer AS "open turns",
    (SELECT count(*) FROM turnwright.actors WHERE status <> 'done')::integer AS "actors that go on"`;
const SESSIONS = `SELECT session_id AS session, next_seq::float8 AS "nextSeq", encode(last_digest, 'hex') AS "lastDigest"
  FROM turnwright.sessions WHERE session_id = ANY ($1::uuid[])`;
const TURNS = `SELECT turn_id AS turn, number, status, outcome, steps FROM turnwright.turns WHERE session_id = $1 ORDER BY number`;
const ACTORS = `SELECT actor_id AS actor, turn_id AS turn, machine, version, status, snapshot FROM turnwright.actors WHERE session_id = $1`;
const POLL_MS = 200;

/** The first moment at which nothing is left, or what is left when `limitMs` have passed. */
export async function cameToRest(world: World, limitMs: number): Promise<Leftovers> {
  const deadlineMs = performance.now() + limitMs;
  for (;;) {
    const [left = {}] = await world.sql<Record<string, number>>(LEFTOVERS);
    if (Object.values(left).every((count) => count === 0) || performance.now() > deadlineMs) return left;
    await delay(POLL_MS);
  }
}

export async function readLedger(
  world: World,
  sessions: readonly string[],
): Promise<readonly StoredSession[]> {
  const pool = createPool({
    url: world.databaseUrl,
    role: 'turnwright_app',
    max: 2,
    applicationName: 'chaos',
    onError: () => undefined,
  });
  const store = new PostgresStore(pool);
  const { tenant } = world;
  try {
    const rows = await world.sql<Pick<StoredSession, 'session' | 'nextSeq' | 'lastDigest'>>(SESSIONS, [
      sessions,
    ]);
    const found: StoredSession[] = [];
    for (const row of rows) {
      const ref: SessionRef = { tenant, session: row.session };
      const actors: StoredActor[] = [];
      for (const actor of await world.sql<Omit<StoredActor, 'events'>>(ACTORS, [row.session]))
        actors.push({ ...actor, events: await readAppliedEvents(pool, { ...ref, actor: actor.actor }) });
      const records: StoredRecord[] = [];
      for await (const record of store.records(ref)) records.push(record);
      const turns = await world.sql<StoredTurn>(TURNS, [row.session]);
      found.push({ ...row, records, turns, actors });
    }
    return found;
  } finally {
    await pool.end();
  }
}
