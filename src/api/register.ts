/** Registers one entry of the route table: key, limit, id, body, handler, answer. */
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { KeyHolder } from '../db/keys.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import type { Authority } from './authorise.ts';
import type { ApiContext, Route } from './contract.ts';
import { invalidRequest } from './failures.ts';
import { sessionNotFound, turnNotFound } from './found.ts';
import type { RateLimit } from './rate-limit.ts';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/u;
const LONGEST_ID_CHARS = 40;
/** Who calls a route that needs no key. */
const NOBODY: KeyHolder = { tenant: '', keyId: '', scopes: [] };

export interface Gate {
  readonly authority: Authority;
  readonly rateLimit: RateLimit;
  readonly nowMs: () => number;
}

export function register(app: FastifyInstance, context: ApiContext, gate: Gate, route: Route): void {
  const callers = new WeakMap<FastifyRequest, KeyHolder>();
  app.route({
    method: route.method,
    url: route.path,
    config: { streamed: route.streamed },
    ...(route.maxBodyBytes === undefined
      ? {}
      : { bodyLimit: Math.max(route.maxBodyBytes, app.initialConfig.bodyLimit ?? 0) }),
    // Before the body is read: a stranger's is not worth reading.
    onRequest: async (request) => {
      callers.set(request, await callerOf(context, gate, route, request));
    },
    handler: async (request, reply) => {
      const answer = await route.handle(context, {
        caller: callers.get(request) ?? NOBODY,
        id: idOf(route, request),
        inPath: request.params as Readonly<Record<string, string>>,
        body: bodyOf(route, request),
        query: parsed(route.query, request.query, 'query'),
        request,
        reply,
      });
      if (answer === null) return reply;
      return reply.code(answer.status).send(answer.body);
    },
  });
}

async function callerOf(
  { loopback }: ApiContext,
  { authority, rateLimit, nowMs }: Gate,
  { access }: Route,
  request: FastifyRequest,
): Promise<KeyHolder> {
  if (access === null || (access === 'operator' && loopback)) return NOBODY;
  const caller =
    access === 'operator' ? await authority.operator(request) : await authority.bearer(request, access);
  const waitMs = rateLimit.take(caller.keyId, nowMs());
  if (waitMs === null) return caller;
  const seconds = Math.max(1, Math.ceil(waitMs / 1_000));
  throw new TurnwrightError('rate_limited', `Too many requests for this key. Try again in ${seconds} s.`, {
    details: { retry_after_seconds: seconds },
  });
}

function idOf({ missing }: Route, request: FastifyRequest): string {
  if (missing === undefined || missing === 'unknown_leg') return '';
  const { id = '' } = request.params as { readonly id?: string };
  const lower = id.toLowerCase();
  if (UUID.test(lower)) return lower;
  const shown = id.slice(0, LONGEST_ID_CHARS);
  throw missing === 'session_not_found' ? sessionNotFound(shown) : turnNotFound(shown);
}

function bodyOf(route: Route, request: FastifyRequest): unknown {
  const { body } = request;
  if (route.streamed !== undefined) return body;
  if (route.body !== undefined)
    return parsed(route.body, body ?? (route.bodyOptional === true ? {} : undefined), 'body');
  const empty = body === undefined || body === null || JSON.stringify(body) === '{}';
  if (empty) return undefined;
  throw new TurnwrightError('invalid_request', 'This route takes no body. Send none.');
}

function parsed(schema: z.ZodType | undefined, value: unknown, where: string): unknown {
  if (schema === undefined) return undefined;
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw invalidRequest(result.error, value, where);
}
