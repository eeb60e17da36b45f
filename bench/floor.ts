/** The floor: what one turn would cost if it were nothing but its commits, its claims and its queue trips. */
import { EventEmitter, once } from 'node:events';
import pg from 'pg';
import type { Services } from '../src/app/services.ts';
import type { JobRef } from '../src/queues/contract.ts';

const FLOOR_COMMITS = 6;
const FLOOR_CLAIMS = 5;
const FLOOR_TRIPS = 5;

export interface Floor {
  /** Milliseconds of one single-row durable insert on one connection. */
  commit(): Promise<number>;
  /** Milliseconds of the same insert with `synchronous_commit` off. */
  claim(): Promise<number>;
  /** Milliseconds from adding a job to its handler. */
  trip(): Promise<number>;
  close(): Promise<void>;
}

export function floorOf(parts: {
  readonly commit: number;
  readonly claim: number;
  readonly trip: number;
}): number {
  return FLOOR_COMMITS * parts.commit + FLOOR_CLAIMS * parts.claim + FLOOR_TRIPS * parts.trip;
}

/** The trip runs through a pool of its own on the same queue backend. */
export async function openFloor(services: Services): Promise<Floor> {
  const durable = await connect(services.databaseUrl, 'on');
  const relaxed = await connect(services.databaseUrl, 'off');
  await durable.query('CREATE TABLE IF NOT EXISTS public.bench_floor (id bigserial primary key, body text)');
  const arrivals = new EventEmitter();
  const worker = await services.queue.work('upkeep', {
    concurrency: 1,
    handle: (ref) => {
      if (ref.child === 'trip') arrivals.emit(String(ref.dispatch));
      return Promise.resolve();
    },
    onError: (error) => {
      throw error;
    },
  });
  let n = 0;
  const insert = {
    name: 'floor',
    text: 'INSERT INTO public.bench_floor (body) VALUES ($1)',
    values: ['x'.repeat(200)],
  };
  return {
    commit: () => timed(() => durable.query(insert)),
    claim: () => timed(() => relaxed.query(insert)),
    trip: () =>
      timed(async () => {
        n += 1;
        const ref: JobRef = {
          tenant: NOBODY,
          session: NOBODY,
          actor: services.newId(),
          child: 'trip',
          dispatch: n,
        };
        const arrived = once(arrivals, String(n));
        await services.queue.admit('upkeep', [{ ref, priority: 0 }]);
        await arrived;
      }),
    close: async () => {
      await worker.close(1_000);
      await durable.end();
      await relaxed.end();
    },
  };
}

const NOBODY = '00000000-0000-0000-0000-000000000000';

async function connect(url: string, synchronousCommit: 'on' | 'off'): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    options: `-c synchronous_commit=${synchronousCommit}`,
  });
  await client.connect();
  return client;
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}
