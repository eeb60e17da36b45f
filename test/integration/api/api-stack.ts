/** The HTTP surface over a whole stack, and a caller that holds every answer to the served document. */
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { z } from 'zod';
import { type RunningApi, startApi } from '../../../src/api/app.ts';
import type { ApiLimits } from '../../../src/api/contract.ts';
import type { Services } from '../../../src/app/services.ts';
import { createKey, SCOPES, type Scope } from '../../../src/db/keys.ts';
import { openTestStack, type TestStack } from '../../support/stack.ts';
import type { Parsed } from './event-reader.ts';

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Parsed;
}

export interface Sent {
  /** null sends none; left out, a key of every scope. */
  readonly key?: string | null;
  readonly json?: unknown;
  /** Sent as it is, instead of `json`. */
  readonly raw?: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ApiStack {
  readonly stack: TestStack;
  readonly services: Services;
  readonly url: string;
  readonly key: string;
  keyOf(scopes: readonly Scope[], tenant?: string): Promise<string>;
  /** A key of a tenant made for the purpose. */
  stranger(): Promise<string>;
  call(method: string, path: string, sent?: Sent): Promise<Answered>;
  session(body?: unknown): Promise<string>;
  turn(session: string, body: unknown, sent?: Sent): Promise<string>;
  closed(turn: string): Promise<Answered['body']>;
  close(): Promise<void>;
}

const LIMIT_MS = 30_000;

type StackOptions = Parameters<typeof openTestStack>[0];

export async function openApiStack(
  options: StackOptions,
  limits: Partial<ApiLimits> = {},
): Promise<ApiStack> {
  const stack = await openTestStack(options);
  const services = stack.producer;
  const api: RunningApi = await startApi(services, { host: '127.0.0.1', port: 0, limits });
  const keyOf = async (scopes: readonly Scope[], tenant = stack.tenant) =>
    (await createKey(services.pool, tenant, { name: 'test', scopes })).key;
  const key = await keyOf(SCOPES);
  const document = (await (await fetch(`${api.url}/openapi.json`)).json()) as OpenApi;
  const call = async (method: string, path: string, sent: Sent = {}): Promise<Answered> => {
    const answer = await send(api.url, method, path, { key, ...sent });
    conforms(document, method, path, answer);
    return answer;
  };
  const opened: ApiStack = {
    stack,
    services,
    url: api.url,
    key,
    keyOf,
    stranger: async () => {
      const tenant = randomUUID();
      await stack.sql('INSERT INTO turnwright.tenants (tenant_id, name) VALUES ($1, $2)', [tenant, 'other']);
      return keyOf(SCOPES, tenant);
    },
    call,
    session: async (body = { leg: 'sim-large' }) => {
      const answer = await call('POST', '/v1/sessions', { json: body });
      expect(answer.status, JSON.stringify(answer.body)).toBe(201);
      return answer.body.session.id;
    },
    turn: async (session, body, sent = {}) => {
      const answer = await call('POST', `/v1/sessions/${session}/turns`, { json: body, ...sent });
      expect(answer.status, JSON.stringify(answer.body)).toBe(202);
      return answer.body.turn.id;
    },
    closed: (turn) => untilClosed(call, turn),
    close: async () => {
      await api.close();
      await stack.close();
    },
  };
  return opened;
}

async function untilClosed(call: ApiStack['call'], turn: string): Promise<Answered['body']> {
  const deadlineMs = performance.now() + LIMIT_MS;
  for (;;) {
    const { body } = await call('GET', `/v1/turns/${turn}`);
    if (body.turn.state === 'closed') return body.turn;
    if (performance.now() > deadlineMs) throw new Error(`turn ${turn} is still ${body.turn.phase}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

export async function send(url: string, method: string, path: string, sent: Sent): Promise<Answered> {
  const { key, json, raw, headers } = sent;
  const body = raw ?? (json === undefined ? undefined : JSON.stringify(json));
  const response = await fetch(`${url}${path}`, {
    method,
    headers: {
      ...(key === null || key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(json === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: body as string }),
  });
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.startsWith('application/json') ?? false;
  return { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
}

export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: { readonly Error: z.core.JSONSchema.BaseSchema } };
}

interface Operation {
  readonly responses: Readonly<
    Record<
      string,
      { readonly content?: Readonly<Record<string, { readonly schema: z.core.JSONSchema.BaseSchema }>> }
    >
  >;
}

/** Every documented route answers only what it documents; an undocumented one is `not_found`. */
function conforms(document: OpenApi, method: string, path: string, answer: Answered): void {
  const operation = operationOf(document, method, path.split('?')[0] ?? '');
  if (operation === null) {
    expect(answer.body.error.code).toBe('not_found');
    return;
  }
  const response = operation.responses[String(answer.status)];
  expect(
    response,
    `${method} ${path} documents ${answer.status}: ${JSON.stringify(answer.body)}`,
  ).toBeDefined();
  const schema = response?.content?.['application/json']?.schema;
  if (schema === undefined) return;
  const resolved = '$ref' in schema ? document.components.schemas.Error : schema;
  const result = z.fromJSONSchema(resolved as never).safeParse(answer.body);
  expect(result.error?.issues ?? [], `${method} ${path} answers as documented`).toEqual([]);
}

function operationOf(document: OpenApi, method: string, path: string): Operation | null {
  const candidates = Object.entries(document.paths)
    .filter(([pattern]) => {
      const expression = `^${pattern.replaceAll('.', '\\.').replaceAll(/\{\w+\}/gu, '[^/]+')}$`;
      return new RegExp(expression, 'u').test(path);
    })
    .sort(([a], [b]) => Number(a.includes('{')) - Number(b.includes('{')));
  for (const [, operations] of candidates) {
    const operation = operations[method.toLowerCase()];
    if (operation !== undefined) return operation;
  }
  return null;
}
