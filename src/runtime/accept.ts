/**
 * Accepts what a producer sends, in one commit. With the head free, or in the mode `enqueue`, it is a turn of its
 * own; `steer` gives it to the running turn, `interrupt` cancels that turn first, `reject` refuses to wait. Turns of
 * a head run in the order they were accepted, whatever their mode.
 */
import type { AcceptState, Loaded, NextTurn, SessionHead, SessionRef } from '../db/contract.ts';
import { readLexically, WEAK_BELOW } from '../intent/reading.ts';
import type { InputBlock } from '../ledger/blocks.ts';
import { blake3Hex } from '../ledger/chain.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import { canonicalJson, type Json } from '../ledger/json.ts';
import type { BodyOf, TurnMode } from '../ledger/kinds.ts';
import type { Reading } from '../ledger/reading.ts';
import { visibleText } from '../ledger/view.ts';
import { newestVersion } from '../machines/registry.ts';
import { TURN_MACHINE } from '../machines/turn.ts';
import type { TurnInput } from '../machines/turn-context.ts';
import { beginActor } from './actor.ts';
import type { CostBudget } from './budgets.ts';
import { startTurn } from './close.ts';
import { CommitBuilder } from './commit-builder.ts';
import type { Delivered, Engine } from './engine.ts';
import { keepKey, refuseUnmoved, steerOnce } from './steer.ts';

const MAX_RACES = 100;

export interface AcceptRequest {
  /** The new turn's id, used when the request becomes a turn of its own. */
  readonly turn: string;
  readonly input: readonly InputBlock[];
  readonly mode: TurnMode;
  /** 0 is the most urgent. */
  readonly priority: number;
  readonly idempotencyKey: string | null;
  readonly metadata?: Readonly<Record<string, Json>>;
  /** What its calls may come to. */
  readonly budget?: CostBudget;
  /** The closed turn that this one tries again. */
  readonly retryOf?: string;
  readonly limits: Omit<TurnInput, 'weak'>;
}

export interface Accepted {
  /** The new turn, or the running one that was steered. */
  readonly turn: string;
  /** False when the idempotency key named a request that was accepted before. */
  readonly created: boolean;
}

type Asked = BodyOf<'turn-accepted'>['asked'];

/** A request whose directive was read. */
interface ReadRequest extends AcceptRequest {
  readonly reading: Reading;
}

/**
 * @throws TurnwrightError `session_not_found`, `session_archived`, `idempotency_conflict`, `turn_parked` or
 * `turn_elsewhere` when the turn to steer cannot be moved here, or `turn_running` when the mode is `reject` and the
 * head is busy. Nothing is written then.
 */
export async function acceptTurn(engine: Engine, ref: SessionRef, request: AcceptRequest): Promise<Accepted> {
  const asked = askedBy(request);
  for (let race = 0; race < MAX_RACES; race++) {
    const state = await engine.store.loadSession(ref, request.idempotencyKey);
    if (state === null)
      throw new TurnwrightError(
        'session_not_found',
        `There is no session ${ref.session}. Create one with POST /v1/sessions.`,
      );
    if (state.sameKey !== null) return sameKey(state.sameKey, asked.digest);
    refuse(ref, state, request.mode);
    const config = await engine.configs.get(ref);
    const reading = readLexically(visibleText(request.input), config.locale);
    const accepted = await acceptOnce(engine, ref, state, { ...request, reading }, asked);
    if (accepted !== null) return accepted;
    if (race > 1) await engine.clock.sleep(race);
  }
  throw new TurnwrightError('busy', `Session ${ref.session} has too many writers at once. Try again.`);
}

/** The same request sent again has the same digest; another one under its key is told apart by it. */
export function askedBy(request: Pick<AcceptRequest, 'input'> & Partial<AcceptRequest>): Asked {
  const { input, metadata, mode, priority, limits, budget, retryOf, idempotencyKey = null } = request;
  const digest = blake3Hex(
    canonicalJson({ input, metadata, mode, priority, limits, budget: budget && { ...budget }, retryOf }),
  );
  return idempotencyKey === null ? { digest } : { digest, key: idempotencyKey };
}

function sameKey(known: { readonly turn: string; readonly inputDigest: string }, digest: string): Accepted {
  if (known.inputDigest === digest) return { turn: known.turn, created: false };
  throw new TurnwrightError(
    'idempotency_conflict',
    `This Idempotency-Key belongs to turn ${known.turn}, which had another body. Use a new key for a new turn.`,
  );
}

