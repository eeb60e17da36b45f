/** A tool that is a service of somebody's: its calls are requests, signed where a secret is named. */
import type { z } from 'zod';
import { TurnwrightError } from '../../ledger/errors.ts';
import { canonicalJson, type Json, type JsonObject } from '../../ledger/json.ts';
import type { Outbound, Tool, ToolContext, ToolOutput } from '../contract.ts';
import { DEFAULT_TOOL_TIMEOUT_MS, defineTool, type ToolSpec } from '../define.ts';
import { isAllowedHostForm } from './allowed-host.ts';
import { outputOf } from './answer-output.ts';
import {
  guardedRequest,
  OUTBOUND_METHODS,
  type OutboundMethod,
  type OutboundRequest,
} from './guarded-request.ts';
import { maskOf } from './mask.ts';
import { SIGNATURE_HEADER, signatureOf } from './signature.ts';

const DEFAULT_MAX_RESULT_BYTES = 1_048_576;
const MAX_RESULT_BYTES = 67_108_864;
/** Servers refuse longer ones. */
const MAX_URL_CHARS = 8_000;
/** The name of a header, as HTTP allows it. */
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$/;
const ENV_NAME = /^[A-Za-z_]\w{0,199}$/;
/** Headers that the request itself decides. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'content-type',
  'expect',
  'host',
  'idempotency-key',
  'te',
  'trailer',
  'transfer-encoding',
  'turnwright-signature',
  'upgrade',
]);

export interface HttpToolSpec<Input extends z.ZodObject> extends Omit<ToolSpec<Input>, 'run'> {
  /** http or https. Its host must be public, or be allowed by name here or by `outbound.allow` of the configuration. */
  readonly url: string;
  /**
   * `POST` unless declared. A `GET` carries the arguments in its query: texts, numbers and booleans as they are, all else as
   * JSON. Every other method carries `{ tool, arguments, call }` as canonical JSON; `call` is the idempotency key.
   */
  readonly method?: OutboundMethod;
  /** Name of the environment variable whose value signs each request. */
  readonly secretEnv?: string;
  /** Names of environment variables by the header that carries their value. */
  readonly headersEnv?: Readonly<Record<string, string>>;
  /** 1,048,576 unless declared; what the answer holds beyond is left out, and the result says so. */
  readonly maxResultBytes?: number;
  /** `host` or `host:port`: exact names of hosts that this tool may reach on a private network. */
  readonly allow?: readonly string[];
}

type Service = Required<
  Omit<HttpToolSpec<z.ZodObject>, 'input' | keyof ToolSpec<z.ZodObject> | 'secretEnv'>
> &
  Pick<Tool, 'name' | 'effect' | 'timeoutMs'> & { readonly secretEnv: string | null };

/** @throws TurnwrightError `config_invalid` when the declaration cannot become a tool. */
export function httpTool<Input extends z.ZodObject>(spec: HttpToolSpec<Input>): Tool {
  checkService(spec);
  const { url, method, secretEnv, headersEnv, maxResultBytes, allow, ...declared } = spec;
  const service: Service = {
    name: spec.name,
    effect: spec.effect ?? 'once',
    timeoutMs: spec.timeoutMs ?? DEFAULT_TOOL_TIMEOUT_MS,
    url,
    method: method ?? 'POST',
    secretEnv: secretEnv ?? null,
    headersEnv: headersEnv ?? {},
    maxResultBytes: maxResultBytes ?? DEFAULT_MAX_RESULT_BYTES,
    allow: allow ?? [],
  };
  return defineTool({
    ...declared,
    run: (args, context) => callService(service, args as JsonObject, context),
  });
}

async function callService(service: Service, args: JsonObject, context: ToolContext): Promise<ToolOutput> {
  const { outbound, signal, idempotencyKey } = context;
  if (outbound === undefined) return notSent(service, 'this process lets no tool reach a network');
  const held = secretsOf(service, outbound);
  if (typeof held === 'string') return notSent(service, held);
  const request = requestOf(service, args, idempotencyKey);
  if (request.url.length > MAX_URL_CHARS)
    return notSent(service, `the arguments make an address of more than ${MAX_URL_CHARS} characters`);
  const { clock } = outbound;
  const signature =
    held.secret === null ? null : signatureOf(held.secret, signedPart(request), clock.nowMs());
  const credentials = {
    ...held.headers,
    ...(signature === null ? {} : { [SIGNATURE_HEADER]: signature }),
  };
  const mask = maskOf([...Object.values(credentials), ...(held.secret === null ? [] : [held.secret])]);
  const { name, maxResultBytes, effect, timeoutMs } = service;
  const answer = await guardedRequest(
    { ...request, credentials },
    {
      allow: [...outbound.allow, ...service.allow],
      timeoutMs,
      maxResponseBytes: maxResultBytes + mask.longestBytes,
      signal,
      after: clock.after,
    },
  );
  return outputOf(answer, { tool: name, maxResultBytes, mayHaveEffect: effect !== 'read', mask });
}

