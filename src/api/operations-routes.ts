/** What operators and their tools ask: alive, ready, metrics, the contract itself. */
import { z } from 'zod';
import { checkMigrated } from '../db/queries/check-migrated.ts';
import { type Route, route } from './contract.ts';
import { readiness } from './schemas.ts';

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
  return [ALIVE, READY, METRICS_TEXT, contract];
}
