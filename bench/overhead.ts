/** Engine overhead of the standard turn at one session, against its floor, measured in alternation. */
import { type FloorParts, floorMs, openFloor } from './floor.ts';
import type { Backend, Servers } from './servers.ts';
import { openBenchStack } from './stack.ts';
import { median, type Spread, spread } from './statistics.ts';

const WARM_UP_TURNS = 30;
const ROUNDS = 9;
const QUICK_ROUNDS = 3;
const TURNS_PER_ROUND = 20;
const FLOOR_SAMPLES = 40;
const WINDOW_TOKENS = 128_000;

export interface OverheadResult {
  readonly backend: Backend;
  /** Its process starts a turn’s next call itself; else every call goes through the queue. */
  readonly startHere: boolean;
  /** Milliseconds. */
  readonly parts: FloorParts;
  readonly floorMs: number;
  readonly turnMs: number;
  readonly ratio: Spread;
  /** Milliseconds of every turn. */
  readonly samples: readonly number[];
}

interface Round {
  readonly parts: FloorParts;
  readonly turns: readonly number[];
}

export async function overhead(
  servers: Servers,
  backend: Backend,
  { quick, startHere }: { readonly quick: boolean; readonly startHere: boolean },
): Promise<OverheadResult> {
  const stack = await openBenchStack(servers, backend, WINDOW_TOKENS, { startHere });
  const floor = await openFloor(stack.services, 1);
  const rounds: Round[] = [];
  try {
    const warm = await stack.session();
    for (let n = 0; n < WARM_UP_TURNS; n++) await stack.turn(warm);
    for (let round = 0; round < (quick ? QUICK_ROUNDS : ROUNDS); round++) {
      const session = await stack.session();
      const samples: FloorParts[] = [];
      for (let n = 0; n < FLOOR_SAMPLES; n++)
        samples.push({
          commit: await floor.commit(),
          claim: await floor.claim(),
          trip: await floor.trip(),
        });
      const turns: number[] = [];
      for (let n = 0; n < TURNS_PER_ROUND; n++) turns.push(await stack.turn(session));
      rounds.push({ parts: medianParts(samples), turns });
    }
  } finally {
    await floor.close();
    await stack.close();
  }
  const parts = medianParts(rounds.map((round) => round.parts));
  return {
    backend,
    startHere,
    parts,
    floorMs: median(rounds.map((round) => floorMs(round.parts))),
    turnMs: median(rounds.map((round) => median(round.turns))),
    ratio: spread(rounds.map((round) => median(round.turns) / floorMs(round.parts))),
    samples: rounds.flatMap((round) => round.turns),
  };
}

function medianParts(samples: readonly FloorParts[]): FloorParts {
  return {
    commit: median(samples.map(({ commit }) => commit)),
    claim: median(samples.map(({ claim }) => claim)),
    trip: median(samples.map(({ trip }) => trip)),
  };
}
