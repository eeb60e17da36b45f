/** Makes an actor's row, its calls and its timers of its events: what a lost row said can be said again. Pure. */
import type { ActorRow, StoredEvent } from '../db/contract.ts';
import type { MachineRegistry } from '../machines/registry.ts';
import { INIT_EVENT } from './actor.ts';
import { type Awaited, awaitedBy, type PastEvent } from './awaited.ts';
import { unfold } from './replay.ts';

export interface ProjectedActor {
  readonly row: Omit<ActorRow, 'parkedReason'>;
  /** Of a running actor: what it waits for. */
  readonly awaited: Pick<Awaited, 'calls' | 'timers'> | null;
}

interface Beginning {
  readonly machine: string;
  readonly version: number;
  readonly turn: string | null;
}

/** null where this version does not know the machine, or the events were altered. */
export function projectActor(
  registry: MachineRegistry,
  actor: string,
  events: readonly StoredEvent[],
): ProjectedActor | null {
  const applied = events.filter(({ revision }) => revision !== null);
  const compacted = applied.some(({ id }) => id === 'all');
  const past = pastEvents(applied);
  const begun = past.find(({ id }) => id === INIT_EVENT);
  if (begun === undefined) return null;
  const { machine, version, turn } = JSON.parse(begun.event) as Beginning;
  const awaited = replayed(() => awaitedBy(registry, { machine, version }, past));
  if (awaited === null) return null;
  const { status } = JSON.parse(awaited.snapshot) as { readonly status: string };
  const revision = Math.max(...applied.map((event) => event.revision ?? 0));
  const ended = status !== 'active';
  return {
    row: {
      actor,
      turn,
      machine,
      version,
      revision,
      snapshot: awaited.snapshot,
      status: ended ? 'done' : 'active',
      compacted,
    },
    awaited: ended ? null : { calls: awaited.calls, timers: awaited.timers },
  };
}

/** Those that changed the actor, in order. Folded ones lost when they came: an ended actor waits for nothing. */
function pastEvents(applied: readonly StoredEvent[]): readonly PastEvent[] {
  const rows = new Map(applied.map((row) => [row.id, row]));
  return unfold(applied).flatMap(({ id, event, digest }, index): PastEvent[] => {
    const row = rows.get(id);
    const revision = row?.revision ?? index + 1;
    return digest === null ? [] : [{ id, event, revision, receivedMs: row?.receivedInMs ?? 0 }];
  });
}

function replayed(work: () => Awaited | null): Awaited | null {
  try {
    return work();
  } catch {
    // Altered events may lead nowhere; the caller names the actor.
    return null;
  }
}
