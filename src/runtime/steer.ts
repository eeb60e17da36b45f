/** Gives a message to a turn that has not ended: in the ledger at once, in a request from its next step on. */
import type { ActorRef } from '../db/contract.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import type { BodyOf } from '../ledger/kinds.ts';
import type { CommitBuilder } from './commit-builder.ts';
import type { Delivered, Engine } from './engine.ts';

export interface SteerRequest extends BodyOf<'steering'> {
  /** Names this message; the same one twice is taken once. */
  readonly id: string;
}

/**
 * One try; `conflict` when somebody else wrote to the session meanwhile. A message that only another version could
 * apply is refused: the turn may end before one sees it.
 */
export function steerOnce(
  engine: Engine,
  ref: ActorRef,
  { id, input, asked }: SteerRequest,
): Promise<Delivered | 'conflict'> {
  return engine.attempt(ref, {
    id: `steer.${id}`,
    event: { type: 'turn.steer' },
    orNothing: true,
    also: (builder, head) => {
      builder.append(head, { kind: 'steering', turnId: ref.actor, body: { input, asked } });
      keepKey(builder, ref.actor, asked);
      return null;
    },
  });
}

/** @throws TurnwrightError `turn_parked` or `turn_elsewhere` when the message was refused. */
export function refuseUnmoved(delivered: Delivered | 'conflict', turn: string): void {
  if (delivered === 'parked')
    throw new TurnwrightError(
      'turn_parked',
      `Turn ${turn} is parked: this version cannot move it. Send mode "interrupt", or POST /v1/turns/${turn}/retry.`,
    );
  if (delivered === 'left-for-other-version')
    throw new TurnwrightError(
      'turn_elsewhere',
      `Turn ${turn} is moved by processes of another version. Send it again, or as a turn with mode "enqueue".`,
    );
}

export function keepKey(
  builder: CommitBuilder,
  turn: string,
  { key, digest }: BodyOf<'turn-accepted'>['asked'],
): void {
  if (key !== undefined) builder.lists.keys.push({ key, turn, inputDigest: digest });
}
