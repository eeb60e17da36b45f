/** Turns: accepted, shown, followed, replayed. */
import { z } from 'zod';
import { readAppliedEvents } from '../db/queries/read-applied-events.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import type { JsonObject } from '../ledger/json.ts';
import { MACHINES } from '../machines/registry.ts';
import { type AcceptRequest, acceptTurn } from '../runtime/accept.ts';
import { replay, unfold } from '../runtime/replay.ts';
import { findMachine } from '../runtime/snapshot.ts';
import { type ApiContext, type Call, type Route, route } from './contract.ts';
import { parsePlace, START } from './event-ids.ts';
import { streamEvents } from './event-stream.ts';
import { isClosing } from './events.ts';
import { refOf, shownTurn, theTurn } from './found.ts';
import { inputBlocks, type NewTurn, newTurn, noQuery, replayed, turn } from './schemas.ts';
import { SECURITY_HEADERS } from './security-headers.ts';
import { budgetOf } from './session-config.ts';

const IDEMPOTENCY_KEY = /^[\x20-\x7e]{1,200}$/u;
const oneTurn = z.strictObject({ turn });

export const TURN_ROUTES: readonly Route[] = [
  route({
    method: 'POST',
    path: '/v1/sessions/:id/turns',
    summary: 'Accept a turn: it is durable when this answers, and runs when its head is free',
    access: 'turns:write',
    missing: 'session_not_found',
    headers: [
      {
        name: 'Idempotency-Key',
        description: 'Printable ASCII, at most 200. The same key and body name the same turn.',
      },
    ],
    body: newTurn,
    answers: { 202: { description: 'The turn.', schema: oneTurn } },
    errors: [
      'idempotency_conflict',
      'session_archived',
      'turn_running',
      'turn_parked',
      'turn_elsewhere',
      'busy',
    ],
    handle: async (context, call) => {
      const ref = { tenant: call.caller.tenant, session: call.id };
      const accepted = await acceptTurn(context.services.engine, ref, acceptRequest(context, call));
      return { status: 202, body: await shownTurn(context, ref.tenant, accepted.turn) };
    },
  }),
  route({
    method: 'GET',
    path: '/v1/turns/:id',
    summary: 'Show a turn: where it stands, its answer, what it cost',
    access: 'turns:read',
    missing: 'turn_not_found',
    query: noQuery,
    answers: { 200: { description: 'The turn.', schema: oneTurn } },
    errors: [],
    handle: async (context, { caller, id }) => ({
      status: 200,
      body: await shownTurn(context, caller.tenant, id),
    }),
  }),
  route({
    method: 'GET',
    path: '/v1/turns/:id/events',
    summary: 'Follow a turn by server-sent events until it ends',
    access: 'turns:read',
    missing: 'turn_not_found',
    query: noQuery,
    headers: [
      {
        name: 'Last-Event-ID',
        description: 'Resume after this event; no durable event is lost or repeated.',
      },
    ],
    answers: {
      200: { description: 'The stream, up to and with its closing event.', mediaType: 'text/event-stream' },
      204: { description: 'The turn ended and every event was seen: do not reconnect.' },
    },
    errors: [],
    handle: follow,
  }),
  route({
    method: 'GET',
    path: '/v1/turns/:id/replay',
    summary: 'Run the turn’s events again and compare every snapshot with the stored one',
    access: 'turns:read',
    missing: 'turn_not_found',
    query: noQuery,
    answers: { 200: { description: 'Each event with the state after it.', schema: replayed } },
    errors: ['snapshot_refused', 'ledger_corrupt'],
    handle: async (context, call) => ({ status: 200, body: await replayTurn(context, call) }),
  }),
];

