/** The routes of the three providers and of the simulator itself. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  anthropicModel,
  anthropicModels,
  OLLAMA_VERSION,
  ollamaShow,
  ollamaTags,
  openaiModel,
  openaiModels,
} from './catalogue.ts';
import { complete } from './completion.ts';
import { type Desk, serveModels } from './desk.ts';
import { type EmbeddingRoute, ollamaEmbeddings, openaiEmbeddings } from './embeddings.ts';
import { parseFaultRules } from './faults.ts';
import { MAX_BODY_BYTES, readBody, readJson, sendError, sendJson, sendRefusal } from './http.ts';
import { parseModels, SIM_DESCRIPTION } from './models.ts';
import { asObject, asString } from './untyped.ts';
import { type Wire, WireRefusal } from './wires/contract.ts';

export interface Site {
  readonly desk: Desk;
  readonly wires: Readonly<Record<'openai' | 'responses' | 'anthropic' | 'ollama', Wire>>;
  readonly closing: AbortSignal;
}

export async function route(site: Site, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { desk, wires } = site;
  const path = (request.url ?? '/').split('?')[0] ?? '/';
  const named = /^\/v1\/models\/(.+)$/.exec(path)?.[1];
  const models = [...desk.models.values()].map((served) => served.model);
  const anthropic = request.headers['anthropic-version'] !== undefined;
  if (named !== undefined && request.method === 'GET') {
    const model = desk.models.get(decodeURIComponent(named))?.model;
    const wire = anthropic ? wires.anthropic : wires.openai;
    if (model === undefined) return sendRefusal(response, unknownModel(wire, named));
    return sendJson(response, 200, anthropic ? anthropicModel(model) : openaiModel(model));
  }
  switch (`${request.method} ${path}`) {
    case 'POST /v1/chat/completions':
      return await completeWith(site, wires.openai, request, response);
    case 'POST /v1/responses':
      return await completeWith(site, wires.responses, request, response);
    case 'POST /v1/messages':
      return await completeWith(site, wires.anthropic, request, response);
    case 'POST /api/chat':
      return await completeWith(site, wires.ollama, request, response);
    case 'POST /v1/embeddings':
      return await embed(site, openaiEmbeddings, wires.openai, request, response);
    case 'POST /api/embed':
      return await embed(site, ollamaEmbeddings, wires.ollama, request, response);
    case 'GET /v1/models':
      return sendJson(response, 200, anthropic ? anthropicModels(models) : openaiModels(models));
    case 'POST /api/show':
      return await show(site, request, response);
    case 'GET /api/tags':
      return sendJson(response, 200, ollamaTags(models));
    case 'GET /api/version':
      return sendJson(response, 200, OLLAMA_VERSION);
    case 'GET /sim/calls':
      return sendJson(response, 200, { calls: desk.log.calls() });
    case 'PUT /sim/faults':
      return await putFaults(desk, request, response);
    case 'PUT /sim/models':
      return await putModels(desk, request, response);
    case 'GET /sim/healthz':
      return sendJson(response, 200, { status: 'ok', simulation: SIM_DESCRIPTION });
    default:
      return sendError(response, 404, `no such route: ${request.method} ${path}`);
  }
}

async function completeWith(
  site: Site,
  wire: Wire,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const left = new AbortController();
  const leave = () => left.abort();
  response.once('close', leave);
  site.closing.addEventListener('abort', leave, { once: true });
  try {
    const raw = await readBody(request);
    if (raw === 'left') return;
    if (raw === 'too large') {
      response.shouldKeepAlive = false;
      return sendError(response, 413, `the body is larger than ${MAX_BODY_BYTES} bytes`);
    }
    await complete(site.desk, { wire, raw, response, gone: left.signal });
  } finally {
    site.closing.removeEventListener('abort', leave);
  }
}

async function show(site: Site, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = asObject(await readJson(request));
  const name = asString(body?.model) ?? asString(body?.name) ?? '';
  const model = site.desk.models.get(name)?.model;
  if (model === undefined) return sendRefusal(response, unknownModel(site.wires.ollama, name));
  return sendJson(response, 200, ollamaShow(model));
}

/** Not numbered and not logged: faults and counts are about replies. */
async function embed(
  site: Site,
  answer: EmbeddingRoute,
  wire: Wire,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = asObject(await readJson(request)) ?? {};
  const name = asString(body.model) ?? '';
  const model = site.desk.models.get(name)?.model;
  if (model === undefined) return sendRefusal(response, unknownModel(wire, name));
  const answered = answer(body, model);
  if (answered instanceof WireRefusal) return sendRefusal(response, answered);
  return sendJson(response, 200, answered);
}

async function putFaults(desk: Desk, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const parsed = parseFaultRules(await readJson(request));
  if (!parsed.ok) return sendError(response, 400, parsed.message);
  desk.faults.set(parsed.rules);
  return sendJson(response, 200, { rules: parsed.rules.length });
}

async function putModels(desk: Desk, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const parsed = parseModels(await readJson(request));
  if (!parsed.ok) return sendError(response, 400, parsed.message);
  desk.models = serveModels(parsed.models);
  return sendJson(response, 200, { models: parsed.models.length });
}

function unknownModel(wire: Wire, model: string): WireRefusal {
  return wire.failure('unknown_model', { model, retryAfterMs: null, atMs: 0 });
}
