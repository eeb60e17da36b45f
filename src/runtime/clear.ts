/**
 * Clears a session: what runs and waits on its live head is cancelled, and then one record says that nothing before it
 * is carried or read any more. The records stay, numbers go on, and so does the prefix. A result that comes later
 * belongs to a cancelled turn: it is kept as forensic and changes nothing. Sessions that were forked before go on.
 */
import type { AcceptState, SessionRef } from '../db/contract.ts';
import { writeAtRest } from './at-rest.ts';
import type { CommitBuilder } from './commit-builder.ts';
import type { Engine } from './engine.ts';
import type { Written } from './session-commit.ts';

export interface Cleared {
  /** False where there was nothing to clear, and nothing was written. */
  readonly cleared: boolean;
  /** Turns that were cancelled for it, oldest first. */
  readonly cancelled: readonly string[];
}

/**
 * @throws TurnwrightError `session_not_found`, `turn_elsewhere` where a turn can only be ended by processes of another
 * version, or `busy`.
 */
export async function clearSession(engine: Engine, ref: SessionRef): Promise<Cleared> {
  const { value, cancelled } = await writeAtRest(engine, ref, 'cleared', (builder, state) =>
    clearHead(engine, ref, builder, state),
  );
  return { cleared: value, cancelled };
}

async function clearHead(
  { store }: Engine,
  ref: SessionRef,
  builder: CommitBuilder,
  { session }: AcceptState,
): Promise<Written<boolean>> {
  const { liveHead: head, nextTurn } = session;
  const source = await store.forkSource(ref, head);
  const isEmpty = source?.segments.length === 0 && source.firstTurn === source.session.nextTurn;
  if (isEmpty) return { value: false, unchanged: true };
  const seq = builder.append(head, { kind: 'cleared', turnId: null, body: {} });
  builder.lists.cleared.push({ head, seq, firstTurn: nextTurn });
  builder.epoch += 1;
  return { value: true };
}
