/** Bodies in and out of the server, each response labelled as simulated. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { SIM_HEADERS } from './models.ts';
import type { WireRefusal } from './wires/contract.ts';

/** Larger than any window; a longer body is answered, not read. */
export const MAX_BODY_BYTES = 64 * 1024 * 1024;

export async function readBody(request: IncomingMessage): Promise<Buffer | 'too large' | 'left'> {
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

export async function readJson(request: IncomingMessage): Promise<unknown> {
  const raw = await readBody(request);
  if (typeof raw === 'string') return null;
  try {
    return JSON.parse(raw.toString('utf8'));
  } catch {
    return null;
  }
}

export function sendRefusal(response: ServerResponse, refusal: WireRefusal): void {
  response.writeHead(refusal.status, {
    ...SIM_HEADERS,
    ...refusal.headers,
    'content-type': refusal.contentType,
  });
  response.end(refusal.text);
}

export function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { ...SIM_HEADERS, 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
}

export function sendError(response: ServerResponse, status: number, message: string): void {
  sendJson(response, status, { error: { code: 'simulator', message } });
}

/** A defect of the simulator itself: it says so, and goes on serving. */
export function failInside(response: ServerResponse, error: unknown): void {
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  if (response.headersSent) response.destroy();
  else sendError(response, 500, `the simulator failed: ${message}`);
}
