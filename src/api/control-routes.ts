/** What a person does to a turn: stop it, decide for it, bring it back. */
import { z } from 'zod';
import { type ApiContext, type Call, type Route, route } from './contract.ts';
import { refOf, shownTurn, theTurn } from './found.ts';
import { IDEMPOTENCY_HEADER } from './idempotency-key.ts';
import { retryTurn } from './retry.ts';
import { noQuery, signal, stuckTurn, turn } from './schemas.ts';
import { refuseUnless, signalTurn, turnClosed } from './signals.ts';
import { stuckTurns } from './stuck.ts';
import { whyTurn } from './why.ts';
import { why } from './why-schema.ts';

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
    summary: 'Steer a turn, decide what it waits for, or give it the result of a call its client made',
    access: 'turns:write',
    missing: 'turn_not_found',
    body: signal,
    answers: {
      202: { description: 'The turn; what was sent is stored and will be applied.', schema: oneTurn },
    },
    errors: [
      'turn_closed',
      'turn_not_waiting',
      'call_not_found',
      'call_answered',
      'turn_parked',
      'turn_elsewhere',
      'busy',
    ],
    handle: async (context, call) => {
      await signalTurn(context, call);
      return { status: 202, body: await shownTurn(context, call.caller.tenant, call.id) };
    },
  }),
  route({
    method: 'POST',
    path: '/v1/turns/:id/retry',
    summary: 'Bring a parked or stuck turn back; of a closed one, enqueue its directive as a new turn',
    access: 'turns:write',
    missing: 'turn_not_found',
    headers: [IDEMPOTENCY_HEADER],
    answers: {
      202: {
        description: 'The turn, on its way again; of a closed one the new turn, whose retry_of names it.',
        schema: oneTurn,
      },
    },
    errors: [
      'turn_closed',
      'turn_not_stuck',
      'turn_parked',
      'idempotency_conflict',
      'session_archived',
      'busy',
    ],
    handle: async (context, call) => {
      const shown = await retryTurn(context, call, await theTurn(context, call));
      return { status: 202, body: await shownTurn(context, call.caller.tenant, shown) };
    },
  }),
  route({
    method: 'GET',
    path: '/v1/turns/:id/why',
    summary: 'Say in a few sentences what a turn waits for, or how it ended, with the facts',
    access: 'turns:read',
    missing: 'turn_not_found',
    query: noQuery,
    answers: { 200: { description: 'Sentences and facts.', schema: why } },
    errors: [],
    handle: async ({ services }, { caller, id }) => ({
      status: 200,
      body: await whyTurn(services, caller.tenant, id),
    }),
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
  if (row.status === 'closed') throw turnClosed(row.turn, row.outcome);
  const delivered = await context.services.engine.deliver(
    { ...refOf(call.caller.tenant, row), actor: row.turn },
    { id: 'cancel', event: { type: 'turn.cancel' } },
  );
  refuseUnless(delivered, row.turn);
}
