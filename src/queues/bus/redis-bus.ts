/**
 * The live channel on Redis: a capped stream a turn, and a wake-up on pub/sub.
 *
 * Two connections a process whatever the number of turns: one for commands, one that only listens.
 */
import type { Redis } from 'ioredis';
import type { Bus, DeltaFrame } from '../bus.ts';
import { openConsumer, openPublisher, ready, redisPrefix } from '../redis-connections.ts';
import { createReporter } from '../reporter.ts';
import { LiveBus, type Medium, type Signals } from './live-bus.ts';
import type { StoredFrame } from './turn-channel.ts';

/** About one long step; a slower reader than that has lost its place anyway and reads the ledger. */
const STREAM_LENGTH = 500;
/** A stream whose step died is not dropped by anyone: it goes by itself. */
const STREAM_LIFE_S = 600;
/** The one field of a stream entry. */
const FIELD = 'frame';
const DROPPED = 'dropped';
const WOKEN = 'woken';

export interface RedisBusOptions {
  readonly url: string;
  readonly prefix: string;
  readonly onError: (error: Error) => void;
}

export function createRedisBus(options: RedisBusOptions): Bus {
  const { report, mute } = createReporter(options.onError, () => performance.now());
  const prefix = redisPrefix(options.prefix);
  const commands = openPublisher(options.url, `${prefix}:bus`, report);
  const listener = openConsumer(options.url, `${prefix}:bus-signals`, report);
  const medium = redisMedium(commands, listener, prefix);
  const close = async () => {
    mute();
    await medium.close();
  };
  return new LiveBus({ ...medium, close }, report);
}

function redisMedium(commands: Redis, listener: Redis, prefix: string): Medium<string> {
  const stream = (turn: string) => `${prefix}:delta:${turn}`;
  const signal = (turn: string) => `${prefix}:live:${turn}`;
  const watching = `${prefix}:watching`;
  return {
    async start(signals) {
      const turnOf = (channel: string) => channel.slice(signal('').length);
      listener.on('message', (channel, text) => {
        if (channel === watching) announcedTurns(text, signals);
        else if (text === DROPPED) signals.dropped(turnOf(channel));
        else signals.woken(turnOf(channel));
      });
      await listener.subscribe(watching);
      listener.on('ready', () => signals.woken(undefined));
    },
    async follow(turn) {
      await listener.subscribe(signal(turn));
    },
    async unfollow(turn) {
      if (listener.status === 'ready') await listener.unsubscribe(signal(turn));
    },
    async append(turn, frames) {
      await ready(commands);
      const batch = commands.pipeline();
      for (const frame of frames) {
        batch.xadd(stream(turn), 'MAXLEN', '~', STREAM_LENGTH, '*', FIELD, JSON.stringify(frame));
      }
      batch.expire(stream(turn), STREAM_LIFE_S).publish(signal(turn), WOKEN);
      throwFirst(await batch.exec());
    },
    async since(turn, after) {
      await ready(commands);
      const entries = await commands.xrange(stream(turn), after === undefined ? '-' : `(${after}`, '+');
      return entries.map(([cursor, fields]) => stored(cursor, fields));
    },
    async announce(turns) {
      if (turns.length === 0) return;
      await ready(commands);
      await commands.publish(watching, JSON.stringify(turns));
    },
    async drop(turn) {
      await ready(commands);
      throwFirst(await commands.pipeline().del(stream(turn)).publish(signal(turn), DROPPED).exec());
    },
    async close() {
      commands.disconnect();
      listener.disconnect();
    },
  };
}

function announcedTurns(text: string, signals: Signals): void {
  const turns: unknown = JSON.parse(text);
  if (!Array.isArray(turns)) return;
  for (const turn of turns) if (typeof turn === 'string') signals.announced(turn);
}

/** Only this bus writes under its prefix, so the frame is trusted to be what was put in. */
function stored(cursor: string, fields: readonly string[]): StoredFrame<string> {
  return { cursor, frame: JSON.parse(fields[1] ?? 'null') as DeltaFrame };
}

function throwFirst(results: readonly [error: Error | null, result: unknown][] | null): void {
  for (const [error] of results ?? []) if (error !== null) throw error;
}
