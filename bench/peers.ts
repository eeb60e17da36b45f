/** The same standard turn in other durable runtimes, in alternation with ours, on one PostgreSQL server. */
import { closedLoop, type Loop, perSecond } from './closed-loop.ts';
import { installPeers, startPeer } from './peer-process.ts';
import { type Backend, runSql, type Servers } from './servers.ts';
import { openBenchStack } from './stack.ts';
import { median, type Spread, spread } from './statistics.ts';

const SESSIONS = 16;
const ROUNDS = 3;
const QUICK_ROUNDS = 1;
const TURNS_PER_SESSION = 20;
/** What carries its whole history in every step would be measured by its length, not by its engine. */
const GROWING_TURNS_PER_SESSION = 5;
const LENGTH = 200;
const QUICK_LENGTH = 40;
const YOUNG = { from: 3, to: 7 } as const;
const LATE_TURNS = 5;
const WINDOW_TOKENS = 128_000;
const MICROSECONDS_PER_MS = 1_000;

export interface PeerRow {
  readonly name: string;
  readonly versions: readonly string[];
  readonly settings: string;
  /** In the rounds; sessions are new in each. */
  readonly turnsPerSession: number;
  /** The median of each round. */
  readonly oneSessionMs: Spread;
  readonly sessions: number;
  readonly turnsPerSecond: Spread;
  /** Of the process, at that load. */
  readonly cpuMsPerTurn: number;
  /** One session over its length: the median around turn 5, that of the last five, and what its database grew by. */
  readonly length: {
    readonly turns: number;
    readonly youngMs: number;
    readonly lateMs: number;
    readonly diskBytesPerTurn: number;
  };
  readonly rounds: readonly Round[];
}

interface Round {
  readonly oneSessionMs: readonly number[];
  readonly turnsPerSecond: number;
  readonly cpuMsPerTurn: number;
}

interface Ran {
  readonly loop: Loop;
  readonly cpuMs: number;
}

interface Contestant extends Pick<PeerRow, 'name' | 'versions' | 'settings' | 'turnsPerSession'> {
  readonly databaseUrl: string;
  /** With new sessions. */
  run(sessions: number, turns: number): Promise<Ran>;
  close(): Promise<void>;
}

export async function peers(
  servers: Servers,
  backends: readonly Backend[],
  { quick }: { readonly quick: boolean },
): Promise<readonly PeerRow[]> {
  await installPeers();
  const contestants: Contestant[] = [];
  try {
    for (const backend of backends)
      for (const startHere of [false, true]) contestants.push(await ours(servers, backend, startHere));
    contestants.push(await peer(servers, 'DBOS Transact', 'dbos.ts', TURNS_PER_SESSION));
    contestants.push(await peer(servers, 'LangGraph.js', 'langgraph.ts', GROWING_TURNS_PER_SESSION));
    return await compare(contestants, quick);
  } finally {
    for (const contestant of contestants) await contestant.close();
  }
}

/** Each round is run by everyone before the next begins; the first is dropped. */
async function compare(contestants: readonly Contestant[], quick: boolean): Promise<readonly PeerRow[]> {
  const rounds = new Map<Contestant, Round[]>(contestants.map((contestant) => [contestant, []]));
  for (const contestant of contestants) await measure(contestant);
  for (let round = 0; round < (quick ? QUICK_ROUNDS : ROUNDS); round++)
    for (const [contestant, measured] of rounds) measured.push(await measure(contestant));
  const rows: PeerRow[] = [];
  for (const [contestant, measured] of rounds) {
    const { name, versions, settings, turnsPerSession } = contestant;
    rows.push({
      name,
      versions,
      settings,
      turnsPerSession,
      oneSessionMs: spread(measured.map((round) => median(round.oneSessionMs))),
      sessions: SESSIONS,
      turnsPerSecond: spread(measured.map((round) => round.turnsPerSecond)),
      cpuMsPerTurn: median(measured.map((round) => round.cpuMsPerTurn)),
      length: await atLength(contestant, quick ? QUICK_LENGTH : LENGTH),
      rounds: measured,
    });
  }
  return rows;
}

async function measure({ run, turnsPerSession }: Contestant): Promise<Round> {
  const alone = await run(1, turnsPerSession);
  const many = await run(SESSIONS, SESSIONS * turnsPerSession);
  return {
    oneSessionMs: alone.loop.turnMs,
    turnsPerSecond: perSecond(many.loop),
    cpuMsPerTurn: many.cpuMs / many.loop.turnMs.length,
  };
}

async function atLength({ run, databaseUrl }: Contestant, turns: number): Promise<PeerRow['length']> {
  const before = await databaseBytes(databaseUrl);
  const { turnMs } = (await run(1, turns)).loop;
  return {
    turns,
    youngMs: median(turnMs.slice(YOUNG.from - 1, YOUNG.to)),
    lateMs: median(turnMs.slice(-LATE_TURNS)),
    diskBytesPerTurn: ((await databaseBytes(databaseUrl)) - before) / turns,
  };
}

async function databaseBytes(url: string): Promise<number> {
  await runSql(url, 'VACUUM');
  const [row] = await runSql<{ bytes: string }>(url, 'SELECT pg_database_size(current_database()) AS bytes');
  return Number(row?.bytes);
}

async function ours(servers: Servers, backend: Backend, startHere: boolean): Promise<Contestant> {
  const stack = await openBenchStack(servers, backend, WINDOW_TOKENS, { startHere });
  return {
    name: `Turnwright, BullMQ on ${backend}${startHere ? ', calls started here' : ''}`,
    versions: [],
    settings: `producer and workers in the process of the bench; ${startHere ? 'the next call of a turn is started by the process that made it' : 'every call a job on the queue'}`,
    turnsPerSession: TURNS_PER_SESSION,
    databaseUrl: stack.services.databaseUrl,
    run: async (count, turns) => {
      const sessions = await Promise.all(Array.from({ length: count }, () => stack.session()));
      const before = process.cpuUsage();
      const loop = await closedLoop(sessions, turns, (session) => stack.turn(session));
      const { user, system } = process.cpuUsage(before);
      return { loop, cpuMs: (user + system) / MICROSECONDS_PER_MS };
    },
    close: () => stack.close(),
  };
}

async function peer(
  servers: Servers,
  name: string,
  script: string,
  turnsPerSession: number,
): Promise<Contestant> {
  const database = await servers.database();
  const child = await startPeer(script, database.url);
  let opened = 0;
  return {
    name,
    versions: child.versions,
    settings: child.settings,
    turnsPerSession,
    databaseUrl: database.url,
    run: (count, turns) => {
      const sessions = Array.from({ length: count }, () => `session-${opened++}`);
      return child.run({ sessions, turns });
    },
    close: async () => {
      await child.stop();
      await database.drop();
    },
  };
}
