/** Sessions: made, listed, shown, archived, verified. */
import { z } from 'zod';
import { listSessions } from '../db/queries/read-sessions.ts';
import { MACHINES } from '../machines/registry.ts';
import type { Difference } from '../runtime/differences.ts';
import { importSession } from '../runtime/imported-history.ts';
import { rebuildSession } from '../runtime/rebuild.ts';
import { archiveSession, createSession } from '../runtime/sessions.ts';
import { verifySession } from '../runtime/verify-session.ts';
import { sessionAnswer } from './answers.ts';
import { type ApiContext, type Call, type Route, route } from './contract.ts';
import { sessionNotFound, theSession } from './found.ts';
import { imported, MAX_HISTORY_BODY_BYTES } from './history-schema.ts';
import { forked, forkOf } from './lineage-routes.ts';
import {
  costedSession,
  type NewSession,
  newSession,
  noQuery,
  oneSession,
  page,
  rebuild,
  session,
  verdict,
} from './schemas.ts';
import { sessionConfig } from './session-config.ts';
import { costAnswer, totalOf } from './usage-answers.ts';

export const SESSION_ROUTES: readonly Route[] = [
  route({
    method: 'POST',
    path: '/v1/sessions',
    summary: 'Create a session',
    access: 'turns:write',
    body: newSession,
    bodyOptional: true,
    answers: { 201: { description: 'The session.', schema: oneSession } },
    maxBodyBytes: MAX_HISTORY_BODY_BYTES,
    errors: ['unknown_leg', 'unknown_tool', 'session_not_found', 'ancestor_unreadable'],
    handle: async (context, call) => ({ status: 201, body: await created(context, call) }),
  }),
  route({
    method: 'GET',
    path: '/v1/sessions',
    summary: 'List sessions, newest first',
    access: 'turns:read',
    query: page,
    answers: {
      200: {
        description: 'A page; next_cursor is null on the last.',
        schema: z.strictObject({ sessions: z.array(session), next_cursor: z.uuid().nullable() }),
      },
    },
    errors: [],
    handle: async ({ services }, { caller, query }) => {
      const rows = await listSessions(services.pool, caller.tenant, {
        before: query.cursor ?? null,
        limit: query.limit + 1,
      });
      const shown = rows.slice(0, query.limit);
      const next = rows.length > query.limit ? (shown.at(-1)?.session ?? null) : null;
      return { status: 200, body: { sessions: shown.map(sessionAnswer), next_cursor: next } };
    },
  }),
  route({
    method: 'GET',
    path: '/v1/sessions/:id',
    summary: 'Show a session',
    access: 'turns:read',
    missing: 'session_not_found',
    query: noQuery,
    answers: {
      200: {
        description: 'The session, and what its calls came to.',
        schema: z.strictObject({ session: costedSession }),
      },
    },
    errors: [],
    handle: async (context, call) => {
      const row = await theSession(context, call);
      const spent = await context.services.usage.report(
        call.caller.tenant,
        'session',
        { session: call.id },
        1,
      );
      return { status: 200, body: { session: { ...sessionAnswer(row), ...costAnswer(totalOf(spent)) } } };
    },
  }),
  route({
    method: 'DELETE',
    path: '/v1/sessions/:id',
    summary: 'Archive a session: it takes no new turns, its records stay',
    access: 'turns:write',
    missing: 'session_not_found',
    answers: { 200: { description: 'The archived session.', schema: oneSession } },
    errors: [],
    handle: async (context, call) => {
      const ref = { tenant: call.caller.tenant, session: call.id };
      const known = await archiveSession(context.services.engine, ref);
      if (!known) throw sessionNotFound(call.id);
      return { status: 200, body: { session: sessionAnswer(await theSession(context, call)) } };
    },
  }),
  route({
    method: 'GET',
    path: '/v1/sessions/:id/verify',
    summary:
      'Check every record of a session against its hash chain, and all that is stored beside them against its laws',
    access: 'turns:read',
    missing: 'session_not_found',
    query: noQuery,
    answers: {
      200: { description: 'Whether it holds, and the first record that does not.', schema: verdict },
    },
    errors: [],
    handle: async (context, call) => ({ status: 200, body: await verified(context, call) }),
  }),
  route({
    method: 'POST',
    path: '/v1/sessions/:id/rebuild',
    summary: 'Make every projection of a session anew of its records and events, and mend what differs',
    access: 'admin',
    missing: 'session_not_found',
    answers: { 200: { description: 'What differed; nothing, in a sound session.', schema: rebuild } },
    errors: ['ledger_corrupt', 'busy'],
    handle: async (context, call) => ({ status: 200, body: await rebuilt(context, call) }),
  }),
];

async function created(context: ApiContext, call: Call<NewSession>): Promise<z.infer<typeof oneSession>> {
  const { body, caller } = call;
  if (body.forkOf !== undefined) return forked(context, call, body.forkOf, forkOf(body));
  const { config: deployment, engine, newId } = context.services;
  const config = sessionConfig(body, { ...deployment, tools: context.tools });
  const [id, head] = [newId(), newId()];
  const ref = { tenant: caller.tenant, session: id };
  if (body.history === undefined) await createSession(engine, ref, head, config);
  else await importSession(engine, ref, { head, config, messages: body.history.map(imported), newId });
  return { session: sessionAnswer(await theSession(context, { caller, id })) };
}

async function verified({ services }: ApiContext, call: Call): Promise<z.infer<typeof verdict>> {
  const ref = { tenant: call.caller.tenant, session: call.id };
  const found = await verifySession({ store: services.store, registry: MACHINES }, ref);
  if (found === null) throw sessionNotFound(call.id);
  const { chain, broken } = found;
  const { session } = ref;
  return chain.ok
    ? {
        session,
        ok: broken === null,
        records: chain.records,
        last_digest: chain.lastDigest,
        fault: null,
        broken,
      }
    : { session, ok: false, records: chain.fault.seq, last_digest: null, fault: chain.fault, broken };
}

/** The session's own row may be what is gone: only its records must stand. */
async function rebuilt({ services }: ApiContext, call: Call): Promise<z.infer<typeof rebuild>> {
  const ref = { tenant: call.caller.tenant, session: call.id };
  const { store, upkeep } = services;
  const found = await rebuildSession({ store, upkeep, registry: MACHINES }, ref);
  const what = ({ stored, rebuilt: made }: Difference) =>
    stored === null ? 'missing' : made === null ? 'surplus' : 'different';
  return {
    session: ref.session,
    restored: found.restored,
    differences: found.differences.map((difference) => {
      const { table, key } = difference;
      return { table, key, found: what(difference) };
    }),
  };
}
