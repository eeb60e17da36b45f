/** What requests of a session carry: the last one, the next one, any one that was sent; what they leave, and how to reach it. */
import type { z } from 'zod';
import { findPlannedTurn } from '../db/queries/find-planned-turn.ts';
import { findTurn } from '../db/queries/find-turn.ts';
import type { SessionRow } from '../db/queries/read-sessions.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import type { Json } from '../ledger/json.ts';
import { parseBody } from '../ledger/kinds.ts';
import type { Leg } from '../providers/contract.ts';
import { compactSession } from '../runtime/compact.ts';
import { dryEvict } from '../runtime/dry-evict.ts';
import { dryPlan } from '../runtime/dry-plan.ts';
import { itemsContext } from '../runtime/items-context.ts';
import { retractLink } from '../runtime/retract-link.ts';
import { rebuildSent } from '../runtime/sent-request.ts';
import { contextOf } from '../runtime/session-context.ts';
import { recallFrom } from '../runtime/session-recall.ts';
import {
  compactAnswer,
  contextAnswer,
  dryEvictAnswer,
  dryPlanAnswer,
  sentAnswer,
} from './context-answers.ts';
import * as schemas from './context-schemas.ts';
import { type ApiContext, type Call, type Route, route } from './contract.ts';
import { readsContent, refOf, sessionNotFound, theSession, theTurn } from './found.ts';
import { noQuery } from './schemas.ts';
import { legNamed } from './session-config.ts';

export const CONTEXT_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/v1/sessions/:id/plan',
    summary: 'Plan the next turn of a session under any leg, without sending or writing anything',
    access: 'turns:read',
    missing: 'session_not_found',
    query: schemas.planQuery,
    answers: { 200: { description: 'The plan, and why each piece is what it is.', schema: schemas.dryPlan } },
    errors: ['unknown_leg'],
    handle: planned,
  }),
  route({
    method: 'GET',
    path: '/v1/sessions/:id/context',
    summary: 'Show what the last request of a session was made of: sizes, ids and digests, no text',
    access: 'turns:read',
    missing: 'session_not_found',
    query: noQuery,
    answers: { 200: { description: 'Of the turn planned last.', schema: schemas.sessionContext } },
    errors: ['ledger_corrupt'],
    handle: lastContext,
  }),
  route({
    method: 'GET',
    path: '/v1/turns/:id/request',
    summary: 'Make a request that was sent again from the records, and hold it against its stored digest',
    access: 'turns:read',
    missing: 'turn_not_found',
    query: schemas.requestQuery,
    answers: {
      200: {
        description: 'Both digests; with the scope content the request itself.',
        schema: schemas.sentRequest,
      },
    },
    errors: ['step_not_found', 'ledger_corrupt'],
    handle: requestAgain,
  }),
  route({
    method: 'POST',
    path: '/v1/sessions/:id/recall',
    summary: 'Return what a session recorded, as its model would recall it',
    access: 'content',
    missing: 'session_not_found',
    body: schemas.recallArguments,
    answers: { 200: { description: 'What was recorded.', schema: schemas.recalled } },
    errors: [],
    handle: recall,
  }),
  route({
    method: 'POST',
    path: '/v1/sessions/:id/compact',
    summary: 'Begin the summary that the next plan of a session wants',
    access: 'turns:write',
    missing: 'session_not_found',
    answers: { 200: { description: 'What is wanted, and whether it was begun.', schema: schemas.compacted } },
    errors: ['unknown_leg', 'busy'],
    handle: async (context, call) => {
      const leg = legOf(context, await theSession(context, call));
      const ref = { tenant: call.caller.tenant, session: call.id };
      const begun = await compactSession(context.sessions, ref, leg);
      return { status: 200, body: compactAnswer(call.id, begun) };
    },
  }),
  route({
    method: 'POST',
    path: '/v1/sessions/:id/links/retract',
    summary: 'Take a link of a turn back: no plan follows it from now on',
    access: 'turns:write',
    missing: 'session_not_found',
    body: schemas.newRetraction,
    answers: { 200: { description: 'What was taken back.', schema: schemas.retracted } },
    errors: ['link_not_found', 'busy'],
    handle: async ({ services }, { caller, id, body }) => {
      const epoch = await retractLink(services.engine, { tenant: caller.tenant, session: id }, body);
      if (epoch === null) throw sessionNotFound(id);
      return { status: 200, body: { retracted: body, epoch } };
    },
  }),
];

async function planned(context: ApiContext, call: Call<unknown, z.infer<typeof schemas.planQuery>>) {
  const { text = null, leg: named, policy } = call.query;
  const row = await theSession(context, call);
  const leg = legOf(context, row, named);
  const ref = { tenant: call.caller.tenant, session: call.id };
  const under = policy ?? parseBody('session-created', JSON.parse(row.config)).policy.name;
  const body =
    under === 'evict'
      ? dryEvictAnswer(call.id, leg.name, await dryEvict(context.sessions, ref, { text, leg }))
      : dryPlanAnswer(call.id, leg.name, await dryPlan(context.sessions, ref, { text, leg }));
  return { status: 200, body };
}

async function lastContext(context: ApiContext, call: Call) {
  const { services, sessions } = context;
  const ref = { tenant: call.caller.tenant, session: call.id };
  const state = await services.store.loadSession(ref, null);
  if (state === null) throw sessionNotFound(call.id);
  const row = await findPlannedTurn(services.pool, ref);
  const made = row === null ? null : await contextOf(sessions, state.session, row);
  if (row === null || made === null) return { status: 200, body: { session: call.id, context: null } };
  const { turn, plan } = made;
  const evicts = plan.policy === 'evict';
  const items = evicts ? await itemsContext(sessions, state.session, { head: row.head, turn }) : null;
  return { status: 200, body: contextAnswer(call.id, row, { ...made, items }) };
}

async function requestAgain(context: ApiContext, call: Call<unknown, z.infer<typeof schemas.requestQuery>>) {
  const row = await theTurn(context, call);
  const { step } = call.query;
  const sent = await rebuildSent(context.sessions, refOf(call.caller.tenant, row), row, step);
  if (sent === null)
    throw new TurnwrightError(
      'step_not_found',
      `Turn ${row.turn} sent no request in step ${step} that a plan was kept for. GET /v1/sessions/:id/context lists the calls of the newest turn.`,
    );
  return { status: 200, body: sentAnswer(row.turn, sent, { content: readsContent(call.caller) }) };
}

async function recall({ services, sessions }: ApiContext, { caller, id, body }: Call<Record<string, Json>>) {
  const { store, pool, config } = services;
  const state = await store.loadSession({ tenant: caller.tenant, session: id }, null);
  if (state === null) throw sessionNotFound(id);
  const open = state.openTurn === null ? null : await findTurn(pool, caller.tenant, state.openTurn);
  const request = { args: body, root: config.root, running: open?.number ?? null };
  const { content, isError } = await recallFrom(sessions, state, request);
  return { status: 200, body: { content, is_error: isError } };
}

/** The leg that is asked for, else the session's own. */
function legOf({ services }: ApiContext, row: SessionRow, named?: string): Leg {
  const own = parseBody('session-created', JSON.parse(row.config)).leg;
  return legNamed(named ?? own, services.config);
}
