/**
 * The server and its life.
 *
 * States: listening, closing, closed. `close` cuts every open connection, which ends the waits of all calls;
 * it resolves when they have written their last log line. A second `close` returns the first one's promise.
 */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { CallLog } from './call-log.ts';
import type { Simulator, SimulatorOptions } from './contract.ts';
import { type Desk, serveModels } from './desk.ts';
import { FaultPlan } from './faults.ts';
import { failInside } from './http.ts';
import { DEFAULT_SIM_MODELS, SIM_DESCRIPTION } from './models.ts';
import { route } from './routes.ts';
import { SharedPrefixes } from './shared-prefixes.ts';
import { anthropicWire } from './wires/anthropic.ts';
import { ollamaWire } from './wires/ollama.ts';
import { openaiWire } from './wires/openai.ts';
import { responsesWire } from './wires/responses.ts';

const HOST = '127.0.0.1';

/** Starts listening on the loopback address. Rejects when the port is taken or the log cannot be opened. */
export async function startSimulator(options: SimulatorOptions): Promise<Simulator> {
  const desk: Desk = {
    seed: options.seed,
    paced: options.speed === 'real',
    clock: options.clock ?? Date.now,
    models: serveModels(options.models ?? DEFAULT_SIM_MODELS),
    faults: new FaultPlan(options.seed, options.faults ?? []),
    log: new CallLog(options.callLog ?? null),
    prefixes: new SharedPrefixes(),
  };
  const closing = new AbortController();
  const running = new Set<Promise<void>>();
  const wires = {
    openai: openaiWire,
    responses: responsesWire(options.seed),
    anthropic: anthropicWire(options.seed),
    ollama: ollamaWire,
  };
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
    get banner() {
      return `SIMULATION at ${url}: ${[...desk.models.keys()].join(', ')} (${SIM_DESCRIPTION})`;
    },
    calls: () => desk.log.calls(),
    setFaults: (rules) => desk.faults.set(rules),
    setModels: (models) => {
      desk.models = serveModels(models);
    },
    close: () => {
      closed ??= shut(server, closing, running, desk.log);
      return closed;
    },
  };
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
