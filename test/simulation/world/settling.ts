/** From the last fault to rest: whether everything that was begun comes to its end. */
import type { MemoryDatabase } from '../memory/database.ts';
import type { Producers } from './producer.ts';
import type { World } from './world.ts';

const SETTLED_WITHIN_MS = 400_000;
const LOOK_EVERY_MS = 1_000;
const CLOCK_RIGHT_AFTER_MS = 20_000;
/** More than the day for which a turn waits for a person. */
const MORE_THAN_A_DAY_MS = 25 * 3_600_000;

/** True when nothing is left to be done. */
export async function settle(world: World, producers: Producers): Promise<boolean> {
  const { scheduler, database } = world;
  const begunMs = scheduler.nowMs;
  let corrections = [correctClock(begunMs), letADayPass(producers)];
  while (scheduler.nowMs < begunMs + SETTLED_WITHIN_MS && !world.isEndless()) {
    await scheduler.run(scheduler.nowMs + LOOK_EVERY_MS, () => world.isEndless());
    if (producers.idle && isAtRest(database) && world.living().every((process) => process.idle)) return true;
    corrections = corrections.filter((correct) => !correct(world));
  }
  return false;
}

function isAtRest(database: MemoryDatabase): boolean {
  const { turns, calls, outbox, actors, events } = database.dump();
  return (
    turns.every(({ status }) => status === 'closed') &&
    calls.every(({ status }) => status !== 'queued' && status !== 'running') &&
    outbox.length === 0 &&
    events.every(({ revision }) => revision !== null) &&
    actors.every(({ status, compacted }) => status !== 'active' && compacted)
  );
}

/** What the world does about its clock; true when there is nothing more to do. */
type Correction = (world: World) => boolean;

/**
 * A dead worker whose last heartbeat is an hour ahead looks alive for that hour. It is not lived through: after a
 * while the clock is set right, as clocks are.
 */
function correctClock(begunMs: number): Correction {
  return ({ scheduler, databaseClock, stepDatabaseClock }) => {
    if (scheduler.nowMs < begunMs + CLOCK_RIGHT_AFTER_MS) return false;
    const behindMs = databaseClock.behindMs();
    if (behindMs > 0) stepDatabaseClock(behindMs);
    return true;
  };
}

/** Nothing is left but turns that wait for a person who never comes, and those behind them, of the same kind or not. */
function letADayPass(producers: Producers): Correction {
  return ({ database, databaseClock, stepDatabaseClock }) => {
    const { actors, outbox, timers } = database.dump();
    const open = actors.filter(({ status }) => status === 'active');
    const isDue = timers.some(({ dueMs }) => dueMs <= databaseClock.nowMs());
    if (isDue || outbox.length > 0) return false;
    const abandoned = open.every(({ actor, snapshot }) => {
      const { value } = JSON.parse(snapshot) as { readonly value: unknown };
      return value === 'accepted' || (value === 'waiting' && !producers.decideFor(actor));
    });
    if (open.length > 0 && producers.idle && abandoned) stepDatabaseClock(MORE_THAN_A_DAY_MS);
    return false;
  };
}
