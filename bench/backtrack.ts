/** Going back in a session, and to the head that was left, beside one durable commit; in a short session and a long one. */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { createLogger } from '../src/app/logger.ts';
import { openServices, type Services } from '../src/app/services.ts';
import { checkOut } from '../src/runtime/checkout.ts';
import { type Conversation, openConversation } from '../test/support/conversation.ts';
import { count, times, two } from './cells.ts';
import { openFloor } from './floor.ts';
import { turnOf } from './long-session.ts';
import type { Servers } from './servers.ts';
import { benchConfig, INSTANT_LEG } from './settings.ts';
import { lookup } from './standard-turn.ts';
import { median, type Spread, spread, timed } from './statistics.ts';
import type { Table } from './tables.ts';

const TURNS = [50, 5_000] as const;
const QUICK_TURNS = [50, 500] as const;
const BACK = 40;
const WRITTEN_AT_ONCE = 200;
const ROUNDS = 5;
const SAMPLES = 20;
const WINDOW_TOKENS = 128_000;
const SEED = 7;

interface Round {
  readonly commitMs: number;
  readonly backMs: number;
  readonly headMs: number;
}

export interface BacktrackRow {
  readonly turns: number;
  readonly back: number;
  /** That one of them wrote: rows of every table, and bytes of record bodies. */
  readonly rows: number;
  readonly bytes: number;
  readonly commitMs: number;
  readonly backMs: number;
  readonly headMs: number;
  readonly backRatio: Spread;
  readonly headRatio: Spread;
}

export async function backtrackBench(
  servers: Servers,
  { quick }: { readonly quick: boolean },
): Promise<readonly BacktrackRow[]> {
  const place = await servers.place('postgres', WINDOW_TOKENS);
  const config = await benchConfig(place.settings, [lookup]);
  const services = openServices(config, createLogger({ level: config.logLevel, secrets: [] }));
  const pool = new pg.Pool({ connectionString: place.settings.databaseUrl, max: 1 });
  try {
    const rows: BacktrackRow[] = [];
    for (const turns of quick ? QUICK_TURNS : TURNS) rows.push(await measure(services, pool, turns));
    return rows;
  } finally {
    await pool.end();
    await services.close();
    await place.drop();
  }
}

async function measure(services: Services, pool: pg.Pool, turns: number): Promise<BacktrackRow> {
  const tenant = randomUUID();
  await pool.query('INSERT INTO turnwright.tenants (tenant_id, name) VALUES ($1, $2)', [tenant, 'bench']);
  const conversation = await openConversation(services.engine, tenant, { leg: INSTANT_LEG });
  for (let at = 0; at < turns; at += WRITTEN_AT_ONCE) {
    const length = Math.min(WRITTEN_AT_ONCE, turns - at);
    await conversation.write(Array.from({ length }, (_, more) => turnOf(SEED, at + more + 1)));
  }
  await pool.query('VACUUM (ANALYZE)');
  const before = await written(pool, conversation);
  await goBack(services, conversation);
  const after = await written(pool, conversation);
  await goTo(services, conversation);
  const floor = await openFloor(services, 1);
  try {
    const rounds: Round[] = [];
    for (let round = 0; round < ROUNDS; round++) rounds.push(await runRound(services, conversation, floor));
    return {
      turns,
      back: BACK,
      rows: after.rows - before.rows,
      bytes: after.bytes - before.bytes,
      commitMs: median(rounds.map(({ commitMs }) => commitMs)),
      backMs: median(rounds.map(({ backMs }) => backMs)),
      headMs: median(rounds.map(({ headMs }) => headMs)),
      backRatio: spread(rounds.map(({ backMs, commitMs }) => backMs / commitMs)),
      headRatio: spread(rounds.map(({ headMs, commitMs }) => headMs / commitMs)),
    };
  } finally {
    await floor.close();
  }
}

async function runRound(
  services: Services,
  conversation: Conversation,
  floor: { commit(): Promise<number> },
): Promise<Round> {
  const samples: Round[] = [];
  for (let at = 0; at < SAMPLES; at++)
    samples.push({
      commitMs: await floor.commit(),
      backMs: await timed(() => goBack(services, conversation)),
      headMs: await timed(() => goTo(services, conversation)),
    });
  return {
    commitMs: median(samples.map(({ commitMs }) => commitMs)),
    backMs: median(samples.map(({ backMs }) => backMs)),
    headMs: median(samples.map(({ headMs }) => headMs)),
  };
}

async function goBack({ engine, newId }: Services, { ref }: Conversation): Promise<void> {
  await checkOut(engine, ref, { back: BACK }, newId());
}

async function goTo({ engine, newId }: Services, { ref, head }: Conversation): Promise<void> {
  await checkOut(engine, ref, { head }, newId());
}

/** Of the session, in every table that holds sessions. */
async function written(pool: pg.Pool, { ref }: Conversation): Promise<{ rows: number; bytes: number }> {
  const { rows: tables } = await pool.query<{ name: string }>(
    `SELECT c.relname AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'session_id'
      WHERE c.relnamespace = 'turnwright'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition`,
  );
  const counts = tables.map(
    ({ name }) => `(SELECT count(*) FROM turnwright.${pg.escapeIdentifier(name)} WHERE session_id = $1)`,
  );
  const { rows } = await pool.query<{ rows: string; bytes: string }>(
    `SELECT ${counts.join(' + ')} AS rows, (SELECT sum(bytes) FROM turnwright.records WHERE session_id = $1) AS bytes`,
    [ref.session],
  );
  return { rows: Number(rows[0]?.rows ?? 0), bytes: Number(rows[0]?.bytes ?? 0) };
}

export function backtrackTable(rows: readonly BacktrackRow[]): Table {
  return {
    title: 'Going back in a session',
    target: 'at most 5 commits, however long the session',
    method: `Going back by ${BACK} turns, and then to the head that was left, in alternation with one durable insert of a row. Rows and bytes are what one of them wrote. Milliseconds, medians.`,
    head: [
      'turns',
      'rows',
      'bytes',
      'commit',
      'back',
      'back over commit',
      'to a head',
      'to a head over commit',
    ],
    rows: rows.map((row) => [
      count(row.turns),
      count(row.rows),
      count(row.bytes),
      two(row.commitMs),
      two(row.backMs),
      times(row.backRatio),
      two(row.headMs),
      times(row.headRatio),
    ]),
    notes: [],
  };
}
