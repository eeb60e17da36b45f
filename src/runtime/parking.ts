/** Events that cannot be applied yet: they wait beside their actor, and nothing of what they brought is lost. */
import type { Commit, EventRow, Loaded } from '../db/contract.ts';
import type { CommitBuilder } from './commit-builder.ts';
import type { Delivery } from './engine.ts';

export function endsParked(loaded: Loaded, delivery: Delivery): boolean {
  return loaded.actor.status === 'parked' && delivery.event.type === 'turn.cancel';
}

/** The refused event waits beside the actor, its call settled and its records kept: unparked, it applies. */
export function park(
  builder: CommitBuilder,
  loaded: Loaded,
  head: string,
  delivery: Delivery,
  reason: string,
): Commit {
  const { actor, turn, machine, version, revision, snapshot } = loaded.actor;
  builder.append(head, { kind: 'actor-parked', turnId: turn, body: { actor, reason } });
  builder.lists.events.push(waiting(actor, delivery));
  const change = { actor, turn, machine, version, base: revision, revision: revision + 1, snapshot };
  builder.lists.actors.push({ ...change, status: 'parked', parkedReason: reason });
  return builder.build();
}

export function waiting(actor: string, { id, event }: Delivery): EventRow {
  return { actor, id, event: JSON.stringify(event), revision: null, digest: null };
}
