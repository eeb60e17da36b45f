/**
 * Edits of a session's live head that no turn may run through: what runs and waits on the head is cancelled first. A
 * result that comes later belongs to a cancelled turn: it is kept as forensic and changes nothing.
 */
import type { AcceptState, ActorRef, SessionRef } from '../db/contract.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import type { CommitBuilder } from './commit-builder.ts';
import type { Engine } from './engine.ts';
import { commitToSession, type Written } from './session-commit.ts';

/** Turns may be accepted while others are cancelled: so often it is begun anew. */
const MAX_ROUNDS = 50;

export interface WrittenAtRest<T> {
  readonly value: T;
  /** Turns that were cancelled for it, oldest first. */
  readonly cancelled: readonly string[];
}

/**
 * `write` is asked anew for each try. `reason` is the cancelled turns'. `before` is asked before any turn is cancelled:
 * what it throws leaves them running.
 *
 * @throws TurnwrightError `session_not_found`, `turn_elsewhere` where a turn can only be ended by processes of another
 * version, or `busy`.
 */
export async function writeAtRest<T>(
  engine: Engine,
  ref: SessionRef,
  reason: string,
  write: (builder: CommitBuilder, state: AcceptState) => Promise<Written<T>>,
  before: () => Promise<unknown> = () => Promise.resolve(),
): Promise<WrittenAtRest<T>> {
  const cancelled = new Set<string>();
  for (let round = 0; round < MAX_ROUNDS; round++) {
    for (const turn of await cancelAll(engine, ref, reason, before)) cancelled.add(turn);
    const written = await commitToSession(engine, ref, (builder, state) => atRest(builder, state, write));
    if (written === null) throw sessionMissing(ref);
    if (written !== 'running') return { value: written.value, cancelled: [...cancelled] };
    await engine.clock.sleep(round);
  }
  throw new TurnwrightError('busy', `Session ${ref.session} takes new turns all the time. Try again.`);
}

/** `running`: a turn was accepted meanwhile. */
async function atRest<T>(
  builder: CommitBuilder,
  state: AcceptState,
  write: (builder: CommitBuilder, state: AcceptState) => Promise<Written<T>>,
): Promise<Written<'running' | { readonly value: T }>> {
  if (state.openTurn !== null) return { value: 'running', unchanged: true };
  const { value, unchanged = false } = await write(builder, state);
  return { value: { value }, unchanged };
}

/** Those that wait go first, the newest before the others: the end of one would start the next. */
async function cancelAll(
  engine: Engine,
  ref: SessionRef,
  reason: string,
  before: () => Promise<unknown>,
): Promise<readonly string[]> {
  const turns = await turnsOnHead(engine, ref);
  if (turns.length > 0) await before();
  const cancelled: string[] = [];
  for (const turn of turns.toReversed()) {
    const event = { type: 'turn.cancel', reason };
    const delivered = await engine.deliver({ ...ref, actor: turn }, { id: 'cancel', event });
    if (delivered === 'applied') cancelled.push(turn);
    else if (await isOpen(engine, { ...ref, actor: turn })) throw elsewhere(turn);
  }
  return cancelled.toReversed();
}

/** The turn that runs on the live head, and those that wait behind it. */
async function turnsOnHead({ store }: Engine, ref: SessionRef): Promise<readonly string[]> {
  const state = await store.loadSession(ref, null);
  const turns: string[] = [];
  let turn = state?.openTurn ?? null;
  while (turn !== null) {
    turns.push(turn);
    turn = (await store.load({ ...ref, actor: turn }))?.next?.turn ?? null;
  }
  return turns;
}

/** A cancel that others still have to apply, sent now or before, leaves it so. */
async function isOpen({ store }: Engine, ref: ActorRef): Promise<boolean> {
  const loaded = await store.load(ref);
  return loaded !== null && loaded.turn?.status !== 'closed';
}

function elsewhere(turn: string): TurnwrightError {
  return new TurnwrightError(
    'turn_elsewhere',
    `Turn ${turn} must end first, and processes of another version move it: it is cancelled as soon as one runs. Try again then.`,
  );
}

function sessionMissing({ session }: SessionRef): TurnwrightError {
  return new TurnwrightError(
    'session_not_found',
    `There is no session ${session}. GET /v1/sessions lists those there are.`,
  );
}
