/** Commits that no event of an actor asks for: built on the session as it stands, and again where somebody else wrote first. */
import type { AcceptState, SessionRef } from '../db/contract.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import { CommitBuilder } from './commit-builder.ts';
import type { Engine } from './engine.ts';

const MAX_RACES = 100;

/** `unchanged`: there is nothing to write, and nothing is. */
export interface Written<T> {
  readonly value: T;
  readonly unchanged?: boolean;
}

/**
 * What the commit that was applied came to; null where there is no such session. `write` is asked anew for each try.
 *
 * @throws TurnwrightError `busy` when too many others write.
 */
export async function commitToSession<T>(
  engine: Engine,
  ref: SessionRef,
  write: (builder: CommitBuilder, state: AcceptState) => Promise<Written<T>>,
): Promise<T | null> {
  for (let race = 0; race < MAX_RACES; race++) {
    const state = await engine.store.loadSession(ref, null);
    if (state === null) return null;
    const builder = new CommitBuilder(state.session);
    const { value, unchanged = false } = await write(builder, state);
    if (unchanged || (await engine.commit(builder.build())) === 'applied') return value;
    await engine.clock.sleep(race);
  }
  throw new TurnwrightError('busy', `Session ${ref.session} has too many writers at once. Try again.`);
}
