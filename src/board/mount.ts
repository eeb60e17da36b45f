/**
 * Bull Board at /board, over BullMQ's own queues on either backend. Retrying a job there is safe: a claim names
 * its dispatch, so a job whose row has moved on does nothing, and one whose row waits is taken up.
 */
import { createBullBoard } from '@bull-board/api';
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter';
import { FastifyAdapter } from '@bull-board/fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Authority } from '../api/authorise.ts';
import { BOARD_HEADERS } from '../api/security-headers.ts';
import type { Services } from '../app/services.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import { boardQueues } from '../queues/index.ts';
import { boardRefusal } from './origin.ts';

const BOARD_PATH = '/board';

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
    await scope.register(adapter.registerPlugin(), { prefix: BOARD_PATH });
  });
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
  return [...queues.values()].map((queue) => new BullMQAdapter(queue));
}
