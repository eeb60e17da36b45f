/** Accepts a turn: directive, reading and actor in one commit, and its first step too when the head is free. */
import type { SessionRef } from '../db/contract.ts';
import { readLexically, WEAK_BELOW } from '../intent/reading.ts';
import type { InputBlock } from '../ledger/blocks.ts';
import { blake3Hex } from '../ledger/chain.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import { canonicalJson, type Json } from '../ledger/json.ts';
import type { TurnMode } from '../ledger/kinds.ts';
import { visibleText } from '../ledger/view.ts';
import { CURRENT_VERSION } from '../machines/registry.ts';
import { TURN_MACHINE, type TurnInput } from '../machines/turn.ts';
import { beginActor } from './actor.ts';
import { startTurn } from './close.ts';
import { CommitBuilder } from './commit-builder.ts';
import type { Engine } from './engine.ts';

const MAX_RACES = 100;

export interface AcceptRequest {
  /** The new turn's id, used when no earlier turn answers to the idempotency key. */
  readonly turn: string;
  readonly input: readonly InputBlock[];
  readonly mode: Extract<TurnMode, 'enqueue' | 'reject'>;
  readonly priority: number;
  readonly idempotencyKey: string | null;
  readonly metadata?: Readonly<Record<string, Json>>;
  readonly limits: Omit<TurnInput, 'weak'>;
}

export interface Accepted {
  readonly turn: string;
  /** False when the idempotency key named a turn accepted before. */
  readonly created: boolean;
}

/**
 * @throws TurnwrightError `session_not_found`, `session_archived`, `idempotency_conflict`, or `turn_running`
 * when the mode is `reject` and the head is busy. Nothing is written then.
 */
export async function acceptTurn(engine: Engine, ref: SessionRef, request: AcceptRequest): Promise<Accepted> {
  const { input, metadata, mode, priority, limits } = request;
  const inputDigest = blake3Hex(canonicalJson({ input, metadata, mode, priority, limits }));
  for (let race = 0; race < MAX_RACES; race++) {
    const state = await engine.store.loadSession(ref, request.idempotencyKey);
    if (state === null)
      throw new TurnwrightError(
        'session_not_found',
        `There is no session ${ref.session}. Create one with POST /v1/sessions.`,
      );
    if (state.sameKey !== null) return sameKey(state.sameKey, inputDigest);
    if (state.session.status !== 'open')
      throw new TurnwrightError(
        'session_archived',
        `Session ${ref.session} is archived and takes no new turns.`,
      );
    if (state.openTurn !== null && request.mode === 'reject') {
      throw new TurnwrightError(
        'turn_running',
        `Turn ${state.openTurn} is running. Wait for it, or send mode "enqueue".`,
      );
    }
    const builder = new CommitBuilder(state.session);
    build(engine, builder, request, state.openTurn === null, inputDigest);
    const result = await engine.commit(builder.build());
    if (result === 'applied') return { turn: request.turn, created: true };
    if (race > 1) await engine.clock.sleep(race);
  }
  throw new TurnwrightError('busy', `Session ${ref.session} has too many writers at once. Try again.`);
}

function sameKey(
  known: { readonly turn: string; readonly inputDigest: string },
  inputDigest: string,
): Accepted {
  if (known.inputDigest === inputDigest) return { turn: known.turn, created: false };
  throw new TurnwrightError(
    'idempotency_conflict',
    `This Idempotency-Key belongs to turn ${known.turn}, which had another body. Use a new key for a new turn.`,
  );
}

function build(
  engine: Engine,
  builder: CommitBuilder,
  request: AcceptRequest,
  headIsFree: boolean,
  inputDigest: string,
): void {
  const { turn, input, mode, priority, metadata } = request;
  const head = builder.session.liveHead;
  const number = builder.takeTurnNumber();
  const reading = readLexically(visibleText(input));
  builder.append(head, {
    kind: 'turn-accepted',
    turnId: turn,
    body: {
      number,
      input: [...input],
      mode,
      ...(metadata === undefined ? {} : { metadata: { ...metadata } }),
    },
  });
  builder.append(head, {
    kind: 'reading',
    turnId: turn,
    body: { source: 'lexical', ...reading, domains: [...reading.domains] },
  });
  builder.lists.turns.push({ turn, head, number, priority, key: request.idempotencyKey, inputDigest });

  const machineInput: TurnInput = { ...request.limits, weak: reading.confidence < WEAK_BELOW };
  const created = {
    actor: turn,
    turn,
    machine: TURN_MACHINE,
    version: CURRENT_VERSION[TURN_MACHINE] ?? 1,
    input: { ...machineInput },
  };
  const place = { actor: turn, turn, head, priority };
  const context = engine.hopContext();
  const begun = beginActor(builder, context, created, place);
  if (!headIsFree) return;
  builder.lists.heads.push({ head, openTurn: turn });
  startTurn(builder, context, begun.actor, place);
}
