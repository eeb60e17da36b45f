/** The HTTP surface: one Fastify app over a process's services, and its life as a server. */
import type { AddressInfo } from 'node:net';
import Fastify, { type FastifyInstance } from 'fastify';
import type { Services } from '../app/services.ts';
import { mountBoard } from '../board/mount.ts';
import { TurnwrightError } from '../ledger/errors.ts';
import { Authority } from './authorise.ts';
import { CAPACITY_ROUTES } from './capacity-routes.ts';
import { CHECKPOINT_ROUTES } from './checkpoint-routes.ts';
import { CONTEXT_ROUTES } from './context-routes.ts';
import type { ApiContext, ApiDeps, ApiLimits, Route } from './contract.ts';
import { CONTROL_ROUTES } from './control-routes.ts';
import { sendFailure } from './failures.ts';
import { HEAD_ROUTES } from './head-routes.ts';
import { LINEAGE_ROUTES } from './lineage-routes.ts';
import { Metrics } from './metrics.ts';
import { openApiDocument } from './openapi.ts';
import { operationsRoutes } from './operations-routes.ts';
import { PRESENTATION_ROUTES } from './presentation-routes.ts';
import { RateLimit } from './rate-limit.ts';
import { readBodies } from './read-bodies.ts';
import { register } from './register.ts';
import { SECURITY_HEADERS } from './security-headers.ts';
import { SESSION_ROUTES } from './session-routes.ts';
import { sessionServices } from './session-services.ts';
import { TRANSCRIPT_ROUTES } from './transcript-routes.ts';
import { TurnFeeds } from './turn-feeds.ts';
import { TURN_ROUTES } from './turn-routes.ts';
import { USAGE_ROUTES } from './usage-routes.ts';

/** Generous: it stops a loop gone wild, not a busy client. */
const DEFAULT_LIMITS: ApiLimits = {
  keyBurst: 2_000,
  keyPerSecond: 500,
  streamStallMs: 30_000,
  heartbeatMs: 15_000,
};
const BAD_REQUEST = JSON.stringify({
  error: { code: 'invalid_request', message: 'The request is no valid HTTP. Correct it and send it again.' },
});

export interface RunningApi {
  readonly url: string;
  /** Ends event streams, then the server. Idempotent. */
  close(): Promise<void>;
}

/** The document of every route there is, for `/openapi.json` and for docs. */
export function apiRoutes(): readonly Route[] {
  const routes: readonly Route[] = [
    ...SESSION_ROUTES,
    ...LINEAGE_ROUTES,
    ...HEAD_ROUTES,
    ...CHECKPOINT_ROUTES,
    ...CONTEXT_ROUTES,
    ...TRANSCRIPT_ROUTES,
    ...PRESENTATION_ROUTES,
    ...TURN_ROUTES,
    ...CONTROL_ROUTES,
    ...CAPACITY_ROUTES,
    ...USAGE_ROUTES,
    ...operationsRoutes(() => document),
  ];
  const document = openApiDocument(routes);
  return routes;
}

/** Closing the app closes what it opened; the services stay their owner's. */
export async function buildApi(deps: ApiDeps): Promise<FastifyInstance> {
  const { services } = deps;
  const { maxBodyBytes } = services.config.limits;
  const handling = { logger: services.logger };
  const app = Fastify({
    bodyLimit: maxBodyBytes,
    logger: false,
    exposeHeadRoutes: false,
    forceCloseConnections: true,
    frameworkErrors: (error, request, reply) => {
      void sendFailure(error, request, reply.headers(SECURITY_HEADERS), handling);
    },
    clientErrorHandler: (_error, socket) => {
      if (socket.writable)
        socket.end(
          `HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${BAD_REQUEST.length}\r\n\r\n${BAD_REQUEST}`,
        );
    },
  });
  const context: ApiContext = {
    ...deps,
    limits: { ...DEFAULT_LIMITS, ...deps.limits },
    feeds: new TurnFeeds(services),
    metrics: new Metrics(services),
    sessions: sessionServices(services),
  };
  const authority = new Authority(services.pool, () => performance.now());
  const rateLimit = new RateLimit({
    burst: context.limits.keyBurst,
    perSecond: context.limits.keyPerSecond,
  });
  readBodies(app);
  app.addHook('onRequest', async (_request, reply) => {
    reply.headers(SECURITY_HEADERS);
  });
  app.setErrorHandler((error, request, reply) => sendFailure(error, request, reply, handling));
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?')[0]?.slice(0, 100) ?? '';
    const message = `There is no ${request.method} ${path}. GET /openapi.json lists the routes.`;
    return sendFailure(new TurnwrightError('not_found', message), request, reply, handling);
  });
  for (const route of apiRoutes())
    register(app, context, { authority, rateLimit, nowMs: () => performance.now() }, route);
  await mountBoard(app, {
    services,
    authority,
    loopback: deps.loopback,
    refuse: (error, request, reply) => sendFailure(error, request, reply, handling),
  });
  app.addHook('preClose', () => context.feeds.close());
  app.addHook('onClose', () => context.metrics.close());
  return app;
}

/** @throws TurnwrightError `config_invalid` when the address cannot be listened on. */
export async function startApi(
  services: Services,
  {
    host,
    port,
    limits,
  }: { readonly host: string; readonly port: number; readonly limits?: Partial<ApiLimits> },
): Promise<RunningApi> {
  const app = await buildApi({
    services,
    tools: services.surface.names(),
    loopback: isLoopback(host),
    ...(limits === undefined ? {} : { limits }),
  });
  try {
    await app.listen({ host, port });
  } catch (cause) {
    await app.close();
    throw cannotListen(host, port, cause);
  }
  const address = app.server.address() as AddressInfo;
  const name = address.family === 'IPv6' ? `[${address.address}]` : address.address;
  let closing: Promise<void> | null = null;
  return {
    url: `http://${name}:${address.port}`,
    close: () => {
      closing ??= app.close();
      return closing;
    },
  };
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(?:\.\d{1,3}){3}$/u.test(host);
}

function cannotListen(host: string, port: number, cause: unknown): unknown {
  const code = cause instanceof Error && 'code' in cause ? cause.code : '';
  const reasons: Readonly<Record<string, string>> = {
    EADDRINUSE: 'another process listens there',
    EACCES: 'this user may not use that port',
    EADDRNOTAVAIL: 'this machine has no such address',
    ENOTFOUND: 'no such host is known',
  };
  const reason = reasons[String(code)];
  if (reason === undefined) return cause;
  return new TurnwrightError(
    'config_invalid',
    `Cannot listen on ${host}:${port}: ${reason}. Set TURNWRIGHT_HOST and TURNWRIGHT_PORT to a free address.`,
    { cause },
  );
}
