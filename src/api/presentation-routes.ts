/** The cards of a session: listed, and what people made of them. */

import { z } from 'zod';
import { listPresentations } from '../db/queries/list-presentations.ts';
import { ordinalOf } from '../ledger/ids.ts';
import { presentationNotFound, type Said, sayOfPresentation } from '../runtime/presentations.ts';
import { presentationAnswer } from './context-answers.ts';
import * as schemas from './context-schemas.ts';
import { type ApiContext, type Call, type Route, route } from './contract.ts';
import { readsContent, sessionNotFound, theSession } from './found.ts';

const IN_PATH = {
  p: z
    .string()
    .regex(/^p[1-9]\d*$/u)
    .describe('A card, such as p3.'),
};
const WRITTEN = { 201: { description: 'Kept with the session.', schema: schemas.recorded } };

export const PRESENTATION_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/v1/sessions/:id/presentations',
    summary: 'List the cards a session showed, oldest first; their payloads with the scope content',
    access: 'turns:read',
    missing: 'session_not_found',
    query: schemas.presentationsQuery,
    answers: {
      200: {
        description: 'A page; next_cursor is null on the last.',
        schema: z.strictObject({
          presentations: z.array(schemas.presentation),
          next_cursor: z.string().nullable(),
        }),
      },
    },
    errors: [],
    handle: listed,
  }),
  route({
    method: 'POST',
    path: '/v1/sessions/:id/presentations/:p/feedback',
    summary: 'Say what a card was worth',
    access: 'turns:write',
    missing: 'session_not_found',
    inPath: IN_PATH,
    body: schemas.newFeedback,
    answers: WRITTEN,
    errors: ['presentation_not_found', 'busy'],
    handle: (context, call) => {
      const { verdict, note } = call.body;
      return say(context, call, (presentation) => ({
        kind: 'presentation-feedback',
        body: { presentation, verdict, ...(note === undefined ? {} : { note }) },
      }));
    },
  }),
  route({
    method: 'POST',
    path: '/v1/sessions/:id/presentations/:p/selection',
    summary: 'Say what was picked on a card',
    access: 'turns:write',
    missing: 'session_not_found',
    inPath: IN_PATH,
    body: schemas.newSelection,
    answers: WRITTEN,
    errors: ['presentation_not_found', 'busy'],
    handle: (context, call) => {
      const { selected } = call.body;
      return say(context, call, (presentation) => ({
        kind: 'presentation-selection',
        body: { presentation, selected },
      }));
    },
  }),
];

async function listed(
  context: ApiContext,
  call: Call<undefined, z.infer<typeof schemas.presentationsQuery>>,
) {
  await theSession(context, call);
  const { limit, cursor } = call.query;
  const after = cursor === undefined ? 0 : (ordinalOf('p', cursor) ?? 0);
  const ref = { tenant: call.caller.tenant, session: call.id };
  const rows = await listPresentations(context.services.pool, ref, { after, limit: limit + 1 });
  const page = rows.slice(0, limit);
  const content = readsContent(call.caller);
  const last = page.at(-1);
  return {
    status: 200,
    body: {
      presentations: page.flatMap((row) => presentationAnswer(row, { content }) ?? []),
      next_cursor: rows.length > limit && last !== undefined ? `p${last.ordinal}` : null,
    },
  };
}

async function say<Body>(context: ApiContext, call: Call<Body>, said: (presentation: string) => Said) {
  await theSession(context, call);
  const { engine, pool } = context.services;
  const { p = '' } = call.inPath;
  const ref = { tenant: call.caller.tenant, session: call.id };
  const ordinal = ordinalOf('p', p);
  const [card] = ordinal === null ? [] : await listPresentations(pool, ref, { after: ordinal - 1, limit: 1 });
  if (card === undefined || card.ordinal !== ordinal) throw presentationNotFound(p);
  const record = await sayOfPresentation(engine, ref, card, said(p));
  if (record === null) throw sessionNotFound(call.id);
  return { status: 201, body: { record } };
}
