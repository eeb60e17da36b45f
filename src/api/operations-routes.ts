/** What operators and their tools ask: alive, ready, metrics, models, the contract itself. */
import { z } from 'zod';
import { checkMigrated } from '../db/queries/check-migrated.ts';
import { type ApiContext, type Route, route } from './contract.ts';
import { leg, noQuery, readiness } from './schemas.ts';

const OPENAPI_ANSWER = z.looseObject({ openapi: z.string(), paths: z.record(z.string(), z.unknown()) });

const ALIVE = route({
  method: 'GET',
  path: '/healthz',
  summary: 'The process answers',
  access: null,
  answers: {
    200: { description: 'It does.', schema: z.strictObject({ status: z.literal('ok') }) },
  },
  errors: [],
  handle: async () => ({ status: 200, body: { status: 'ok' } }),
});

const READY = route({
  method: 'GET',
  path: '/readyz',
  summary: 'The database is reachable and migrated, and the queue answers',
  access: null,
  answers: { 200: { description: 'Ready.', schema: readiness } },
  errors: ['database_unreachable', 'queue_unreachable', 'migration_required'],
  handle: async ({ services }) => {
    await checkMigrated(services.pool);
    await services.queue.ping();
    return { status: 200, body: { status: 'ready', database: 'ok', queue: 'ok' } };
  },
});

const METRICS_TEXT = route({
  method: 'GET',
  path: '/metrics',
  summary: 'Metrics of the whole deployment, for Prometheus',
  access: 'operator',
  answers: { 200: { description: 'Prometheus text.', mediaType: 'text/plain' } },
  errors: ['database_unreachable'],
  handle: async ({ metrics }, { reply }) => {
    const text = await metrics.render();
    await reply.code(200).type(metrics.contentType).send(text);
    return null;
  },
});

const LEGS = route({
  method: 'GET',
  path: '/v1/legs',
  summary: 'List the configured legs',
  access: 'turns:read',
  query: noQuery,
  answers: {
    200: {
      description: 'Legs, and ladders by name.',
      schema: z.strictObject({
        legs: z.array(leg),
        ladders: z.record(z.string(), z.array(z.string())),
      }),
    },
  },
  errors: [],
  handle: async (context) => ({ status: 200, body: legsOf(context) }),
});

/** `document` gives the OpenAPI document, which lists these routes too. */
export function operationsRoutes(document: () => unknown): readonly Route[] {
  const contract = route({
    method: 'GET',
    path: '/openapi.json',
    summary: 'This contract',
    access: null,
    answers: { 200: { description: 'OpenAPI 3.1.', schema: OPENAPI_ANSWER } },
    errors: [],
    handle: async () => ({ status: 200, body: document() }),
  });
  return [ALIVE, READY, METRICS_TEXT, contract, LEGS];
}

/** Addresses and credentials of legs stay inside. */
function legsOf({ services }: ApiContext) {
  const { legs, ladders, defaultLeg } = services.config;
  const first = defaultLeg ?? legs[0]?.name;
  return {
    legs: legs.map(({ name, provider, model, window, maxOutputTokens }) => ({
      name,
      provider,
      model,
      window_tokens: window ?? null,
      max_output_tokens: maxOutputTokens ?? null,
      default: name === first,
    })),
    ladders,
  };
}
