/** Sessions that go on from others, and those that begin anew. */
import type { z } from 'zod';
import { TurnwrightError } from '../ledger/errors.ts';
import { clearSession } from '../runtime/clear.ts';
import { forkSession } from '../runtime/fork.ts';
import { sessionAnswer } from './answers.ts';
import { type ApiContext, type Call, type Route, route } from './contract.ts';
import { theSession } from './found.ts';
import { cleared, type NewFork, newFork } from './lineage-schemas.ts';
import { type NewSession, oneSession } from './schemas.ts';
import { forkedConfig } from './session-config.ts';

export const LINEAGE_ROUTES: readonly Route[] = [
  route({
    method: 'POST',
    path: '/v1/sessions/:id/fork',
    summary:
      'Create a session that goes on from where this one stands; neither sees what the other says later',
    access: 'turns:write',
    missing: 'session_not_found',
    body: newFork,
    bodyOptional: true,
    answers: { 201: { description: 'The new session.', schema: oneSession } },
    errors: ['unknown_leg', 'ancestor_unreadable'],
    handle: async (context, call) => ({
      status: 201,
      body: await forked(context, call, call.id, call.body),
    }),
  }),
  route({
    method: 'POST',
    path: '/v1/sessions/:id/clear',
    summary:
      'Begin a session anew: cancel its turns, and carry and recall nothing from before. The records stay, forks go on',
    access: 'turns:write',
    missing: 'session_not_found',
    answers: { 200: { description: 'Whether there was anything to clear.', schema: cleared } },
    errors: ['turn_elsewhere', 'busy'],
    handle: async ({ services }, call) => {
      const ref = { tenant: call.caller.tenant, session: call.id };
      const found = await clearSession(services.engine, ref);
      const body: z.infer<typeof cleared> = { session: call.id, ...found, cancelled: [...found.cancelled] };
      return { status: 200, body };
    },
  }),
];

/** @throws TurnwrightError `invalid_request` naming what a fork has from the session it goes on from. */
export function forkOf({ forkOf: _, ...sent }: NewSession): NewFork {
  const fit = newFork.safeParse(sent);
  if (fit.success) return fit.data;
  const taken = Object.keys(newFork.shape).join(', ');
  const wrong = Object.keys(sent).filter((name) => !Object.hasOwn(newFork.shape, name));
  throw new TurnwrightError(
    'invalid_request',
    `A fork takes ${taken}, and has all else from the session it goes on from; found ${wrong.join(', ')}. Leave it out.`,
  );
}

export async function forked(
  context: ApiContext,
  call: Pick<Call, 'caller'>,
  from: string,
  sent: NewFork,
): Promise<z.infer<typeof oneSession>> {
  const { config, engine, newId } = context.services;
  const session = newId();
  const ref = { tenant: call.caller.tenant, session: from };
  await forkSession(engine, ref, {
    session,
    head: newId(),
    settings: (settings) => forkedConfig(sent, settings, { ...config, tools: context.tools }),
  });
  return { session: sessionAnswer(await theSession(context, { ...call, id: session })) };
}
