/**
 * What goes wrong in one world, all of it drawn from the seed. Each world has some kinds of faults and lacks the
 * others: what only shows when one kind is absent shows too. After `untilMs` nothing new goes wrong.
 */
import { TurnwrightError } from '../../../src/ledger/errors.ts';
import type { Dice } from './dice.ts';
import type { Server } from './wire.ts';

export const INCIDENTS = [
  'crash',
  'drain',
  'pause',
  'database-away',
  'database-crash',
  'queue-away',
  'queue-lost',
  'job-vanishes',
  'job-delivered-again',
  'job-added-again',
  'wall-clock-steps',
  'database-clock-steps',
] as const;
export type IncidentKind = (typeof INCIDENTS)[number];

export interface Incident {
  readonly kind: IncidentKind;
  readonly atMs: number;
  readonly forMs: number;
  /** Which process, job or direction: a number in [0, 1) to choose by. */
  readonly choice: number;
}

/** Chances of one operation. */
const RATES = {
  /** The server refuses, and nothing happened. */
  refused: 0.02,
  /** It happened, and the answer is lost: an error is all that comes. */
  forgotten: 0.02,
  slow: 0.03,
  /** The process dies before its request leaves, or before the answer arrives. */
  crashBefore: 0.004,
  crashAfter: 0.006,
  /** Another process holds the lock of the sweep, or of a pool. */
  lockHeld: 0.2,
  noticeLost: 0.3,
  lateDelivery: 0.1,
  twiceDelivered: 0.1,
  reordered: 0.3,
  networkBroken: 0.2,
} as const;
export type Rates = { readonly [rate in keyof typeof RATES]: number };

/** How often an incident of a kind happens in a world that has it, at most. */
const OFTEN: Readonly<Record<IncidentKind, number>> = {
  crash: 5,
  drain: 2,
  pause: 3,
  'database-away': 2,
  'database-crash': 3,
  'queue-away': 2,
  'queue-lost': 3,
  'job-vanishes': 5,
  'job-delivered-again': 4,
  'job-added-again': 4,
  'wall-clock-steps': 2,
  'database-clock-steps': 1,
};
/** An outage of minutes is the same as one of seconds, only dearer to simulate; a pause must outlast the lease. */
const LONGEST_OUTAGE_MS = 9_000;
const LONGEST_PAUSE_MS = 20_000;
const HOUR_MS = 3_600_000;

const QUIET_WORLDS = 0.05;
const SHARE_OF_KINDS = 0.4;
/** A stepped database clock decides leases and timers of the whole world, so most worlds keep theirs. */
const SHARE_WITH_DATABASE_STEPS = 0.08;

export class Faults {
  readonly quiet: boolean;
  readonly untilMs: number;
  readonly incidents: readonly Incident[];
  readonly #rates: Rates;
  readonly #dice: Dice;
  #happening = false;

  constructor(dice: Dice, untilMs: number) {
    this.#dice = dice;
    this.untilMs = untilMs;
    this.quiet = dice.chance(QUIET_WORLDS);
    this.#rates = Object.fromEntries(
      Object.entries(RATES).map(([rate, most]) => {
        const present = dice.chance(SHARE_OF_KINDS);
        const share = dice.next();
        return [rate, present && !this.quiet ? most * share : 0];
      }),
    ) as unknown as Rates;
    this.incidents = this.quiet ? [] : INCIDENTS.flatMap((kind) => incidents(kind, dice, untilMs));
  }

  begin(): void {
    this.#happening = true;
  }

  end(): void {
    this.#happening = false;
  }

  happens(rate: keyof Rates): boolean {
    return this.#happening && this.#dice.chance(this.#rates[rate]);
  }
}

function incidents(kind: IncidentKind, dice: Dice, untilMs: number): readonly Incident[] {
  const share = kind === 'database-clock-steps' ? SHARE_WITH_DATABASE_STEPS : SHARE_OF_KINDS;
  if (!dice.chance(share)) return [];
  return Array.from({ length: dice.whole(1, OFTEN[kind]) }, () => ({
    kind,
    atMs: dice.between(0, untilMs),
    forMs: dice.between(0, kind === 'pause' ? LONGEST_PAUSE_MS : LONGEST_OUTAGE_MS),
    choice: dice.next(),
  }));
}

/** An hour back or forth, or a few seconds. */
export function stepMs({ choice }: Incident): number {
  const size = choice < 0.5 ? HOUR_MS : 5_000;
  return (choice * 1_000) % 1 < 0.5 ? size : -size;
}

/** What a process is told that never had an answer, as `src/db` and `src/queues` say it. */
export function noAnswer(server: Server): Error {
  return server === 'queue'
    ? new TurnwrightError('queue_unreachable', 'The queue does not answer.')
    : new TurnwrightError('database_unreachable', 'Postgres does not answer.');
}

/** And when its request surely came to nothing: a deadlock, a full disk, a statement that took too long. */
export function refusal(server: Server, dice: Dice): Error {
  if (server === 'queue' || dice.chance(0.5)) return noAnswer(server);
  return sqlError(dice.pick(['40P01', '53100', '57014']));
}

function sqlError(code: string): Error {
  return Object.assign(new Error(`SQLSTATE ${code}`), { code });
}
