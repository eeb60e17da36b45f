/** A finished actor's events become one row that still replays; its settled calls go. */
import { appliedEvents, eventsOf, receive } from './events.ts';
import type { ActorRow, Tables } from './rows.ts';

export function isUnfolded({ status, compacted }: ActorRow): boolean {
  return status === 'done' && !compacted;
}

/** Folds so many of those that have no event still to be applied; returns how many there were. */
export function foldFinished(tables: Tables, limit: number, nowMs: number): number {
  const waits = (actor: ActorRow): boolean =>
    eventsOf(tables, actor).some(({ revision }) => revision === null);
  const chosen = tables.actors
    .all()
    .filter((actor) => isUnfolded(actor) && !waits(actor))
    .slice(0, limit);
  for (const actor of chosen) fold(tables, actor, nowMs);
  return chosen.length;
}

function fold(tables: Tables, actor: ActorRow, nowMs: number): void {
  const { events, calls, actors } = tables;
  const applied = appliedEvents(tables, actor);
  for (const event of eventsOf(tables, actor)) events.remove(event);
  for (const call of calls.of(actor))
    if (call.actor === actor.actor && call.status !== 'running') calls.remove(call);
  const event = JSON.stringify(
    applied.map(({ id, event: text, digest }) => [id, JSON.parse(text) as unknown, digest]),
  );
  const digest = applied.findLast((one) => one.digest !== null)?.digest ?? null;
  const revision = applied.at(-1)?.revision;
  if (revision !== undefined) receive(tables, { ...actor, id: 'all', event, revision, digest }, nowMs);
  actors.put({ ...actor, compacted: true });
}
