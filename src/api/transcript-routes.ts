/** The transcript of a session: its items listed, read back, searched, and taken out of its requests. */
import type { z } from 'zod';
import type { SessionHead } from '../db/contract.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import { evictByOperator } from '../runtime/operator-evict.ts';
import type { Refused } from '../runtime/transcript/answers.ts';
import type { TranscriptPlace } from '../runtime/transcript/locate.ts';
import { TranscriptReader } from '../runtime/transcript/reader.ts';
import { type ApiContext, type Call, type Route, route } from './contract.ts';
import { sessionNotFound } from './found.ts';
import { evictedAnswer, foundAnswer, indexAnswer, itemsAnswer } from './transcript-answers.ts';
import * as schemas from './transcript-schemas.ts';

export const TRANSCRIPT_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/v1/sessions/:id/transcript',
    summary:
      'List every item of a session, those that left its requests and those it was forked with included',
    access: 'content',
    missing: 'session_not_found',
    query: schemas.transcriptQuery,
    answers: { 200: { description: 'A page; next is null on the last.', schema: schemas.transcriptIndex } },
    errors: ['head_not_found'],
    handle: async (context, call) => {
      const { after, limit, head } = call.query;
      const place = await placeOf(context, call, head);
      const index = await readerOf(context).index(place, { after, limit });
      return { status: 200, body: indexAnswer(call.id, index) };
    },
  }),
  route({
    method: 'POST',
    path: '/v1/sessions/:id/transcript/read',
    summary: 'Read items as they were recorded, whatever requests still carry of them',
    access: 'content',
    missing: 'session_not_found',
    body: schemas.transcriptRead,
    answers: { 200: { description: 'Each item once, in order.', schema: schemas.transcriptItems } },
    errors: ['item_not_found', 'item_open', 'record_unreadable'],
    handle: async (context, call) => {
      const answer = await readerOf(context).read(await placeOf(context, call), call.body.items);
      if (answer.kind === 'refused') throw refusal(answer);
      return { status: 200, body: itemsAnswer(call.id, answer.items) };
    },
  }),
  route({
    method: 'POST',
    path: '/v1/sessions/:id/transcript/grep',
    summary: 'Find lines in the items of a session',
    access: 'content',
    missing: 'session_not_found',
    body: schemas.transcriptGrep,
    answers: {
      200: { description: 'The oldest matches, and how many there are.', schema: schemas.transcriptFound },
    },
    errors: ['item_not_found', 'item_open', 'bad_pattern', 'record_unreadable'],
    handle: grep,
  }),
  route({
    method: 'POST',
    path: '/v1/sessions/:id/evict',
    summary: 'Take items out of the requests of a session at rest: they stay in its transcript',
    access: 'turns:write',
    missing: 'session_not_found',
    body: schemas.newEviction,
    answers: { 200: { description: 'What the next request carries.', schema: schemas.evicted } },
    errors: ['not_evicting', 'turn_running', 'item_not_found', 'item_open', 'nothing_to_evict', 'busy'],
    handle: async ({ services }, { caller, id, body }) => {
      const { engine } = services;
      const evicted = await evictByOperator(engine, { tenant: caller.tenant, session: id }, body);
      if (evicted === null) throw sessionNotFound(id);
      return { status: 200, body: evictedAnswer(id, evicted) };
    },
  }),
];

async function grep(context: ApiContext, call: Call<z.infer<typeof schemas.transcriptGrep>>) {
  const { pattern, items, deadlineMs } = call.body;
  const place = await placeOf(context, call);
  const gone = new AbortController();
  const leave = (): void => gone.abort();
  const { socket } = call.request;
  socket.once('close', leave);
  try {
    const asked = { pattern, items: items === 'all' ? null : items };
    const answer = await readerOf(context).grep(place, asked, { deadlineMs, signal: gone.signal });
    if (answer.kind === 'refused') throw refusal(answer);
    return { status: 200, body: foundAnswer(call.id, answer) };
  } finally {
    socket.off('close', leave);
  }
}

function readerOf({ services }: ApiContext): TranscriptReader {
  return new TranscriptReader(services.store, services.engine.clock);
}

async function placeOf(
  { services: { store } }: ApiContext,
  { caller, id }: Pick<Call, 'caller' | 'id'>,
  head?: string,
): Promise<TranscriptPlace> {
  const ref = { tenant: caller.tenant, session: id };
  const state = await store.loadSession(ref, null);
  if (state === null) throw sessionNotFound(id);
  const { liveHead, nextItem } = state.session;
  const known = head === undefined || head === liveHead || (await store.forkSource(ref, head)) !== null;
  if (!known) throw headNotFound(state.session, head);
  return { ref, head: head ?? liveHead, nextItem };
}

function headNotFound({ session, liveHead }: SessionHead, head: string): TurnwrightError {
  const message = `Session ${session} has no head ${head}. Its live head is ${liveHead}; GET /v1/sessions/${session}/heads lists all.`;
  return new TurnwrightError('head_not_found', message);
}

function refusal({ code, message, unreadable }: Refused): TurnwrightError {
  if (unreadable === undefined) return new TurnwrightError(code, message);
  const { item, session, seq, problem } = unreadable;
  return new TurnwrightError(code, message, { details: { item, session, record: seq, reason: problem } });
}
