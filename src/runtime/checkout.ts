/**
 * Moves a session to another head. To an earlier turn: a head is made that goes on from there, by reference as a fork
 * does, and what came after stays on the head it was recorded on. To a head that there is: it becomes the live one.
 * Numbers go on in either case, so that none is ever given twice.
 */
import type { AcceptState, ForkSource, SessionRef } from '../db/contract.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import type { Segment } from '../ledger/items.ts';
import { type BodyOf, parseBody } from '../ledger/kinds.ts';
import type { StoredRecord } from '../ledger/verify.ts';
import { writeAtRest } from './at-rest.ts';
import type { CommitBuilder } from './commit-builder.ts';
import type { Engine } from './engine.ts';
import { lineageOf } from './fork.ts';
import { segmentRows } from './segment-rows.ts';
import type { Written } from './session-commit.ts';
import { recordFault } from './transcript/check-record.ts';

/** `turn` is the number of the last turn that stays, 0 for none; `back` is how many of the newest leave. */
export type Anchor = { readonly turn: number } | { readonly back: number } | { readonly head: string };

export interface CheckedOut {
  /** The live head from now on. */
  readonly head: string;
  /** False where it was live before, and nothing was written. */
  readonly moved: boolean;
}

/**
 * @param newHead The UUID of the head that is made, where one is.
 * @throws TurnwrightError `session_not_found`, `head_not_found`, `turn_not_found` naming the turns there are,
 * `ancestor_unreadable`, `turn_elsewhere` or `busy`. Turns may have been cancelled then; nothing else was written.
 */
export async function checkOut(
  engine: Engine,
  ref: SessionRef,
  anchor: Anchor,
  newHead: string,
): Promise<CheckedOut & { readonly cancelled: readonly string[] }> {
  const find = () => anchored(engine, ref, anchor);
  const go = async (builder: CommitBuilder, { session }: AcceptState): Promise<Written<CheckedOut>> => {
    const found = await find();
    if (found.kind === 'head') {
      const { head } = found;
      if (head === session.liveHead) return { value: { head, moved: false }, unchanged: true };
      moveTo(builder, head);
      return { value: { head, moved: true } };
    }
    makeHead(builder, newHead, found);
    moveTo(builder, newHead);
    return { value: { head: newHead, moved: true } };
  };
  // An anchor that there is not cancels nothing.
  const { value, cancelled } = await writeAtRest(engine, ref, 'checked-out', go, find);
  return { ...value, cancelled };
}

interface NewHead {
  readonly kind: 'turn';
  readonly from: string;
  readonly segments: readonly Segment[];
}

function moveTo(builder: CommitBuilder, head: string): void {
  builder.append(head, { kind: 'head-moved', turnId: null, body: { head } });
  builder.liveHead = head;
  builder.epoch += 1;
}

function makeHead(builder: CommitBuilder, head: string, { from, segments }: NewHead): void {
  const { nextTurn: firstTurn } = builder.session;
  const atSeq = segments.at(-1)?.toSeq ?? 0;
  const goesOn = { segments: [...segments], turn: firstTurn };
  builder.append(head, { kind: 'head-created', turnId: null, body: { head, from, atSeq, goesOn } });
  builder.newHead = { head, from, atSeq, firstTurn };
  builder.lists.segments.push(...segmentRows(head, segments));
}

async function anchored(
  engine: Engine,
  ref: SessionRef,
  anchor: Anchor,
): Promise<NewHead | { readonly kind: 'head'; readonly head: string }> {
  const source = await engine.store.forkSource(ref, 'head' in anchor ? anchor.head : null);
  if (source === null) throw await missing(engine, ref, anchor);
  if ('head' in anchor) return { kind: 'head', head: source.head };
  const parts = lineageOf(source);
  const turn = 'turn' in anchor ? anchor.turn : await turnBack(engine, source, anchor.back);
  return { kind: 'turn', from: source.head, segments: await partsUpTo(engine, ref, source, { parts, turn }) };
}

/** The number of the newest turn that stays when `back` of those that ran leave. */
async function turnBack({ store }: Engine, { session, head }: ForkSource, back: number): Promise<number> {
  const [leaves, stays = 0] = await store.turnsBack(session, head, back);
  if (leaves !== undefined) return stays;
  const { length } = await store.transcriptTurns(session, head, null);
  throw new TurnwrightError(
    'turn_not_found',
    `Going back by ${back} would pass the first turn: ${length} can leave at most.`,
  );
}

interface Cut {
  readonly parts: readonly Segment[];
  readonly turn: number;
}

async function partsUpTo(
  { store }: Engine,
  ref: SessionRef,
  { head }: ForkSource,
  { parts, turn }: Cut,
): Promise<readonly Segment[]> {
  if (turn === 0) return [];
  const at = await store.turnAt(ref, head, turn);
  const last = parts.findIndex(({ turns }) => turns !== null && turns.from <= turn && turn <= turns.to);
  const part = parts[last];
  if (at === null || part === undefined) throw turnMissing(turn);
  const rows = await store.turnRows({ ...ref, session: at.session }, at.turn, part.toSeq);
  const { record, items } = closingOf(rows, at.session, turn);
  const { turns, items: ofPart } = part;
  const cut = {
    ...part,
    toSeq: record.seq,
    digest: record.digest,
    turns: turns === null ? null : { from: turns.from, to: turn },
    items: ofPart === null ? null : { from: ofPart.from, to: items },
  };
  return [...parts.slice(0, last), cut];
}

/** The record that closed the turn, and its last item. */
function closingOf(rows: readonly StoredRecord[], session: string, turn: number) {
  const record = rows.findLast(({ kind }) => kind === 'turn-closed');
  if (record === undefined) throw turnMissing(turn);
  const fault = recordFault(record, session);
  if (fault !== null)
    throw new TurnwrightError(
      'ancestor_unreadable',
      `Record ${record.seq} of session ${session} cannot be gone on from: ${fault}. Run \`turnwright session verify ${session}\`.`,
      { details: { session, record: record.seq, reason: fault } },
    );
  const { items = [] }: BodyOf<'turn-closed'> = parseBody('turn-closed', JSON.parse(record.body ?? ''));
  const newest = items.at(-1);
  if (newest === undefined) throw turnMissing(turn);
  return { record, items: newest.item };
}

function turnMissing(turn: number): TurnwrightError {
  return new TurnwrightError(
    'turn_not_found',
    `There is no turn ${turn} that ran and closed on this head. GET /v1/sessions/:id/transcript lists those there are; 0 goes back to before the first.`,
  );
}

async function missing({ store }: Engine, ref: SessionRef, anchor: Anchor): Promise<TurnwrightError> {
  const known = await store.loadSession(ref, null);
  if (known === null || !('head' in anchor))
    return new TurnwrightError(
      'session_not_found',
      `There is no session ${ref.session}. GET /v1/sessions lists those there are.`,
    );
  return new TurnwrightError(
    'head_not_found',
    `Session ${ref.session} has no head ${anchor.head}. GET /v1/sessions/${ref.session}/heads lists those there are.`,
  );
}
