/**
 * The server: routes, and its life.
 *
 * States: listening, closing, closed. `close` cuts every open connection, which ends the waits of all calls;
 * it resolves when they have written their last log line. A second `close` returns the first one's promise.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CallLog } from './call-log.ts';
import {
  anthropicModel,
  anthropicModels,
  OLLAMA_VERSION,
  ollamaShow,
  ollamaTags,
  openaiModel,
  openaiModels,
} from './catalogue.ts';
import { complete, type Desk, type ServedModel } from './completion.ts';
import type { SimModel, Simulator, SimulatorOptions } from './contract.ts';
import { FaultPlan, parseFaultRules } from './faults.ts';
import { DEFAULT_SIM_MODELS, SIM_DESCRIPTION, SIM_HEADERS } from './models.ts';
import { PrefixCache } from './prefix-cache.ts';
import { asObject, asString } from './untyped.ts';
import { anthropicWire } from './wires/anthropic.ts';
import type { Wire, WireRefusal } from './wires/contract.ts';
import { ollamaWire } from './wires/ollama.ts';
import { openaiWire } from './wires/openai.ts';

const HOST = '127.0.0.1';
/** Larger than any window; a longer body is answered, not read. */
const MAX_BODY_BYTES = 64 * 1024 * 1024;

/** Starts listening on the loopback address. Rejects when the port is taken or the log cannot be opened. */
export async function startSimulator(options: SimulatorOptions): Promise<Simulator> {
  const models = options.models ?? DEFAULT_SIM_MODELS;
  const served = models.map((model): [string, ServedModel] => [model.name, serve(model)]);
  const desk: Desk = {
    seed: options.seed,
    paced: options.speed === 'real',
    clock: options.clock ?? Date.now,
    models: new Map(served),
    faults: new FaultPlan(options.seed, options.faults ?? []),
    log: new CallLog(options.callLog ?? null),
  };
  const closing = new AbortController();
  const running = new Set<Promise<void>>();
  const wires = { openai: openaiWire, anthropic: anthropicWire(options.seed), ollama: ollamaWire };
  const server = createServer((request, response) => {
    const work = route({ desk, wires, closing: closing.signal }, request, response).catch((error: unknown) =>
      failInside(response, error),
    );
    running.add(work);
    void work.finally(() => running.delete(work));
  });
  try {
    await listen(server, options.port ?? 0);
  } catch (error) {
    desk.log.close();
    throw error;
  }
  const url = `http://${HOST}:${(server.address() as AddressInfo).port}`;
  let closed: Promise<void> | null = null;
  return {
    url,
    banner: `SIMULATION at ${url}: ${models.map((model) => model.name).join(', ')} (${SIM_DESCRIPTION})`,
    calls: () => desk.log.calls(),
    setFaults: (rules) => desk.faults.set(rules),
    close: () => {
      closed ??= shut(server, closing, running, desk.log);
      return closed;
    },
  };
}

function serve(model: SimModel): ServedModel {
  const caches = {
    openai: new PrefixCache(model),
    anthropic: new PrefixCache(model),
    ollama: new PrefixCache(model),
  };
  return { model, caches };
}

async function listen(server: Server, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, HOST, () => {
      server.off('error', reject);
      resolve();
    });
  });
}

async function shut(
  server: Server,
  closing: AbortController,
  running: ReadonlySet<Promise<void>>,
  log: CallLog,
): Promise<void> {
  const stopped = new Promise<void>((resolve) => server.close(() => resolve()));
  closing.abort();
  server.closeAllConnections();
  await stopped;
  await Promise.all(running);
  log.close();
}

interface Site {
  readonly desk: Desk;
  readonly wires: { readonly openai: Wire; readonly anthropic: Wire; readonly ollama: Wire };
  readonly closing: AbortSignal;
}

async function route(site: Site, request: IncomingMessage, response: ServerResponse): Promise<void> {
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
    case 'POST /v1/messages':
      return await completeWith(site, wires.anthropic, request, response);
    case 'POST /api/chat':
      return await completeWith(site, wires.ollama, request, response);
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

async function putFaults(desk: Desk, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const parsed = parseFaultRules(await readJson(request));
  if (!parsed.ok) return sendError(response, 400, parsed.message);
  desk.faults.set(parsed.rules);
  return sendJson(response, 200, { rules: parsed.rules.length });
}

async function readBody(request: IncomingMessage): Promise<Buffer | 'too large' | 'left'> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    // Keeps the connection when the loop ends early, so that the refusal still reaches the client.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > MAX_BODY_BYTES) return 'too large';
      chunks.push(chunk);
    }
  } catch {
    return 'left';
  }
  return Buffer.concat(chunks);
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const raw = await readBody(request);
  if (typeof raw === 'string') return null;
  try {
    return JSON.parse(raw.toString('utf8'));
  } catch {
    return null;
  }
}

function unknownModel(wire: Wire, model: string): WireRefusal {
  return wire.failure('unknown_model', { model, retryAfterMs: 0, atMs: 0 });
}

function sendRefusal(response: ServerResponse, refusal: WireRefusal): void {
  response.writeHead(refusal.status, {
    ...SIM_HEADERS,
    ...refusal.headers,
    'content-type': 'application/json',
  });
  response.end(JSON.stringify(refusal.body));
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { ...SIM_HEADERS, 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

function sendError(response: ServerResponse, status: number, message: string): void {
  sendJson(response, status, { error: { code: 'simulator', message } });
}

/** A defect of the simulator itself: it says so, and goes on serving. */
function failInside(response: ServerResponse, error: unknown): void {
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  if (response.headersSent) response.destroy();
  else sendError(response, 500, `the simulator failed: ${message}`);
}
