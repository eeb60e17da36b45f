import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { ActorRef } from '../../../src/db/contract.ts';
import { PostgresNotices } from '../../../src/db/notices.ts';
import {
  flightOf,
  type ModelKey,
  PostgresProbeFlights,
  PROBES_CHANNEL,
  type ProbeFlight,
} from '../../../src/db/probe-flights.ts';
import { until } from '../../support/await.ts';
import { type MigratedDatabase, migratedDatabase } from './migrated.ts';

const LEASE_MS = 120_000;
const SPACING_MS = 60_000;
const KEY: ModelKey = { provider: 'ollama', endpointDigest: 'ab', model: "m'odel" };

let database: MigratedDatabase;
let flights: PostgresProbeFlights;

beforeAll(async () => {
  database = await migratedDatabase();
  flights = new PostgresProbeFlights(database.app);
});
afterAll(() => database.close());
beforeEach(async () => void (await database.root.query('DELETE FROM turnwright.probe_flights')));

function probe(): ActorRef {
  return { tenant: randomUUID(), session: randomUUID(), actor: randomUUID() };
}

const hold = (actor: ActorRef, key = KEY, spacingMs = SPACING_MS) =>
  flights.hold({ key, actor, leaseMs: LEASE_MS, spacingMs });

/** Time that passes for every flight at once. */
async function elapse(ms: number): Promise<void> {
  await database.root.query(
    'UPDATE turnwright.probe_flights SET began_at = began_at - $1::interval, held_at = held_at - $1::interval',
    [`${ms} milliseconds`],
  );
}

describe('the probe of a model', () => {
  it('CAP-03 is one, however many processes try at once', async () => {
    const other = new PostgresProbeFlights(database.pool('turnwright_app'));
    const actors = Array.from({ length: 16 }, probe);
    const held = await Promise.all(
      actors.map((actor, n) =>
        (n % 2 === 0 ? flights : other).hold({ key: KEY, actor, leaseMs: LEASE_MS, spacingMs: SPACING_MS }),
      ),
    );
    expect(held.filter((won) => won)).toHaveLength(1);
    expect(await flights.held(LEASE_MS)).toEqual([{ key: KEY, actor: actors[held.indexOf(true)] }]);
  });

  it('CAP-03 goes on holding its model for as long as it asks', async () => {
    const actor = probe();
    expect(await hold(actor)).toBe(true);
    for (let call = 0; call < 4; call += 1) {
      await elapse(LEASE_MS - 1_000);
      expect(await hold(actor)).toBe(true);
      expect(await hold(probe())).toBe(false);
    }
  });

  it('CAP-03 leaves a minute between its beginning and the next one’s, to the millisecond of the database', async () => {
    const actor = probe();
    await hold(actor);
    await flights.release(KEY, actor);
    await elapse(SPACING_MS - 2_000);
    expect(await hold(probe())).toBe(false);
    await elapse(2_000);
    expect(await hold(probe())).toBe(true);
  });

  it('CAP-03 counts the minute from where it began, not from its last call', async () => {
    const actor = probe();
    await hold(actor);
    await elapse(SPACING_MS);
    await hold(actor);
    await flights.release(KEY, actor);
    expect(await hold(probe())).toBe(true);
  });

  it('CAP-03 asked for by hand needs no minute, but waits for nobody’s model either', async () => {
    const [first, second] = [probe(), probe()];
    await hold(first);
    expect(await hold(second, KEY, 0)).toBe(false);
    await flights.release(KEY, first);
    expect(await hold(second, KEY, 0)).toBe(true);
  });

  it('CAP-03 that died is taken for gone after its lease', async () => {
    await hold(probe());
    await elapse(LEASE_MS - 1_000);
    expect(await hold(probe())).toBe(false);
    await elapse(1_001);
    expect(await flights.held(LEASE_MS)).toEqual([]);
    expect(await hold(probe())).toBe(true);
  });

  it('CAP-03 is released by its holder alone', async () => {
    const actor = probe();
    await hold(actor);
    await flights.release(KEY, probe());
    expect(await flights.held(LEASE_MS)).toHaveLength(1);
    await flights.release(KEY, actor);
    expect(await flights.held(LEASE_MS)).toEqual([]);
  });

  it('CAP-03 is no matter of other models', async () => {
    const keys = [
      KEY,
      { ...KEY, provider: 'compatible' },
      { ...KEY, endpointDigest: 'cd' },
      { ...KEY, model: 'n' },
    ];
    for (const key of keys) expect(await hold(probe(), key)).toBe(true);
    expect(await flights.held(LEASE_MS)).toHaveLength(keys.length);
  });

  it('CAP-03 is told to every process, as it begins and as it ends', async () => {
    const heard: ProbeFlight[] = [];
    const notices = new PostgresNotices({ url: database.url, pool: database.app, onError: () => {} });
    try {
      await notices.listen(
        PROBES_CHANNEL,
        (payload) => void (payload === '' || heard.push(flightOf(payload))),
      );
      const actor = probe();
      await hold(actor);
      await hold(probe());
      await flights.release(KEY, actor);
      await until('both were heard', () => heard.length >= 2);
      expect(heard).toEqual([
        { key: KEY, actor },
        { key: KEY, actor: null },
      ]);
    } finally {
      await notices.close();
    }
  });
});
