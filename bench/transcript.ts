/**
 * A search of a whole long session: its time beside reading the same records, the memory of the process that searches,
 * and what it costs those who write to the same session and to another meanwhile.
 */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { createLogger } from '../src/app/logger.ts';
import { openServices } from '../src/app/services.ts';
import { draw } from '../src/sim/random.ts';
import { type Conversation, openConversation, type TurnSaid } from '../test/support/conversation.ts';
import { BYTES_PER_MB, count, megabytes, one, ranged, signed, two } from './cells.ts';
import { turnOf } from './long-session.ts';
import type { SearchAsk, Searched } from './search-messages.ts';
import { type SearchProcess, startSearchProcess } from './search-process.ts';
import { runSql, type Servers } from './servers.ts';
import { benchConfig, INSTANT_LEG } from './settings.ts';
import { lookup } from './standard-turn.ts';
import { median, type Spread, spread, timed } from './statistics.ts';
import type { Table } from './tables.ts';

const TURNS = 10_000;
const QUICK_TURNS = 500;
const RESULT_BYTES = 100_000;
const WRITTEN_AT_ONCE = 200;
const WARM_UP_TURNS = 3;
const ROUNDS = 3;
const WINDOW_TOKENS = 128_000;
const SEED = 7;
/** Stands once in every turn of the session, and in none that is written meanwhile. */
const PATTERN = 'the mark of page \\d+ is kept$';
/** Of each session in one round: enough for a median, over soon where a search takes long. */
const MOST_APPENDS = 100;
/** A search that ends early must not leave a round without a sample. */
const LEAST_APPENDS = 5;

/** Milliseconds from asking to written, medians over all rounds. */
interface Appends {
  readonly quietMs: number;
  readonly duringMs: number;
  /** During a search over without one. */
  readonly ratio: number;
  readonly samples: { readonly quietMs: readonly number[]; readonly duringMs: readonly number[] };
}

export interface TranscriptRow {
  readonly turns: number;
  /** Of the bodies of its records. */
  readonly bytes: number;
  /** Exact: one line of every turn. */
  readonly total: number;
  readonly searchMs: Spread;
  /** The same records read by the same statements: the floor. */
  readonly readMs: Spread;
  readonly ratio: number;
  /** Resident memory of the process that searches, its threads included; searching a session of three turns before. */
  readonly beforeBytes: number;
  readonly readingBytes: number;
  readonly searchingBytes: number;
  /** To the session that is searched, and to another, in turn. */
  readonly searched: Appends;
  readonly other: Appends;
}

export async function transcriptBench(
  servers: Servers,
  { quick }: { readonly quick: boolean },
): Promise<readonly TranscriptRow[]> {
  const place = await servers.place('postgres', WINDOW_TOKENS);
  const { databaseUrl } = place.settings;
  const config = await benchConfig(place.settings, [lookup]);
  const services = openServices(config, createLogger({ level: config.logLevel, secrets: [] }));
  const pool = new pg.Pool({ connectionString: databaseUrl, max: 1 });
  // One each: what reading leaves in a process is no part of what a search holds.
  const processes = {
    search: await startSearchProcess({ databaseUrl }),
    read: await startSearchProcess({ databaseUrl }),
  };
  try {
    const tenant = randomUUID();
    await pool.query('INSERT INTO turnwright.tenants (tenant_id, name) VALUES ($1, $2)', [tenant, 'bench']);
    const open = () => openConversation(services.engine, tenant, { leg: INSTANT_LEG });
    const [long, other, small] = [await open(), await open(), await open()];
    const turns = quick ? QUICK_TURNS : TURNS;
    for (let at = 0; at < turns; at += WRITTEN_AT_ONCE)
      await long.write(pages(at, Math.min(WRITTEN_AT_ONCE, turns - at)));
    await small.write(pages(0, WARM_UP_TURNS));
    await runSql(databaseUrl, 'VACUUM (ANALYZE)');
    const bytes = await bodyBytes(pool, long);
    const state = await services.store.loadSession(long.ref, null);
    const ask = (conversation: Conversation, type: SearchAsk['type']) =>
      processes[type].ask({
        type,
        ref: conversation.ref,
        head: conversation.head,
        nextItem: state?.session.nextItem ?? 0,
        pattern: PATTERN,
      });
    // What every search needs once.
    const before = await ask(small, 'search');
    const rounds: Round[] = [];
    for (let round = 0; round < ROUNDS; round++) rounds.push(await runRound({ long, other, ask }));
    return [rowOf({ turns, bytes, beforeBytes: before.mostBytes }, rounds)];
  } finally {
    await Promise.all([processes.search.stop(), processes.read.stop()]);
    await pool.end();
    await services.close();
    await place.drop();
  }
}

interface Round {
  readonly read: Searched;
  readonly search: Searched;
  readonly quiet: Written;
  readonly during: Written;
}

interface Written {
  readonly searchedMs: readonly number[];
  readonly otherMs: readonly number[];
}

interface Parts {
  readonly long: Conversation;
  readonly other: Conversation;
  readonly ask: (conversation: Conversation, type: SearchAsk['type']) => ReturnType<SearchProcess['ask']>;
}

