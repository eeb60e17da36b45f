/** The turn's live channel: short-lived frames for whoever watches. Nothing durable depends on it. */
import type { Json } from '../ledger/json.ts';

/** `id` orders frames after the last durable event: `<seq>.<attempt>.<n>`. */
export interface DeltaFrame {
  readonly id: string;
  readonly type: 'step.started' | 'step.delta' | 'step.discarded' | 'tool.started';
  readonly data: Json;
}

export interface Bus {
  /** Appends frames to the turn's bounded buffer and wakes its watchers. Best effort: loss is allowed. */
  publish(turn: string, frames: readonly DeltaFrame[]): Promise<void>;
  /** Replays what is buffered, then live frames, each once and in order, until the returned function is called. */
  watch(turn: string, onFrame: (frame: DeltaFrame) => void): Promise<() => Promise<void>>;
  /** Drops the turn's buffer: its content is durable by now. */
  drop(turn: string): Promise<void>;
  close(): Promise<void>;
}

/** What the Postgres bus needs of the database: an unlogged table and LISTEN/NOTIFY, given by `src/db`. */
export interface DeltaStore {
  append(turn: string, frames: readonly DeltaFrame[]): Promise<void>;
  /** Frames after `cursor` (0 for all), each with its own cursor, in order. */
  since(
    turn: string,
    cursor: number,
  ): Promise<readonly { readonly cursor: number; readonly frame: DeltaFrame }[]>;
  drop(turn: string): Promise<void>;
}

export interface Notices {
  /** Calls `handler` with the payload of every notice on the channel; also once with '' after a reconnect. */
  listen(channel: string, handler: (payload: string) => void): Promise<() => Promise<void>>;
  notify(channel: string, payload: string): Promise<void>;
}
