/** The two ports of the Postgres bus in memory: asynchronous at every call, as a database is. */
import type { DeltaFrame, DeltaStore, Notices } from '../../../src/queues/bus.ts';

export interface MemoryMedium {
  readonly store: DeltaStore;
  readonly notices: Notices;
  stored(turn: string): number;
  /** Ends and renews every listener's connection; notices sent meanwhile are lost, as in Postgres. */
  loseNotices(meanwhile: () => Promise<void>): Promise<void>;
  /** How often frames were read. */
  reads(): number;
  listeners(): number;
}

export function memoryMedium(): MemoryMedium {
  const rows = new Map<string, { cursor: number; frame: DeltaFrame }[]>();
  const handlers = new Set<{ channel: string; handle: (payload: string) => void }>();
  let [cursor, appends, reads, deaf] = [0, 0, 0, false];

  const store: DeltaStore = {
    async append(turn, frames) {
      // Over a pool of connections a later statement may well overtake an earlier one.
      appends += 1;
      for (let ticks = (appends * 3) % 5; ticks >= 0; ticks -= 1) await tick();
      const kept = rows.get(turn) ?? [];
      rows.set(turn, kept);
      for (const frame of frames) {
        cursor += 1;
        kept.push({ cursor, frame });
      }
    },
    async since(turn, after) {
      reads += 1;
      await tick();
      return (rows.get(turn) ?? []).filter((row) => row.cursor > after);
    },
    async drop(turn) {
      await tick();
      rows.delete(turn);
    },
  };
  const notices: Notices = {
    async listen(channel, handle) {
      await tick();
      const entry = { channel, handle };
      handlers.add(entry);
      return async () => {
        handlers.delete(entry);
      };
    },
    async notify(channel, payload) {
      await tick();
      if (Buffer.byteLength(payload) >= 8_000) throw new Error('payload string too long');
      if (deaf) return;
      for (const each of [...handlers]) if (each.channel === channel) each.handle(payload);
    },
  };
  return {
    store,
    notices,
    stored: (turn) => rows.get(turn)?.length ?? 0,
    reads: () => reads,
    listeners: () => handlers.size,
    loseNotices: async (meanwhile) => {
      deaf = true;
      await meanwhile();
      deaf = false;
      for (const each of [...handlers]) each.handle('');
    },
  };
}

function tick(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
