/** The floor: what turns would cost if they were nothing but their commits, their claims and their queue trips. */
import { EventEmitter, once } from 'node:events';
import pg from 'pg';
import type { Services } from '../src/app/services.ts';
import type { JobRef } from '../src/queues/contract.ts';
import { closedLoop, perSecond } from './closed-loop.ts';
import { FLOOR_POOL } from './standard-turn.ts';
import { timed } from './statistics.ts';

const FLOOR_COMMITS = 6;
const FLOOR_CLAIMS = 5;
const FLOOR_TRIPS = 5;
/** As long as a record's envelope, roughly. */
const ROW_BYTES = 200;
const NOBODY = '00000000-0000-0000-0000-000000000000';

/** One figure each for a durable single-row insert, the same with `synchronous_commit` off, and add → handler. */
export interface FloorParts {
  readonly commit: number;
  readonly claim: number;
  readonly trip: number;
}

export interface Floor {
  /** Milliseconds of one. */
  commit(): Promise<number>;
  claim(): Promise<number>;
  trip(): Promise<number>;
  /** How many a second of each, with as many in flight as the floor was opened for. */
  rates(samples: number): Promise<FloorParts>;
  close(): Promise<void>;
}

/** Milliseconds of a turn that is nothing else. */
export function floorMs({ commit, claim, trip }: FloorParts): number {
  return FLOOR_COMMITS * commit + FLOOR_CLAIMS * claim + FLOOR_TRIPS * trip;
}

/** Turns a second on a machine that did nothing else, each part at its own full rate. */
export function floorPerSecond({ commit, claim, trip }: FloorParts): number {
  return 1 / (FLOOR_COMMITS / commit + FLOOR_CLAIMS / claim + FLOOR_TRIPS / trip);
}

/** The trip runs through a pool of its own on the same queue backend. */
export async function openFloor(services: Services, inFlight: number): Promise<Floor> {
  const durable = openPool(services.databaseUrl, inFlight, 'on');
  const relaxed = openPool(services.databaseUrl, inFlight, 'off');
  await durable.query('CREATE TABLE IF NOT EXISTS public.bench_floor (id bigserial primary key, body text)');
  const trips = await openTrips(services, inFlight);
  const insert = {
    name: 'floor',
    text: 'INSERT INTO public.bench_floor (body) VALUES ($1)',
    values: ['x'.repeat(ROW_BYTES)],
  };
  const work = {
    commit: () => timed(() => durable.query(insert)),
    claim: () => timed(() => relaxed.query(insert)),
    trip: () => timed(trips.go),
  };
  const slots = Array.from({ length: inFlight }, (_, slot) => slot);
  const rate = async (samples: number, one: () => Promise<number>) =>
    perSecond(await closedLoop(slots, samples, one));
  return {
    ...work,
    rates: async (samples) => ({
      commit: await rate(samples, work.commit),
      claim: await rate(samples, work.claim),
      trip: await rate(samples, work.trip),
    }),
    close: async () => {
      await trips.close();
      await Promise.all([durable.end(), relaxed.end()]);
    },
  };
}

async function openTrips(services: Services, concurrency: number) {
  const arrivals = new EventEmitter().setMaxListeners(0);
  const worker = await services.queue.work(FLOOR_POOL, {
    concurrency,
    handle: (ref) => {
      arrivals.emit(ref.actor);
      return Promise.resolve();
    },
    onError: (error) => {
      throw error;
    },
  });
  return {
    go: async () => {
      const actor = services.newId();
      const ref: JobRef = { tenant: NOBODY, session: NOBODY, actor, child: 'trip', dispatch: 1 };
      const arrived = once(arrivals, actor);
      await services.queue.admit(FLOOR_POOL, [{ ref, priority: 0 }]);
      await arrived;
    },
    close: () => worker.close(1_000),
  };
}

function openPool(connectionString: string, max: number, synchronousCommit: 'on' | 'off'): pg.Pool {
  return new pg.Pool({ connectionString, max, options: `-c synchronous_commit=${synchronousCommit}` });
}