interface Held {
  readonly secret: string | null;
  readonly headers: Readonly<Record<string, string>>;
}

/** Or what is missing, in words. */
function secretsOf({ secretEnv, headersEnv }: Service, { secret }: Outbound): Held | string {
  const names = [...(secretEnv === null ? [] : [secretEnv]), ...Object.values(headersEnv)];
  const values = new Map(names.map((name) => [name, secret(name)?.trim() ?? '']));
  const missing = names.find((name) => values.get(name) === '');
  if (missing !== undefined) return `the environment variable ${missing} is not set where tools run`;
  const headers = Object.entries(headersEnv).map(
    ([header, name]) => [header, values.get(name) ?? ''] as const,
  );
  return {
    secret: secretEnv === null ? null : (values.get(secretEnv) ?? ''),
    headers: Object.fromEntries(headers),
  };
}

function requestOf(
  { name, url, method }: Service,
  args: JsonObject,
  call: string,
): Omit<OutboundRequest, 'credentials'> {
  const headers = { accept: 'application/json, text/*;q=0.9', 'idempotency-key': call };
  if (method === 'GET') return { url: withQuery(url, args), method, headers, body: null };
  const body = canonicalJson({ tool: name, arguments: args, call });
  return { url, method, headers: { ...headers, 'content-type': 'application/json' }, body };
}

function withQuery(address: string, args: JsonObject): string {
  const url = new URL(address);
  for (const [name, value] of Object.entries(args)) url.searchParams.append(name, queryText(value));
  return url.href;
}

function queryText(value: Json): string {
  return typeof value === 'string' ? value : canonicalJson(value);
}

/** The body; of a request without one its path and query, which are all it says. */
function signedPart({ url, body }: Pick<OutboundRequest, 'url' | 'body'>): string {
  if (body !== null) return body;
  const { pathname, search } = new URL(url);
  return pathname + search;
}

function notSent({ name }: Service, reason: string): ToolOutput {
  return { content: `${name} was not sent: ${reason}.`, isError: true };
}

function checkService(spec: HttpToolSpec<z.ZodObject>): void {
  const { url, method = 'POST', secretEnv, headersEnv = {}, allow = [] } = spec;
  const parsed = URL.canParse(url) ? new URL(url) : null;
  if (parsed === null || (parsed.protocol !== 'http:' && parsed.protocol !== 'https:'))
    refuse(spec.name, 'url must be an absolute address of http or https');
  if (parsed.username !== '' || parsed.password !== '')
    refuse(spec.name, 'url holds a user or password; name an environment variable in headersEnv instead');
  if (!OUTBOUND_METHODS.includes(method))
    refuse(spec.name, `method is ${JSON.stringify(method)}; it may be ${OUTBOUND_METHODS.join(', ')}`);
  const strange = [...(secretEnv === undefined ? [] : [secretEnv]), ...Object.values(headersEnv)].find(
    (name) => !ENV_NAME.test(name),
  );
  if (strange !== undefined)
    refuse(spec.name, 'secretEnv and headersEnv take names of environment variables, never their values');
  const header = Object.keys(headersEnv).find(
    (name) => !HEADER_NAME.test(name) || OWN_HEADERS.has(name.toLowerCase()),
  );
  if (header !== undefined)
    refuse(spec.name, `headersEnv names the header ${JSON.stringify(header)}, which cannot be set`);
  const host = allow.find((text) => !isAllowedHostForm(text));
  if (host !== undefined)
    refuse(
      spec.name,
      `allow holds ${JSON.stringify(host)}; it takes exact hosts such as "host" or "host:port"`,
    );
  checkSize(spec.name, spec.maxResultBytes ?? DEFAULT_MAX_RESULT_BYTES);
}

function checkSize(name: string, maxResultBytes: number): void {
  if (Number.isInteger(maxResultBytes) && maxResultBytes >= 1 && maxResultBytes <= MAX_RESULT_BYTES) return;
  refuse(
    name,
    `maxResultBytes is ${maxResultBytes}; it must be a whole number from 1 to ${MAX_RESULT_BYTES}`,
  );
}

function refuse(name: string, reason: string): never {
  throw new TurnwrightError('config_invalid', `Tool ${JSON.stringify(name)} cannot be defined: ${reason}.`);
}
