/** The OpenAPI 3.1 document, made from the same table the routes are registered from. */
import { z } from 'zod';
import { ERROR_CATALOGUE, type ErrorCode } from '../ledger/errors.ts';
import type { Route } from './contract.ts';
import { TURN_EVENTS } from './event-table.ts';
import { failure } from './schemas.ts';

const TITLE = 'Turnwright';
const API_VERSION = 'v1';

/** What any route that needs a key may answer. */
const KEYED_ERRORS: readonly ErrorCode[] = ['unauthorized', 'forbidden', 'rate_limited'];
/** Of what a path names and is not there, whatever its code is elsewhere. */
const MISSING_STATUS = 404;
const ANY_ERRORS: readonly ErrorCode[] = ['database_unreachable', 'internal'];
/** What any route that may be sent a body may answer, a body it does not take included. */
const BODY_ERRORS: readonly ErrorCode[] = ['invalid_request', 'body_too_large', 'unsupported_media_type'];

type Document = Readonly<Record<string, unknown>>;

export function openApiDocument(routes: readonly Route[]): Document {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const path = route.path.replaceAll(/:(\w+)/gu, '{$1}');
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) };
  }
  return {
    openapi: '3.1.0',
    info: { title: TITLE, version: API_VERSION, description: 'Durable LLM turns on a job queue.' },
    paths,
    components: {
      schemas: { Error: jsonSchema(failure, 'output') },
      securitySchemes: {
        key: { type: 'http', scheme: 'bearer', description: 'A key such as tw_…' },
        operator: {
          type: 'http',
          scheme: 'basic',
          description: 'Any user, an admin key as password. Not asked for on a loopback listener.',
        },
      },
    },
  };
}

function operationOf(route: Route): Document {
  return {
    summary: route.summary,
    ...(route.access === null ? { security: [] } : { security: securityOf(route) }),
    parameters: parametersOf(route),
    ...requestBodyOf(route),
    responses: { ...answersOf(route), ...failuresOf(route) },
  };
}

function requestBodyOf({ body, bodyOptional, streamed }: Route): Document {
  if (streamed !== undefined)
    return { requestBody: { required: true, content: { [streamed]: { schema: { type: 'string' } } } } };
  if (body === undefined) return {};
  const content = { 'application/json': { schema: jsonSchema(body, 'input') } };
  return { requestBody: { required: bodyOptional !== true, content } };
}

function securityOf({ access }: Route): readonly Document[] {
  return access === 'operator' ? [{ operator: [] }, { key: [] }, {}] : [{ key: [] }];
}

function parametersOf(route: Route): readonly Document[] {
  const inPath = [...route.path.matchAll(/:(\w+)/gu)].map((match) => ({
    name: match[1],
    in: 'path',
    required: true,
    schema: pathSchema(route, match[1] ?? ''),
  }));
  const inHeader = (route.headers ?? []).map((header) => ({
    ...header,
    in: 'header',
    required: false,
    schema: { type: 'string' },
  }));
  const shape = route.query instanceof z.ZodObject ? route.query.shape : {};
  const inQuery = Object.entries(shape).map(([name, schema]) => ({
    name,
    in: 'query',
    required: !(schema as z.ZodType).safeParse(undefined).success,
    schema: jsonSchema(schema as z.ZodType, 'input'),
  }));
  return [...inPath, ...inHeader, ...inQuery];
}

function pathSchema({ inPath = {} }: Route, name: string): Document {
  const schema = inPath[name];
  return schema === undefined ? { type: 'string', format: 'uuid' } : jsonSchema(schema, 'input');
}

function answersOf(route: Route): Document {
  return Object.fromEntries(
    Object.entries(route.answers).map(([status, { description, schema, mediaType }]) => {
      if (schema !== undefined)
        return [
          status,
          { description, content: { 'application/json': { schema: jsonSchema(schema, 'output') } } },
        ];
      if (mediaType === undefined) return [status, { description }];
      const detail = mediaType === 'text/event-stream' ? { 'x-events': TURN_EVENTS } : {};
      return [status, { description, content: { [mediaType]: { schema: { type: 'string' }, ...detail } } }];
    }),
  );
}

function failuresOf(route: Route): Document {
  const codes = new Set<ErrorCode>([
    ...route.errors,
    ...(route.missing === undefined ? [] : [route.missing]),
    ...(route.query === undefined ? [] : (['invalid_request'] as const)),
    ...(route.method === 'GET' ? [] : BODY_ERRORS),
    ...(route.access === null ? [] : KEYED_ERRORS),
    ...ANY_ERRORS,
  ]);
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codes) {
    const status = code === route.missing ? MISSING_STATUS : ERROR_CATALOGUE[code].status;
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, list]) => [
      status,
      {
        description: list.map((code) => `${code}: ${ERROR_CATALOGUE[code].meaning}`).join(' '),
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    ]),
  );
}

function jsonSchema(schema: z.ZodType, io: 'input' | 'output'): Document {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return rest;
}
