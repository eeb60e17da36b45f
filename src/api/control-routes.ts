/** What a person does to a turn: stop it, decide for it, bring it back. */
import { z } from 'zod';
import { TurnwrightError } from '../ledger/errors.ts';
import type { Delivered } from '../runtime/engine.ts';
import { type ApiContext, type Call, type Route, route } from './contract.ts';
import { refOf, shownTurn, theTurn, turnNotFound } from './found.ts';
import { retryTurn } from './retry.ts';
import { noQuery, type Signal, signal, stuckTurn, turn } from './schemas.ts';
import { stuckTurns } from './stuck.ts';

const oneTurn = z.strictObject({ turn });

export const CONTROL_ROUTES: readonly Route[] = [
  route({
    method: 'POST',
    path: '/v1/turns/:id/cancel',
    summary: 'Stop a turn at once; its records are kept',
    access: 'turns:write',
    missing: 'turn_not_found',
    answers: { 200: { description: 'The cancelled turn.', schema: oneTurn } },
    errors: ['turn_closed', 'turn_parked', 'busy'],
    handle: async (context, call) => {
      await cancel(context, call);
      return { status: 200, body: await shownTurn(context, call.caller.tenant, call.id) };
    },
  }),
  route({
    method: 'POST',
    path: '/v1/turns/:id/signals',
    summary: 'Approve or deny the calls a turn waits with',
    access: 'turns:write',
    missing: 'turn_not_found',
    body: signal,
    answers: {
      202: { description: 'The turn; the decision is stored and will be applied.', schema: oneTurn },
    },
    errors: ['turn_closed', 'turn_not_waiting', 'turn_parked', 'busy'],
    handle: async (context, call) => {
      await decide(context, call);
      return { status: 202, body: await shownTurn(context, call.caller.tenant, call.id) };
    },
  }),
  route({
    method: 'POST',
    path: '/v1/turns/:id/retry',
    summary: 'Bring a parked or stuck turn back: what it waits for is handed over again',
    access: 'turns:write',
    missing: 'turn_not_found',
    answers: { 202: { description: 'The turn, on its way again.', schema: oneTurn } },
    errors: ['turn_closed', 'turn_not_stuck', 'turn_parked', 'busy'],
    handle: async (context, call) => {
      await retryTurn(context, call.caller.tenant, await theTurn(context, call));
      return { status: 202, body: await shownTurn(context, call.caller.tenant, call.id) };
    },
  }),
  route({
    method: 'GET',
    path: '/v1/turns/stuck',
    summary: 'List turns that nothing moves, with why and what to do',
    access: 'turns:read',
    query: noQuery,
    answers: {
      200: {
        description: 'The longest stuck first.',
        schema: z.strictObject({ turns: z.array(stuckTurn) }),
      },
    },
    errors: [],
    handle: async (context, { caller }) => ({
      status: 200,
      body: { turns: await stuckTurns(context, caller.tenant) },
    }),
  }),
];

/** Applied in a transaction of this process, so that no queue stands between a person and the stop. */
async function cancel(context: ApiContext, call: Call): Promise<void> {
  const row = await theTurn(context, call);
  if (row.status === 'closed') throw closed(row.turn, row.outcome);
  const delivered = await context.services.engine.deliver(
    { ...refOf(call.caller.tenant, row), actor: row.turn },
    { id: 'cancel', event: { type: 'turn.cancel' } },
  );
  refuse(delivered, row.turn);
}

async function decide(context: ApiContext, call: Call<Signal>): Promise<void> {
  const { engine } = context.services;
  const row = await theTurn(context, call);
  if (row.status === 'closed') throw closed(row.turn, row.outcome);
  const ref = { ...refOf(call.caller.tenant, row), actor: row.turn };
  const loaded = await engine.store.load(ref);
  const { value } = JSON.parse(loaded?.actor.snapshot ?? '{}') as { readonly value?: unknown };
  if (loaded === null || loaded.actor.status === 'parked') throw parked(row.turn);
  if (value !== 'waiting')
    throw new TurnwrightError(
      'turn_not_waiting',
      `Turn ${row.turn} waits for no decision; it is ${String(value)}. Send signals when its state is waiting.`,
    );
  // One decision for each time it waits: of two at once, one is taken.
  const id = `decide.${loaded.actor.revision}`;
  const approve = call.body.type === 'approve';
  if (!(await engine.submit(ref, id, { type: 'turn.decide', approve })))
    throw new TurnwrightError('turn_not_waiting', `Turn ${row.turn} was decided already.`);
}

function refuse(delivered: Delivered, turnId: string): void {
  switch (delivered) {
    case 'applied':
    case 'left-for-other-version':
      return;
    case 'ended':
    case 'duplicate':
    case 'superseded':
      throw closed(turnId, null);
    case 'parked':
      throw parked(turnId);
    case 'missing':
      throw turnNotFound(turnId);
  }
}

function closed(turnId: string, outcome: string | null): TurnwrightError {
  return new TurnwrightError(
    'turn_closed',
    `Turn ${turnId} has ended${outcome === null ? '' : ` ${outcome}`}; it cannot be changed any more.`,
    outcome === null ? {} : { details: { outcome } },
  );
}

function parked(turnId: string): TurnwrightError {
  return new TurnwrightError(
    'turn_parked',
    `Turn ${turnId} is parked: this version cannot move it. POST /v1/turns/${turnId}/retry with one that can.`,
  );
}
