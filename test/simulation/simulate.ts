/** One seed, from its world's beginning to its judgement. */
import { judge } from './laws/judge.ts';
import type { Bug } from './world/bugs.ts';
import { World } from './world/world.ts';

export interface Simulated {
  readonly seed: number;
  /** Names everything that happened, in order. */
  readonly digest: string;
  /** Laws that do not hold, each with its reason. */
  readonly broken: readonly string[];
  /** What happened, a line an operation: all of it where the trace was kept, else the end. */
  readonly lines: readonly string[];
  readonly counts: ReadonlyMap<string, number>;
  readonly outcomes: readonly string[];
}

export interface SimulateOptions {
  readonly bug?: Bug;
  readonly keepTrace?: boolean;
}

export async function simulate(seed: number, options: SimulateOptions = {}): Promise<Simulated> {
  const unhandled: string[] = [];
  const onUnhandled = (error: unknown) => {
    unhandled.push(`no promise is left alone: ${String(error instanceof Error ? error.stack : error)}`);
  };
  process.on('unhandledRejection', onUnhandled);
  try {
    const world = new World({ seed, ...options });
    const settled = await world.run();
    await new Promise(setImmediate);
    return {
      seed,
      digest: world.trace.digest(),
      broken: [...unhandled, ...judge(world, settled)],
      lines: world.trace.lines(),
      counts: world.witness.counts,
      outcomes: world.database.dump().turns.map(({ outcome, status }) => outcome ?? status),
    };
  } finally {
    process.off('unhandledRejection', onUnhandled);
  }
}
