/** The thread that searches: it says whether the pattern stands, then answers one turn for each that it is given. */
import { parentPort, workerData } from 'node:worker_threads';
import { createPool } from '../../db/pool.ts';
import { readTurnRows } from '../../db/queries/read-transcript.ts';
import { TurnwrightError } from '../../ledger/errors.ts';
import type { TranscriptRow, TurnPlace, TurnText } from './contract.ts';
import type { GrepSetup, GrepWork, PatternSaid, SearchFailed } from './grep-worker.ts';
import { compileSearch } from './line-search.ts';
import { searchTurn, type TurnFound } from './search-turn.ts';

type Rows = Promise<readonly TranscriptRow[]>;
type Place = NonNullable<TurnPlace['ahead']>;

const { pattern, items, address } = workerData as GrepSetup;
const pool = address === undefined ? null : createPool({ ...address, max: 1, onError: () => {} });
/** What was fetched while the turn before was searched. */
let ahead: { readonly turn: string; readonly rows: Rows } | null = null;

const compiled = compileSearch(pattern);
say(compiled.ok ? { ok: true } : compiled);
if (compiled.ok) {
  const { search } = compiled;
  parentPort?.on('message', ({ turn, room }: GrepWork) => {
    textOf(turn).then((text) => say(searchTurn(text, { search, items }, room)), fail);
  });
}

async function textOf(turn: TurnText | TurnPlace): Promise<TurnText> {
  if ('records' in turn) return turn;
  const records = await (ahead?.turn === turn.turn ? ahead.rows : rowsOf(turn));
  ahead = turn.ahead === null ? null : { turn: turn.ahead.turn, rows: rowsOf(turn.ahead) };
  // It is awaited when its turn comes; a search that ends before leaves it alone.
  ahead?.rows.catch(() => undefined);
  return { ...turn, records };
}

function rowsOf({ tenant, session, turn, toSeq }: Place): Rows {
  if (pool === null) throw new Error('the thread was not told where records stand');
  return readTurnRows(pool, { tenant, session }, turn, toSeq);
}

function fail(error: unknown): void {
  const code = error instanceof TurnwrightError ? error.code : 'internal';
  say({ kind: 'failed', code, message: error instanceof Error ? error.message : String(error) });
}

function say(said: PatternSaid | TurnFound | SearchFailed): void {
  parentPort?.postMessage(said);
}
