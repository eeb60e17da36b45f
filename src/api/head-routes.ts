/** Heads of a session: listed, and moved between. */
import { readHeads } from '../db/queries/read-heads.ts';
import { checkOut } from '../runtime/checkout.ts';
import { type Route, route } from './contract.ts';
import { sessionNotFound } from './found.ts';
import { anchor, checkedOut, heads } from './head-schemas.ts';
import { noQuery } from './schemas.ts';

export const HEAD_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/v1/sessions/:id/heads',
    summary: 'List the heads of a session, those that were left too',
    access: 'turns:read',
    missing: 'session_not_found',
    query: noQuery,
    answers: { 200: { description: 'The heads, oldest first.', schema: heads } },
    errors: [],
    handle: async ({ services }, { caller, id }) => {
      const rows = await readHeads(services.pool, { tenant: caller.tenant, session: id });
      if (rows.length === 0) throw sessionNotFound(id);
      const shown = rows.map(({ head, from, live, turns, newestTurn, afterTurn, openTurn }) => {
        const numbers = { turns, newest_turn: newestTurn, after_turn: afterTurn };
        return { id: head, from, live, ...numbers, open_turn: openTurn };
      });
      return { status: 200, body: { heads: shown } };
    },
  }),
  route({
    method: 'POST',
    path: '/v1/sessions/:id/checkout',
    summary: 'Go on from an earlier turn, on a head of its own, or from another head',
    access: 'turns:write',
    missing: 'session_not_found',
    body: anchor,
    answers: { 200: { description: 'The live head; what came after stays on its own.', schema: checkedOut } },
    errors: ['head_not_found', 'turn_not_found', 'ancestor_unreadable', 'turn_elsewhere', 'busy'],
    handle: async ({ services }, { caller, id, body }) => {
      const { engine, newId } = services;
      const ref = { tenant: caller.tenant, session: id };
      return { status: 200, body: await checkOut(engine, ref, body, newId()) };
    },
  }),
];
