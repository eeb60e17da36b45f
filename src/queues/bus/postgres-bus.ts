/** The live channel on Postgres: an unlogged table, and NOTIFY as the wake-up. */
import type { Bus, DeltaStore, Notices } from '../bus.ts';
import { createReporter } from '../reporter.ts';
import { LiveBus, type Medium } from './live-bus.ts';

/** One channel for all turns: a LISTEN a turn would cost a statement for every watcher that comes or goes. */
const SIGNAL_CHANNEL = 'turnwright_live';
const WATCHING_CHANNEL = 'turnwright_watching';
/** A notice holds less than 8,000 bytes; a turn's id in JSON takes 39. */
const TURNS_PER_NOTICE = 150;
const DROPPED = '-';
const WOKEN = '+';

export interface PostgresBusOptions {
  readonly onError?: (error: Error) => void;
}

/** The ports belong to the caller, who closes them after the bus. */
export function createPostgresBus(
  store: DeltaStore,
  notices: Notices,
  options: PostgresBusOptions = {},
): Bus {
  const { report } = createReporter(options.onError ?? (() => undefined), () => performance.now());
  return new LiveBus(postgresMedium(store, notices), report);
}

function postgresMedium(store: DeltaStore, notices: Notices): Medium<number> {
  const stops: (() => Promise<void>)[] = [];
  const followed = new Set<string>();
  return {
    async start(signals) {
      stops.push(
        await notices.listen(WATCHING_CHANNEL, (payload) => {
          for (const turn of payload.split(',')) if (turn !== '') signals.announced(turn);
        }),
      );
      stops.push(
        await notices.listen(SIGNAL_CHANNEL, (payload) => {
          if (payload === '') return signals.woken(undefined);
          const turn = payload.slice(1);
          if (payload.startsWith(DROPPED)) signals.dropped(turn);
          else if (followed.has(turn)) signals.woken(turn);
        }),
      );
    },
    async follow(turn) {
      followed.add(turn);
    },
    async unfollow(turn) {
      followed.delete(turn);
    },
    async append(turn, frames) {
      await store.append(turn, frames);
      await notices.notify(SIGNAL_CHANNEL, `${WOKEN}${turn}`);
    },
    since: (turn, after) => store.since(turn, after ?? 0),
    async announce(turns) {
      for (let from = 0; from < turns.length; from += TURNS_PER_NOTICE) {
        await notices.notify(WATCHING_CHANNEL, turns.slice(from, from + TURNS_PER_NOTICE).join(','));
      }
    },
    async drop(turn) {
      await store.drop(turn);
      await notices.notify(SIGNAL_CHANNEL, `${DROPPED}${turn}`);
    },
    async close() {
      await Promise.all(stops.splice(0).map((stop) => stop()));
    },
  };
}
