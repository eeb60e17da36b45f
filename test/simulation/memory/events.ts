/** Events of actors: pending without a revision, applied with one. */
import type { ActorRef, PendingEvent } from '../../../src/db/contract.ts';
import type { EventRow, Tables } from './rows.ts';

type Received = Omit<EventRow, 'receivedMs' | 'arrival'>;

/** False when the actor has an event of this id already, which then stays as it is. */
export function receive(tables: Tables, received: Received, nowMs: number): boolean {
  if (tables.events.get(received) !== undefined) return false;
  const { tenant, session, actor, id, event, revision, digest } = received;
  const came = { receivedMs: nowMs, arrival: tables.nextSerial() };
  tables.events.insert({ tenant, session, actor, id, event, revision, digest, ...came });
  return true;
}

/** In the order they came. */
export function pendingEvents(tables: Tables, ref: ActorRef): readonly PendingEvent[] {
  return eventsOf(tables, ref)
    .filter(({ revision }) => revision === null)
    .sort(byArrival)
    .map(({ id, event }) => ({ id, event }));
}

/** In the order they were applied. */
export function appliedEvents(tables: Tables, ref: ActorRef): readonly EventRow[] {
  return eventsOf(tables, ref)
    .filter(({ revision }) => revision !== null)
    .sort(byRevision);
}

/** An event that changed nothing comes after the one whose revision it found; one that still waits, last. */
export function byRevision(a: EventRow, b: EventRow): number {
  const place = ({ revision }: EventRow) => revision ?? Number.MAX_SAFE_INTEGER;
  return place(a) - place(b) || Number(a.digest === null) - Number(b.digest === null) || byArrival(a, b);
}

function byArrival(a: EventRow, b: EventRow): number {
  return a.receivedMs - b.receivedMs || a.arrival - b.arrival;
}

export function eventsOf(tables: Tables, ref: ActorRef): EventRow[] {
  return tables.events.of(ref).filter(({ actor }) => actor === ref.actor);
}
