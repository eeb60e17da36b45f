/**
 * The memory database: one state that outlives every process that speaks to it. Each call is one transaction, whole
 * and undisturbed by others; its clock is the one that was handed in, as Postgres trusts only its own.
 */
import type { SessionRef, Store, UpkeepStore } from '../../../src/db/contract.ts';
import type { ProfileStore } from '../../../src/db/profiles.ts';
import type { TurnVectorStore } from '../../../src/db/turn-vectors.ts';
import { byRevision } from './events.ts';
import { MemoryProfiles } from './profiles.ts';
import { createTables } from './rows.ts';
import { MemoryStore } from './store.ts';
import { MemoryTurnVectors } from './turn-vectors.ts';
import { MemoryUpkeep } from './upkeep.ts';

export interface MemoryDatabaseOptions {
  readonly nowMs: () => number;
  /** What NOTIFY would send: `turnwright_cancel` with `<actor>~<child>`, `turnwright_session` with a watched session. */
  readonly onNotify?: (channel: string, payload: string) => void;
}

export type MemoryDatabase = ReturnType<typeof createMemoryDatabase>;
export type MemoryDump = ReturnType<MemoryDatabase['dump']>;
/** Work that one process of a deployment does at a time. */
export type Lock = 'sweep' | `admit ${string}`;

export function createMemoryDatabase({ nowMs, onNotify }: MemoryDatabaseOptions) {
  const tables = createTables();
  const held = new Set<Lock>();
  const profileRows: ConstructorParameters<typeof MemoryProfiles>[0] = new Map();
  return {
    store: (): Store =>
      new MemoryStore({ tables, nowMs, notify: ({ channel, payload }) => onNotify?.(channel, payload) }),
    upkeep: (): UpkeepStore => new MemoryUpkeep({ tables, nowMs, held }),
    profiles: (): ProfileStore => new MemoryProfiles(profileRows, nowMs),
    turnVectors: (): TurnVectorStore => new MemoryTurnVectors(tables),
    /** As a process that is in the middle of this work; returns its end. */
    hold: (lock: Lock): (() => void) => {
      held.add(lock);
      return () => held.delete(lock);
    },
    /** It comes back with what is on its disk; `share` of the rest, the newest of it, is lost. */
    crash: (share: number): void => tables.journal.lose(share),
    watch: (ref: SessionRef, forMs: number): void => {
      const session = tables.sessions.get(ref);
      if (session === undefined) return;
      tables.journal.transaction(() => tables.sessions.put({ ...session, watchedUntilMs: nowMs() + forMs }));
    },
    /** Every row, as plain data that later work leaves as it is. */
    dump: () => ({
      sessions: tables.sessions.all().map((session) => ({ ...session, records: tables.records.of(session) })),
      heads: tables.heads.all(),
      turns: tables.turns.all(),
      keys: tables.keys.all(),
      packets: tables.packets.all(),
      evidence: tables.evidence.all(),
      edges: tables.edges.all(),
      presentations: tables.presentations.all(),
      prefixes: tables.prefixes.all(),
      vectors: tables.vectors.all(),
      usage: tables.usage.all(),
      actors: tables.actors.all(),
      /** In order of revision; those that wait come last. */
      events: [...tables.events.all()].sort(byRevision),
      calls: tables.calls.all(),
      timers: tables.timers.all(),
      outbox: tables.outbox.all(),
      workers: [...tables.workers.values()],
      profiles: [...profileRows.values()],
    }),
  };
}