function refuse(ref: SessionRef, { session, openTurn }: AcceptState, mode: TurnMode): void {
  if (session.status !== 'open')
    throw new TurnwrightError(
      'session_archived',
      `Session ${ref.session} is archived and takes no new turns.`,
    );
  if (openTurn !== null && mode === 'reject')
    throw new TurnwrightError(
      'turn_running',
      `Turn ${openTurn} is running. Wait for it, or send mode "enqueue".`,
    );
}

/** One try; null when the session moved on meanwhile. */
async function acceptOnce(
  engine: Engine,
  ref: SessionRef,
  state: AcceptState,
  request: ReadRequest,
  asked: Asked,
): Promise<Accepted | null> {
  const { openTurn } = state;
  if (openTurn !== null && request.mode === 'steer') return steer(engine, ref, openTurn, request, asked);
  if (openTurn !== null && request.mode === 'interrupt') {
    const interrupted = await interrupt(engine, ref, openTurn, request, asked);
    if (interrupted !== 'duplicate') return interrupted;
    // Cancelled before, by an event that waits for another version: the new turn waits behind it.
  }
  const builder = new CommitBuilder(state.session);
  const created = build(engine, builder, request, asked);
  if (openTurn === null) start(engine, builder, created);
  const commit = builder.build();
  const result = await engine.commit(commit, () => {
    if (openTurn === null) engine.known.began({ loaded: alone(state.session, created), records: [] }, commit);
  });
  return result === 'applied' ? { turn: request.turn, created: true } : null;
}

/** The turn as the commit that accepts it finds it, with nothing behind it on its head. */
function alone(session: SessionHead, { priority, number, ...actor }: NextTurn): Loaded {
  const turn = { head: session.liveHead, number, status: 'accepted', priority } as const;
  return { session, actor: { ...actor, openChildren: [] }, turn, next: null };
}

async function steer(
  engine: Engine,
  ref: SessionRef,
  openTurn: string,
  request: AcceptRequest,
  asked: Asked,
): Promise<Accepted | null> {
  const message = { id: request.turn, input: [...request.input], asked };
  const delivered = await steerOnce(engine, { ...ref, actor: openTurn }, message);
  refuseUnmoved(delivered, openTurn);
  return written(delivered) ? { turn: openTurn, created: true } : null;
}

async function interrupt(
  engine: Engine,
  ref: SessionRef,
  openTurn: string,
  request: ReadRequest,
  asked: Asked,
): Promise<Accepted | null | 'duplicate'> {
  const delivered = await engine.attempt(
    { ...ref, actor: openTurn },
    {
      id: 'cancel',
      event: { type: 'turn.cancel', reason: 'interrupted' },
      also: (builder) => build(engine, builder, request, asked),
    },
  );
  if (delivered === 'duplicate') return 'duplicate';
  return written(delivered) ? { turn: request.turn, created: true } : null;
}

function written(delivered: Delivered | 'conflict'): boolean {
  return delivered === 'applied' || delivered === 'left-for-other-version';
}

/** Writes the turn and its actor, not yet started. */
function build(engine: Engine, builder: CommitBuilder, request: ReadRequest, asked: Asked): NextTurn {
  const { turn, input, mode, priority, metadata, budget, retryOf, reading } = request;
  const head = builder.session.liveHead;
  const number = builder.takeTurnNumber();
  const body = {
    number,
    input: [...input],
    mode,
    priority,
    asked,
    ...(metadata === undefined ? {} : { metadata: { ...metadata } }),
    ...(budget === undefined ? {} : { budget: { ...budget } }),
    ...(retryOf === undefined ? {} : { retryOf }),
  };
  builder.append(head, { kind: 'turn-accepted', turnId: turn, body });
  builder.append(head, { kind: 'reading', turnId: turn, body: reading });
  builder.lists.turns.push({ turn, head, number, priority });
  keepKey(builder, turn, asked);
  const context = engine.hopContext();
  const machineInput: TurnInput = { ...request.limits, weak: reading.confidence < WEAK_BELOW };
  const created = {
    actor: turn,
    turn,
    machine: TURN_MACHINE,
    version: newestVersion(context.registry, TURN_MACHINE),
    input: { ...machineInput },
  };
  const place = { actor: turn, turn, head, priority };
  const { actor } = beginActor(builder, context, created, place);
  return { ...actor, turn, priority, number };
}

function start(engine: Engine, builder: CommitBuilder, { turn, actor, priority, ...state }: NextTurn): void {
  const head = builder.session.liveHead;
  builder.lists.heads.push({ head, openTurn: turn });
  startTurn(builder, engine.hopContext(), { ...state, actor, turn }, { actor, turn, head, priority });
}
