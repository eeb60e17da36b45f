/** Writes a session at rest as a deep checkpoint: lines that another deployment goes on from. */
import type { CheckpointOutline, CheckpointPart, CheckpointStore } from '../db/checkpoint-contract.ts';
import type { SessionRef } from '../db/contract.ts';
import { CHECKPOINT_VERSION, CheckpointWriter } from '../ledger/checkpoint.ts';
import { TurnwrightError } from '../ledger/errors.ts';

/**
 * What the checkpoint will hold, fixed now: what is recorded later is not in it.
 *
 * @throws TurnwrightError `session_not_found`; `turn_running` where a turn is open; `ancestor_unreadable` where a session
 * it goes on from is not there as far as it should be.
 */
export async function outlineOf(store: CheckpointStore, ref: SessionRef): Promise<readonly CheckpointPart[]> {
  const outline = await store.outline(ref);
  if (outline === null) throw new TurnwrightError('session_not_found', `There is no session ${ref.session}.`);
  if (outline.openTurn !== null) {
    const advice = 'Wait until it has ended, or cancel it, and export the session then.';
    throw new TurnwrightError('turn_running', `Turn ${outline.openTurn} is open. ${advice}`, {
      details: { turn: outline.openTurn },
    });
  }
  return wholeParts(outline);
}

/** One line each, with its break. What is stored is not judged here: who imports it checks every record. */
export async function* exportLines(
  store: CheckpointStore,
  { tenant, session }: SessionRef,
  parts: readonly CheckpointPart[],
): AsyncGenerator<string> {
  const writer = new CheckpointWriter();
  const sessions = parts.map(({ session: of, records, digest }) => ({ session: of, records, digest }));
  yield writer.line({ type: 'checkpoint', version: CHECKPOINT_VERSION, form: 'deep', session, sessions });
  for (const { session: of, records } of parts)
    for await (const row of store.records({ tenant, session: of }, records))
      yield writer.line({ type: 'record', session: of, ...row });
  const own = parts.at(-1)?.records ?? 0;
  for await (const row of store.events({ tenant, session }, own))
    yield writer.line({ type: 'event', ...row });
  yield writer.end();
}

function wholeParts({ parts }: CheckpointOutline): readonly CheckpointPart[] {
  return parts.map((part) => {
    if (part.records !== null) return part;
    throw new TurnwrightError(
      'ancestor_unreadable',
      `Session ${part.session}, which this one goes on from, lacks the record that the link names. Verify it.`,
      { details: { session: part.session } },
    );
  });
}
