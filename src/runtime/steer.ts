/** Gives a message to a turn that has not ended: in the ledger at once, in a request from its next step on. */
import type { ActorRef } from '../db/contract.ts';
import type { BodyOf } from '../ledger/kinds.ts';
import type { CommitBuilder } from './commit-builder.ts';
import type { Delivered, Engine } from './engine.ts';

export interface SteerRequest extends BodyOf<'steering'> {
  /** Names this message; the same one twice is taken once. */
  readonly id: string;
}

/** One try; `conflict` when somebody else wrote to the session meanwhile. */
export function steerOnce(
  engine: Engine,
  ref: ActorRef,
  { id, input, asked }: SteerRequest,
): Promise<Delivered | 'conflict'> {
  return engine.attempt(ref, {
    id: `steer.${id}`,
    event: { type: 'turn.steer' },
    also: (builder, head) => {
      builder.append(head, { kind: 'steering', turnId: ref.actor, body: { input, asked } });
      keepKey(builder, ref.actor, asked);
      return null;
    },
  });
}

export function keepKey(
  builder: CommitBuilder,
  turn: string,
  { key, digest }: BodyOf<'turn-accepted'>['asked'],
): void {
  if (key !== undefined) builder.lists.keys.push({ key, turn, inputDigest: digest });
}
