/** What people make of the cards they were shown: kept with the session, beside the card. */
import type { SessionRef } from '../db/contract.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import type { BodyOf } from '../ledger/kinds.ts';
import type { Engine } from './engine.ts';
import { commitToSession } from './session-commit.ts';

export type Said =
  | { readonly kind: 'presentation-feedback'; readonly body: BodyOf<'presentation-feedback'> }
  | { readonly kind: 'presentation-selection'; readonly body: BodyOf<'presentation-selection'> };

/**
 * The sequence number of the record; null where there is no such session. `turn` is the one
 * that showed the card. Said twice, it is recorded twice.
 *
 * @throws TurnwrightError `busy`.
 */
export async function sayOfPresentation(
  engine: Engine,
  ref: SessionRef,
  { turn }: { readonly turn: string },
  said: Said,
): Promise<number | null> {
  return commitToSession(engine, ref, async (builder, { session }) => ({
    value: builder.append(session.liveHead, { ...said, turnId: turn }),
  }));
}

export function presentationNotFound(id: string): TurnwrightError {
  return new TurnwrightError(
    'presentation_not_found',
    `There is no presentation ${JSON.stringify(id)} in this session. GET /v1/sessions/:id/presentations lists those there are.`,
  );
}
