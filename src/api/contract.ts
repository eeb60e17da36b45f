/** What a route is: one table entry from which Fastify's route and the OpenAPI document are both made. */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { Services } from '../app/services.ts';
import type { KeyHolder, Scope } from '../db/keys.ts';
import type { ErrorCode } from '../ledger/errors.ts';
import type { Metrics } from './metrics.ts';
import type { SessionServices } from './session-services.ts';
import type { TurnFeeds } from './turn-feeds.ts';

/** Bounds that a test may tighten; what is left out has its default. */
export interface ApiLimits {
  readonly keyBurst: number;
  readonly keyPerSecond: number;
  /** An event stream whose client takes nothing for so long is closed; it may resume. */
  readonly streamStallMs: number;
  readonly heartbeatMs: number;
}

export interface ApiDeps {
  readonly services: Services;
  /** Names of the tools that workers of this deployment run. */
  readonly tools: readonly string[];
  /** The listener answers this machine alone: board and metrics then need no credentials. */
  readonly loopback: boolean;
  readonly limits?: Partial<ApiLimits>;
}

/** What handlers are given. */
export interface ApiContext extends Omit<ApiDeps, 'limits'> {
  readonly limits: ApiLimits;
  readonly feeds: TurnFeeds;
  readonly metrics: Metrics;
  readonly sessions: SessionServices;
}

export interface Call<Body = unknown, Query = unknown> {
  readonly caller: KeyHolder;
  /** The `:id` of the path, a UUID in lower case; '' where the path has none. */
  readonly id: string;
  /** Members of the path other than `:id`, as they were sent. */
  readonly inPath: Readonly<Record<string, string>>;
  readonly body: Body;
  readonly query: Query;
  readonly request: FastifyRequest;
  readonly reply: FastifyReply;
}

/** `null`: the handler has answered by itself. */
export type Answer = { readonly status: number; readonly body: unknown } | null;

export interface Route {
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** As Fastify spells it. */
  readonly path: string;
  readonly summary: string;
  /** null: no key is needed. `operator`: an admin key, unless the listener is bound to loopback. */
  readonly access: Scope | 'operator' | null;
  /** What the path is answered with, as 404, where its id is no UUID or another tenant's, or its leg is not configured. */
  readonly missing?: Extract<ErrorCode, 'session_not_found' | 'turn_not_found' | 'unknown_leg'>;
  /** What members of the path other than `:id` look like; the handler looks them up. */
  readonly inPath?: Readonly<Record<string, z.ZodType>>;
  readonly body?: z.ZodType;
  /** The body is handed over as it comes in, a stream of bytes of this media type, without a limit. */
  readonly streamed?: string;
  /** The body may be left out. */
  readonly bodyOptional?: boolean;
  /** Of a route that takes larger bodies than others. */
  readonly maxBodyBytes?: number;
  readonly query?: z.ZodType;
  readonly headers?: readonly { readonly name: string; readonly description: string }[];
  readonly answers: Readonly<Record<number, RouteAnswer>>;
  readonly errors: readonly ErrorCode[];
  readonly handle: (context: ApiContext, call: Call) => Promise<Answer>;
}

export interface RouteAnswer {
  readonly description: string;
  /** Left out for an answer that is no JSON. */
  readonly schema?: z.ZodType;
  readonly mediaType?: string;
}

/** Ties the types of a handler to its schemas; the handler sees what the schemas let through. */
export function route<Body = undefined, Query = undefined>(
  entry: Omit<Route, 'body' | 'query' | 'handle'> & {
    readonly body?: z.ZodType<Body>;
    readonly query?: z.ZodType<Query>;
    readonly handle: (context: ApiContext, call: Call<Body, Query>) => Promise<Answer>;
  },
): Route {
  return entry as Route;
}
