/**
 * One HTTP request, given to an SDK as its `fetch`.
 *
 * States: idle → sent → answered → ended. Invariants: a second request is refused, since retries belong to
 * the side call; no redirect is followed, so a credential never reaches another host; what is held of a
 * reply is bounded; aborting `signal` closes the socket. A refusal (any status but 2xx) is kept whole in
 * `refusal` and thrown, so that no SDK logs, retries or rewords it. The global `fetch` is not used because it gives
 * up by itself after 300 s without headers, which a long local prefill exceeds.
 */
import http from 'node:http';
import https from 'node:https';
import { parsedJson, type Refusal } from './failures.ts';
import { LineScanner, type LineWatch } from './line-scanner.ts';
import { MalformedReply } from './malformed-reply.ts';

/** Error bodies are a few hundred bytes; more is noise. */
const MAX_REFUSAL_BYTES = 65_536;
/** After the terminal event a server closes within a packet; then the connection can be used again. */
const DRAIN_MS = 250;
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);

export class Transport {
  readonly #signal: AbortSignal;
  readonly #watch: LineWatch;
  #request: http.ClientRequest | null = null;
  #answer: http.IncomingMessage | null = null;
  #refusal: Refusal | null = null;
  #fault: MalformedReply | null = null;
  #released = false;

  constructor(signal: AbortSignal, watch: LineWatch) {
    this.#signal = signal;
    this.#watch = watch;
  }

  get sent(): boolean {
    return this.#request !== null;
  }

  get answered(): boolean {
    return this.#answer !== null;
  }

  get refusal(): Refusal | null {
    return this.#refusal;
  }

  /** Why the body ended before its end; SDKs reword what they catch. */
  get fault(): MalformedReply | null {
    return this.#fault;
  }

  readonly fetch = async (input: string | URL | Request, init: RequestInit = {}): Promise<Response> => {
    if (this.#request !== null) throw new Error('one call sends one HTTP request');
    const url = new URL(input instanceof Request ? input.url : input);
    const answer = await this.#send(url, init);
    this.#answer = answer;
    // The body's reader meets the error; a listener keeps a late one, after the reader left, from throwing.
    answer.on('error', () => {});
    const status = answer.statusCode ?? 0;
    const headers = headersOf(answer);
    if (status < 200 || status > 299) {
      this.#refusal = { status, headers, body: parsedJson(await this.#refusalText(answer)) };
      throw new Error(`HTTP ${status}`);
    }
    const body = BODILESS.has(status) ? null : (ReadableStream.from(this.#body(answer)) as ReadableStream);
    return new Response(body, { status, headers });
  };

  /** Lets go of a body nobody reads on: drained for a moment, then closed. */
  release(): void {
    const answer = this.#answer;
    if (answer === null || this.#released) return;
    this.#released = true;
    answer.resume();
    if (answer.complete || answer.destroyed) return;
    const timer = setTimeout(() => answer.destroy(), DRAIN_MS);
    timer.unref();
    answer.once('close', () => clearTimeout(timer));
  }

  #send(url: URL, init: RequestInit): Promise<http.IncomingMessage> {
    return new Promise((resolve, reject) => {
      const open = url.protocol === 'https:' ? https.request : http.request;
      const headers = Object.fromEntries(new Headers(init.headers));
      const request = open(url, { method: init.method ?? 'GET', headers, signal: this.#signal });
      this.#request = request;
      request.once('response', resolve);
      request.on('error', reject);
      // A switch to another protocol ends the request with neither an answer nor an error.
      request.once('close', () => reject(new Error('the connection closed without an answer')));
      request.end(init.body ?? undefined);
    });
  }

  async *#body(answer: http.IncomingMessage): AsyncGenerator<Uint8Array> {
    const scanner = new LineScanner(this.#watch);
    try {
      for await (const chunk of answer.iterator({ destroyOnReturn: false })) {
        const verdict = scanner.push(chunk as Buffer);
        if (verdict.type === 'fault') throw new MalformedReply(verdict.message);
        yield chunk as Buffer;
        if (verdict.type === 'end') return;
      }
      const verdict = scanner.end();
      if (verdict.type === 'fault') throw new MalformedReply(verdict.message);
    } catch (error) {
      this.#fault =
        error instanceof MalformedReply
          ? error
          : new MalformedReply('The connection closed in the middle of the reply.');
      throw this.#fault;
    } finally {
      this.release();
    }
  }

  async #refusalText(answer: http.IncomingMessage): Promise<string> {
    const chunks: Buffer[] = [];
    let heldBytes = 0;
    try {
      for await (const chunk of answer.iterator({ destroyOnReturn: false })) {
        chunks.push((chunk as Buffer).subarray(0, MAX_REFUSAL_BYTES - heldBytes));
        heldBytes += (chunk as Buffer).length;
        if (heldBytes >= MAX_REFUSAL_BYTES) break;
      }
    } catch {
      // The status says enough; a body cut short adds what it holds.
    } finally {
      this.release();
    }
    return Buffer.concat(chunks).toString('utf8');
  }
}

function headersOf(answer: http.IncomingMessage): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(answer.headersDistinct)) {
    for (const each of value ?? []) headers.append(name, each);
  }
  return headers;
}