function acceptRequest({ services }: ApiContext, { body, request }: Call<NewTurn>): AcceptRequest {
  const { limits, intent } = services.config;
  return {
    turn: services.newId(),
    input: inputBlocks(body.input),
    mode: body.mode ?? 'enqueue',
    priority: body.priority ?? 0,
    idempotencyKey: idempotencyKey(request.headers['idempotency-key']),
    ...(body.metadata === undefined ? {} : { metadata: body.metadata }),
    ...budgetOf(body.budget),
    limits: {
      stepBudget: within('steps', body.budget?.steps, limits.stepBudget),
      deadlineMs: within('timeMs', body.budget?.timeMs, limits.turnDeadlineMs),
      escalate: intent.escalate,
    },
  };
}

function within(member: string, wanted: number | undefined, most: number): number {
  if (wanted === undefined || wanted <= most) return wanted ?? most;
  throw new TurnwrightError(
    'invalid_request',
    `"budget.${member}" is ${wanted}; this deployment allows at most ${most}. Send less, or leave it out.`,
  );
}

function idempotencyKey(header: string | readonly string[] | undefined): string | null {
  if (header === undefined) return null;
  if (typeof header === 'string' && IDEMPOTENCY_KEY.test(header)) return header;
  throw new TurnwrightError(
    'invalid_request',
    'The Idempotency-Key must be 1 to 200 printable ASCII characters.',
  );
}

async function follow(context: ApiContext, call: Call): Promise<null> {
  const { caller, request, reply } = call;
  const place = placeOf(request.headers['last-event-id']);
  const row = await theTurn(context, call);
  const { feed, release } = await context.feeds.open(
    refOf(caller.tenant, row),
    row.turn,
    row.status === 'closed',
  );
  const last = feed.events.at(-1);
  if (last !== undefined && isClosing(last.type) && Number(last.id) <= place.seq) {
    await release();
    await reply.code(204).send();
    return null;
  }
  reply.hijack();
  reply.raw.writeHead(200, {
    ...SECURITY_HEADERS,
    'content-type': 'text/event-stream; charset=utf-8',
    'x-accel-buffering': 'no',
  });
  const { heartbeatMs, streamStallMs } = context.limits;
  await streamEvents(feed, reply.raw, { place, heartbeatMs, stallMs: streamStallMs });
  await release();
  return null;
}

function placeOf(header: string | readonly string[] | undefined) {
  if (header === undefined || header === '') return START;
  const place = typeof header === 'string' ? parsePlace(header) : null;
  if (place !== null) return place;
  throw new TurnwrightError(
    'invalid_request',
    'The Last-Event-ID is no id of this stream. Send the last id received, or none to start over.',
  );
}

async function replayTurn(context: ApiContext, call: Call): Promise<z.infer<typeof replayed>> {
  const row = await theTurn(context, call);
  const { machine, version } = row.actor;
  if (findMachine(MACHINES, machine, version) === null)
    throw new TurnwrightError(
      'snapshot_refused',
      `The turn belongs to ${machine} version ${version}, which this version does not have. Replay it with one that does.`,
    );
  const ref = { ...refOf(call.caller.tenant, row), actor: row.turn };
  const events = unfold(await readAppliedEvents(context.services.pool, ref));
  const steps = run(() => replay(MACHINES, machine, version, events)).map(
    ({ id, type, matches, snapshot }) => {
      const parsed = JSON.parse(snapshot) as JsonObject;
      const state = typeof parsed.value === 'string' ? parsed.value : JSON.stringify(parsed.value);
      return { id, type, state, matches, snapshot: parsed };
    },
  );
  return { turn: row.turn, machine, version, matches: steps.every((step) => step.matches), steps };
}

/** Events that were altered may lead nowhere at all. */
function run<T>(work: () => T): T {
  try {
    return work();
  } catch (cause) {
    const found = cause instanceof Error ? cause.message : String(cause);
    throw new TurnwrightError(
      'ledger_corrupt',
      `The stored events cannot be run again: ${found}. They were altered, or are of another version.`,
      { cause },
    );
  }
}
