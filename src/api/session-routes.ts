/** Sessions: made, listed, shown, archived, verified. */
import { z } from 'zod';
import { archiveSession, listSessions } from '../db/queries/read-sessions.ts';
import { ChainVerifier, type Verdict } from '../ledger/verify.ts';
import { createSession } from '../runtime/sessions.ts';
import { sessionAnswer } from './answers.ts';
import { type ApiContext, type Call, type Route, route } from './contract.ts';
import { refOf, sessionNotFound, theSession } from './found.ts';
import { newSession, noQuery, page, session, verdict } from './schemas.ts';
import { sessionConfig } from './session-config.ts';

const oneSession = z.strictObject({ session });

export const SESSION_ROUTES: readonly Route[] = [
  route({
    method: 'POST',
    path: '/v1/sessions',
    summary: 'Create a session',
    access: 'turns:write',
    body: newSession,
    bodyOptional: true,
    answers: { 201: { description: 'The session.', schema: oneSession } },
    errors: ['unknown_leg', 'unknown_tool'],
    handle: async (context, call) => {
      const { config, engine, newId } = context.services;
      const settings = sessionConfig(call.body, { ...config, tools: context.tools });
      const id = newId();
      await createSession(engine, { tenant: call.caller.tenant, session: id }, newId(), settings);
      const row = await theSession(context, { ...call, id });
      return { status: 201, body: { session: sessionAnswer(row) } };
    },
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
    answers: { 200: { description: 'The session.', schema: oneSession } },
    errors: [],
    handle: async (context, call) => ({
      status: 200,
      body: { session: sessionAnswer(await theSession(context, call)) },
    }),
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
      const known = await archiveSession(context.services.pool, call.caller.tenant, call.id);
      if (!known) throw sessionNotFound(call.id);
      return { status: 200, body: { session: sessionAnswer(await theSession(context, call)) } };
    },
  }),
  route({
    method: 'GET',
    path: '/v1/sessions/:id/verify',
    summary: 'Check every record of a session against its hash chain',
    access: 'turns:read',
    missing: 'session_not_found',
    query: noQuery,
    answers: {
      200: { description: 'Whether it holds, and the first record that does not.', schema: verdict },
    },
    errors: [],
    handle: async (context, call) => ({ status: 200, body: await verified(context, call) }),
  }),
];

/** Up to the end the session row states: what is appended meanwhile is the next check's. */
async function verified(context: ApiContext, call: Call): Promise<z.infer<typeof verdict>> {
  const row = await theSession(context, call);
  const verifier = new ChainVerifier(row.session);
  for await (const record of context.services.store.records(refOf(call.caller.tenant, row))) {
    if (record.seq > row.records || !verifier.next(record)) break;
  }
  const result: Verdict = verifier.end({ nextSeq: row.records + 1, lastDigest: row.lastDigest });
  return result.ok
    ? { session: row.session, ok: true, records: result.records, last_digest: result.lastDigest, fault: null }
    : { session: row.session, ok: false, records: row.records, last_digest: null, fault: result.fault };
}
