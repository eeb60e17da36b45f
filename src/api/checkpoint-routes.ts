/** A session as a deep checkpoint: written here, taken in elsewhere. */
import { Readable } from 'node:stream';
import { TurnwrightError } from '../ledger/errors.ts';
import { MACHINES } from '../machines/registry.ts';
import { exportLines, outlineOf } from '../runtime/checkpoint-export.ts';
import { importLines } from '../runtime/checkpoint-import.ts';
import { bodyLines } from './body-lines.ts';
import { importedCheckpoint } from './checkpoint-schemas.ts';
import { type Route, route } from './contract.ts';
import { LINES } from './read-bodies.ts';
import { noQuery } from './schemas.ts';

export const CHECKPOINT_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/v1/sessions/:id/export',
    summary: 'Write a session at rest, and all it goes on from, as a checkpoint: one JSON object a line',
    access: 'content',
    missing: 'session_not_found',
    query: noQuery,
    answers: { 200: { description: 'The lines; the last is of type "end".', mediaType: LINES } },
    errors: ['turn_running', 'ancestor_unreadable'],
    handle: async ({ services: { checkpoints } }, { caller, id, reply }) => {
      const ref = { tenant: caller.tenant, session: id };
      const parts = await outlineOf(checkpoints, ref);
      reply.type(LINES);
      return { status: 200, body: Readable.from(exportLines(checkpoints, ref, parts)) };
    },
  }),
  route({
    method: 'POST',
    path: '/v1/sessions/import',
    summary: 'Take in the checkpoint of a session, with its ids and digests',
    access: 'admin',
    streamed: LINES,
    answers: { 201: { description: 'What was taken in.', schema: importedCheckpoint } },
    errors: ['checkpoint_refused', 'session_exists', 'ledger_corrupt', 'busy'],
    handle: async ({ services, limits }, { caller, request: { body } }) => {
      if (!(body instanceof Readable))
        throw new TurnwrightError('unsupported_media_type', `Send the checkpoint as ${LINES}.`);
      const { checkpoints, store, upkeep } = services;
      const deps = { checkpoints, store, upkeep, registry: MACHINES };
      const lines = bodyLines(body, limits.streamStallMs);
      return { status: 201, body: await importLines(deps, caller.tenant, lines) };
    },
  }),
];
