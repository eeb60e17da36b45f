/**
 * Bull Board at /board, over BullMQ's own queues on either backend. Retrying a job there is safe: a claim names
 * its dispatch, so a job whose row has moved on does nothing, and one whose row waits is taken up. A job of a turn
 * links to the page that says why the turn stands where it stands.
 */
import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Authority } from '../api/authorise.ts';
import { turnNotFound } from '../api/found.ts';
import { BOARD_HEADERS } from '../api/security-headers.ts';
import { whyTurn } from '../api/why.ts';
import type { Services } from '../app/services.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import { jobRef, type Pool } from '../queues/contract.ts';
import { boardQueues } from '../queues/index.ts';
import { boardRefusal } from './origin.ts';
import { whyPage } from './why-page.ts';

const BOARD_PATH = '/board';
const WHY_PATH = `${BOARD_PATH}/why`;
/** Their jobs belong to no turn. */
const TURNLESS_POOLS: ReadonlySet<Pool> = new Set(['probe', 'upkeep']);
const LONGEST_ID_CHARS = 40;
const turnPlace = jobRef.pick({ tenant: true, actor: true });

export interface BoardDeps {
  readonly services: Services;
  readonly authority: Authority;
  readonly loopback: boolean;
  /** The board's own handler would answer in another shape. */
  readonly refuse: (error: unknown, request: FastifyRequest, reply: FastifyReply) => FastifyReply;
}

export async function mountBoard(app: FastifyInstance, deps: BoardDeps): Promise<void> {
  const adapter = new FastifyAdapter();
  adapter.setBasePath(BOARD_PATH);
  let mounted = boardQueues(deps.services.queue);
  const board = createBullBoard({
    queues: adaptersOf(mounted),
    serverAdapter: adapter,
    options: { uiConfig: { boardTitle: 'Turnwright' } },
  });
  await app.register(async (scope) => {
    scope.addHook('onRequest', async (request, reply) => {
      reply.headers(BOARD_HEADERS);
      try {
        await admit(deps, request, reply);
      } catch (error) {
        return deps.refuse(error, request, reply);
      }
      // A queue whose first contact failed is opened anew, and the board must follow.
      const queues = boardQueues(deps.services.queue);
      if ([...queues].some(([pool, queue]) => mounted.get(pool) !== queue)) {
        mounted = queues;
        board.replaceQueues(adaptersOf(mounted));
      }
    });
    scope.get(`${WHY_PATH}/:tenant/:turn`, (request, reply) => showWhy(deps, request, reply));
    await scope.register(adapter.registerPlugin(), { prefix: BOARD_PATH });
  });
}

/** The board shows every tenant's jobs, so the page is found by tenant and turn. */
async function showWhy(
  { services, refuse }: BoardDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { tenant = '', turn = '' } = request.params as Readonly<Record<string, string>>;
  const place = turnPlace.safeParse({ tenant, actor: turn });
  try {
    if (!place.success) throw turnNotFound(turn.slice(0, LONGEST_ID_CHARS));
    const why = await whyTurn(services, place.data.tenant, place.data.actor);
    return await reply.type('text/html; charset=utf-8').send(whyPage(why, BOARD_PATH));
  } catch (error) {
    return refuse(error, request, reply);
  }
}

/** @throws TurnwrightError `forbidden` or `unauthorized`. */
async function admit(
  { authority, loopback }: BoardDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<void> {
  const refusal = boardRefusal(request.method, request.headers, loopback);
  if (refusal !== null) throw new TurnwrightError('forbidden', refusal);
  if (loopback) return;
  reply.header('www-authenticate', 'Basic realm="turnwright board", charset="UTF-8"');
  await authority.operator(request);
  reply.removeHeader('www-authenticate');
}

function adaptersOf(queues: ReturnType<typeof boardQueues>): readonly BullMQAdapter[] {
  return [...queues].map(([pool, queue]) =>
    TURNLESS_POOLS.has(pool)
      ? new BullMQAdapter(queue)
      : new BullMQAdapter(queue, { externalJobUrl: ({ data }) => whyLink(data) }),
  );
}

/** A job that is none of ours has no turn: its link leads back. */
function whyLink(data: unknown): { readonly displayText: string; readonly href: string } {
  const ref = jobRef.safeParse(data);
  return ref.success
    ? { displayText: 'Why', href: `${WHY_PATH}/${ref.data.tenant}/${ref.data.actor}` }
    : { displayText: 'No turn', href: BOARD_PATH };
}
