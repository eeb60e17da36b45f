/** What a turn is told from outside: a decision it waits for, the result of a call its client made, or something more to consider. */
import { TurnwrightError } from '../ledger/errors.ts';
import { WAITING_FOR, type WaitingFor } from '../ledger/kinds.ts';
import { askedBy } from '../runtime/accept.ts';
import type { MachineEvent } from '../runtime/actor.ts';
import { takeClientResult } from '../runtime/client-results.ts';
import type { Delivered } from '../runtime/engine.ts';
import { refuseUnmoved, steerOnce } from '../runtime/steer.ts';
import type { ApiContext, Call } from './contract.ts';
import { refOf, theTurn, turnNotFound } from './found.ts';
import { inputBlocks, type Signal } from './schemas.ts';
import { snapshotOf } from './turn-state.ts';

type Decision = Exclude<Signal, { type: 'steer' | 'tool_result' }>;
const MAX_RACES = 50;
/** The signals that answer each question of a waiting turn. */
const WANTED: Readonly<Record<WaitingFor, readonly Signal['type'][]>> = {
  approval: ['approve', 'deny'],
  outcome: ['decide'],
  client: ['tool_result'],
};

export async function signalTurn(context: ApiContext, call: Call<Signal>): Promise<void> {
  const { body, caller } = call;
  const row = await theTurn(context, call);
  const ref = { ...refOf(caller.tenant, row), actor: row.turn };
  if (body.type === 'tool_result') {
    const { callId, content, isError = false } = body;
    return takeClientResult(context.services.engine, ref, { callId, content, isError });
  }
  if (row.status === 'closed') throw turnClosed(row.turn, row.outcome);
  if (body.type === 'steer') await steer(context, ref, body.input);
  else await decide(context, ref, body);
}

type TurnRef = ReturnType<typeof refOf> & { readonly actor: string };

async function steer(
  { services }: ApiContext,
  ref: TurnRef,
  text: Extract<Signal, { type: 'steer' }>['input'],
): Promise<void> {
  const input = inputBlocks(text);
  const message = { id: services.newId(), input: [...input], asked: askedBy({ input }) };
  for (let race = 0; race < MAX_RACES; race++) {
    const delivered = await steerOnce(services.engine, ref, message);
    refuseUnmoved(delivered, ref.actor);
    if (delivered !== 'conflict') return refuseUnless(delivered, ref.actor);
    await services.engine.clock.sleep(race);
  }
  throw new TurnwrightError('busy', `Session ${ref.session} has too many writers at once. Try again.`);
}

async function decide({ services: { engine } }: ApiContext, ref: TurnRef, decision: Decision): Promise<void> {
  const loaded = await engine.store.load(ref);
  if (loaded === null || loaded.actor.status === 'parked') throw turnParked(ref.actor);
  const { phase, context } = snapshotOf(loaded.actor.snapshot);
  if (phase !== 'waiting')
    throw new TurnwrightError(
      'turn_not_waiting',
      `Turn ${ref.actor} waits for no decision; it is ${phase}. Send one when its state is waiting.`,
    );
  const question = WAITING_FOR.find((known) => known === context.waitingFor) ?? 'approval';
  const wanted = WANTED[question];
  if (!wanted.includes(decision.type))
    throw new TurnwrightError(
      'turn_not_waiting',
      `Turn ${ref.actor} does not wait for "${decision.type}"; it waits for a signal of the type ${wanted.join(' or ')}.`,
    );
  // One decision for each time it waits: of two at once, one is taken.
  const id = `decide.${loaded.actor.revision}`;
  if (!(await engine.submit(ref, id, eventOf(decision))))
    throw new TurnwrightError('turn_not_waiting', `Turn ${ref.actor} was decided already.`);
}

function eventOf(decision: Decision): MachineEvent {
  if (decision.type !== 'decide') return { type: `turn.${decision.type}` };
  return { type: decision.rerun ? 'turn.rerun' : 'turn.report' };
}

/** @throws TurnwrightError when the event changed nothing. */
export function refuseUnless(delivered: Delivered, turnId: string): void {
  switch (delivered) {
    case 'applied':
    case 'left-for-other-version':
      return;
    case 'ended':
    case 'duplicate':
    case 'superseded':
      throw turnClosed(turnId, null);
    case 'parked':
      throw turnParked(turnId);
    case 'missing':
      throw turnNotFound(turnId);
  }
}

export function turnClosed(turnId: string, outcome: string | null): TurnwrightError {
  return new TurnwrightError(
    'turn_closed',
    `Turn ${turnId} has ended${outcome === null ? '' : ` ${outcome}`}; it cannot be changed any more.`,
    outcome === null ? {} : { details: { outcome } },
  );
}

function turnParked(turnId: string): TurnwrightError {
  return new TurnwrightError(
    'turn_parked',
    `Turn ${turnId} is parked: this version cannot move it. POST /v1/turns/${turnId}/retry with one that can.`,
  );
}