async function runRound({ long, other, ask }: Parts): Promise<Round> {
  const read = await ask(long, 'read');
  let searching = true;
  const asked = ask(long, 'search').finally(() => {
    searching = false;
  });
  const during = await append(long, other, (written) => searching && written < MOST_APPENDS);
  const search = await asked;
  const least = Math.max(LEAST_APPENDS, during.searchedMs.length);
  const quiet = await append(long, other, (written) => written < least);
  return { read, search, quiet, during };
}

/** A small turn to either session, in turn. */
async function append(
  long: Conversation,
  other: Conversation,
  goesOn: (written: number) => boolean,
): Promise<Written> {
  const searchedMs: number[] = [];
  const otherMs: number[] = [];
  for (let at = 0; at < LEAST_APPENDS || goesOn(at); at++) {
    searchedMs.push(await timed(() => long.write([turnOf(SEED, at + 1)])));
    otherMs.push(await timed(() => other.write([turnOf(SEED, at + 1)])));
  }
  return { searchedMs, otherMs };
}

type Session = Pick<TranscriptRow, 'turns' | 'bytes' | 'beforeBytes'>;

function rowOf(session: Session, rounds: readonly Round[]): TranscriptRow {
  const { turns } = session;
  for (const { search } of rounds)
    if (!search.complete || search.total !== turns)
      throw new Error(`a search found ${search.total} lines of ${turns}`);
  const [searchMs, readMs] = [
    spread(rounds.map(({ search }) => search.ms)),
    spread(rounds.map(({ read }) => read.ms)),
  ];
  const appends = (of: keyof Written): Appends => {
    const quietMs = rounds.flatMap(({ quiet }) => quiet[of]);
    const duringMs = rounds.flatMap(({ during }) => during[of]);
    const [before, meanwhile] = [median(quietMs), median(duringMs)];
    return {
      quietMs: before,
      duringMs: meanwhile,
      ratio: meanwhile / before,
      samples: { quietMs, duringMs },
    };
  };
  return {
    ...session,
    total: turns,
    searchMs,
    readMs,
    ratio: searchMs.median / readMs.median,
    readingBytes: Math.max(...rounds.map(({ read }) => read.mostBytes)),
    searchingBytes: Math.max(...rounds.map(({ search }) => search.mostBytes)),
    searched: appends('searchedMs'),
    other: appends('otherMs'),
  };
}

/** Each reads a page of 100 KB, with one line that the search is for. */
function pages(from: number, turns: number): readonly TurnSaid[] {
  return Array.from({ length: turns }, (_, at) => {
    const n = from + at + 1;
    const call = { tool: lookup.name, args: { page: `${n}` }, result: pageOf(n) };
    return {
      asked: `What stands on page ${n}?`,
      steps: [{ prose: '', calls: [call] }],
      answer: 'It was read.',
    };
  });
}

function pageOf(n: number): string {
  const lines: string[] = [`# Page ${n}`];
  for (let bytes = 0, at = 0; bytes < RESULT_BYTES; at++) {
    const line = `Entry ${at}: ${(draw(SEED, 'entry', n, at) * 1e15).toString(36)} was counted and the figure stands.`;
    lines.push(line);
    bytes += line.length + 1;
  }
  return [...lines, `the mark of page ${n} is kept`].join('\n');
}

async function bodyBytes(pool: pg.Pool, { ref }: Conversation): Promise<number> {
  const { rows } = await pool.query<{ bytes: string }>(
    'SELECT sum(bytes) AS bytes FROM turnwright.records WHERE tenant_id = $1 AND session_id = $2',
    [ref.tenant, ref.session],
  );
  return Number(rows[0]?.bytes ?? 0);
}

export function transcriptTable(rows: readonly TranscriptRow[]): Table {
  const perSecond = ({ bytes, searchMs }: TranscriptRow) => (bytes / BYTES_PER_MB / searchMs.median) * 1_000;
  return {
    title: 'A search of a whole transcript',
    target:
      'a search of all of it grows by less than 64 MB over one of three turns; writing goes on beside it',
    method:
      'In a process of its own, every record compared with its digest, in alternation with another that reads the same records by the same statements, which is the floor. Meanwhile, and in alternation without a search, small turns are written to the session that is searched and to another. The total is exact. Seconds and milliseconds, medians with their range; MB of 1,048,576 bytes.',
    head: [
      'turns',
      'MB',
      'search, s',
      'MB/s',
      'floor, s',
      'search over floor',
      'resident before, MB',
      'reading',
      'searching',
      'growth, MB',
      'append, ms',
      'during a search',
      'ratio',
      'to another session',
    ],
    rows: rows.map((row) => [
      count(row.turns),
      megabytes(row.bytes),
      ranged(row.searchMs, seconds),
      one(perSecond(row)),
      ranged(row.readMs, seconds),
      `**${two(row.ratio)} ×**`,
      ...[row.beforeBytes, row.readingBytes, row.searchingBytes].map(megabytes),
      `**${signed((row.searchingBytes - row.beforeBytes) / BYTES_PER_MB)}**`,
      two(row.searched.quietMs),
      two(row.searched.duringMs),
      `**${two(row.searched.ratio)} ×**`,
      `${two(row.other.ratio)} ×`,
    ]),
    notes: [],
  };
}

function seconds(ms: number): string {
  return two(ms / 1_000);
}
