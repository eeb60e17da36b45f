/** A process that does nothing but search transcripts. Its settings come as one JSON argument; it speaks over its IPC channel. */
import { systemClock } from '../src/app/clock.ts';
import { createPool, PostgresStore } from '../src/db/index.ts';
import { TranscriptReader } from '../src/runtime/transcript/reader.ts';
import type { FromSearch, SearchAsk, Searched, SearchSettings } from './search-messages.ts';

const CONNECTIONS = 2;
const DEADLINE_MS = 600_000;
const LOOK_EVERY_MS = 10;

const { databaseUrl } = JSON.parse(process.argv[2] ?? '') as SearchSettings;
const pool = createPool({
  url: databaseUrl,
  role: 'turnwright_app',
  max: CONNECTIONS,
  applicationName: 'turnwright bench',
  onError: (error) => tell({ type: 'failed', message: error.message }),
});
const store = new PostgresStore(pool);
const reader = new TranscriptReader(store, systemClock);

process.on('message', (ask: SearchAsk) => void answer(ask));
process.once('disconnect', () => process.exit());
tell({ type: 'ready' });

async function answer(ask: SearchAsk): Promise<void> {
  try {
    tell({ type: 'searched', searched: await measured(ask) });
  } catch (error) {
    tell({ type: 'failed', message: String(error) });
  }
}

async function measured(ask: SearchAsk): Promise<Searched> {
  let mostBytes = 0;
  const look = (): void => {
    mostBytes = Math.max(mostBytes, process.memoryUsage.rss());
  };
  const looking = setInterval(look, LOOK_EVERY_MS);
  const startedMs = performance.now();
  const found = await (ask.type === 'search' ? search(ask) : read(ask));
  const ms = performance.now() - startedMs;
  clearInterval(looking);
  look();
  return { ...found, ms, mostBytes };
}

type Found = Pick<Searched, 'total' | 'hits' | 'complete'>;

async function search({ ref, head, nextItem, pattern }: SearchAsk): Promise<Found> {
  const { signal } = new AbortController();
  const limits = { deadlineMs: DEADLINE_MS, signal };
  const answered = await reader.grep({ ref, head, nextItem }, { pattern, items: null }, limits);
  if (answered.kind !== 'found') throw new Error(answered.message);
  const { hits, total, complete, skipped } = answered;
  if (skipped.turns > 0) throw new Error(`${skipped.turns} turns could not be read`);
  return { total, hits: hits.length, complete };
}

async function read({ ref, head }: SearchAsk): Promise<Found> {
  let total = 0;
  for (const { session, turn, toSeq } of await store.transcriptTurns(ref, head, null))
    total += (await store.turnRows({ ...ref, session }, turn, toSeq)).length;
  return { total, hits: 0, complete: true };
}

function tell(message: FromSearch): void {
  process.send?.(message);
}
