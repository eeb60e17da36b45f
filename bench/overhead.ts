/** Engine overhead of the standard turn, against its floor, both measured in alternation in one run. */
import { floorOf, openFloor } from './floor.ts';
import { type Backend, openBenchStack } from './stack.ts';
import { median, range } from './statistics.ts';

const WARM_UP_TURNS = 30;
const ROUNDS = 9;
const TURNS_PER_ROUND = 20;
const FLOOR_SAMPLES = 40;
const LARGE_WINDOW = 128_000;
const SMALL_WINDOW = 8_192;
const LAST_TURN = 300;
const EARLY = { from: 3, to: 12 };
const LATE = { from: LAST_TURN - 9, to: LAST_TURN };

export interface OverheadResult {
  readonly backend: Backend;
  readonly floorMs: number;
  readonly parts: { readonly commit: number; readonly claim: number; readonly trip: number };
  readonly turnMs: number;
  readonly ratio: number;
  readonly ratioRange: readonly [number, number];
  /** Median of turns 291 to 300 over the median of turns 3 to 12, one session on an 8k leg. */
  readonly growth: number;
  readonly samples: readonly number[];
}

export async function overhead(backend: Backend): Promise<OverheadResult> {
  const stack = await openBenchStack(backend, LARGE_WINDOW);
  const floor = await openFloor(stack.services);
  const rounds: { readonly parts: OverheadResult['parts']; readonly turnMs: number }[] = [];
  const samples: number[] = [];
  try {
    let session = await stack.session();
    for (let n = 0; n < WARM_UP_TURNS; n++) await stack.turn(session);
    for (let round = 0; round < ROUNDS; round++) {
      session = await stack.session();
      const commit: number[] = [];
      const claim: number[] = [];
      const trip: number[] = [];
      for (let n = 0; n < FLOOR_SAMPLES; n++) {
        commit.push(await floor.commit());
        claim.push(await floor.claim());
        trip.push(await floor.trip());
      }
      const turns: number[] = [];
      for (let n = 0; n < TURNS_PER_ROUND; n++) turns.push(await stack.turn(session));
      samples.push(...turns);
      rounds.push({
        parts: { commit: median(commit), claim: median(claim), trip: median(trip) },
        turnMs: median(turns),
      });
    }
  } finally {
    await floor.close();
    await stack.close();
  }
  const ratios = rounds.map((round) => round.turnMs / floorOf(round.parts));
  return {
    backend,
    floorMs: median(rounds.map((round) => floorOf(round.parts))),
    parts: {
      commit: median(rounds.map((round) => round.parts.commit)),
      claim: median(rounds.map((round) => round.parts.claim)),
      trip: median(rounds.map((round) => round.parts.trip)),
    },
    turnMs: median(rounds.map((round) => round.turnMs)),
    ratio: median(ratios),
    ratioRange: range(ratios),
    growth: await growth(backend),
    samples,
  };
}

async function growth(backend: Backend): Promise<number> {
  const stack = await openBenchStack(backend, SMALL_WINDOW);
  try {
    const warm = await stack.session();
    for (let n = 0; n < WARM_UP_TURNS; n++) await stack.turn(warm);
    const session = await stack.session();
    const times: number[] = [];
    for (let n = 1; n <= LAST_TURN; n++) times.push(await stack.turn(session));
    const at = ({ from, to }: typeof EARLY) => median(times.slice(from - 1, to));
    return at(LATE) / at(EARLY);
  } finally {
    await stack.close();
  }
}
