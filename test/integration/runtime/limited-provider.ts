/** A provider's account with limits of its own, in front of a simulator: it refuses by them, and remembers everything. */
import { createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface AccountLimits {
  /** Calls taken before the account is closed for a while, once. */
  readonly closesAfter?: { readonly calls: number; readonly forMs: number };
  /** A bucket: so many at once, and one more each `everyMs`. */
  readonly bucket?: { readonly size: number; readonly everyMs: number };
  /** What each answer takes at least. */
  readonly answerMs?: number;
}

export interface Arrival {
  readonly atMs: number;
  readonly refused: boolean;
  readonly retryAfterMs: number;
}

export interface LimitedProvider {
  readonly url: string;
  readonly arrivals: readonly Arrival[];
  /** The most that were answered side by side. */
  readonly mostAtOnce: number;
  /** Starts with a fresh account. */
  limit(limits: AccountLimits): void;
  close(): Promise<void>;
}

export async function limitedProvider(simUrl: string): Promise<LimitedProvider> {
  const account = new Account();
  const server = createServer((request, response) => {
    const counted = request.method === 'POST';
    const arrival = counted ? account.arrive() : null;
    if (arrival?.refused === true) return refuse(request, response, arrival.retryAfterMs);
    if (counted) account.open += 1;
    account.mostAtOnce = Math.max(account.mostAtOnce, account.open);
    response.once('close', () => {
      if (counted) account.open -= 1;
    });
    setTimeout(() => forward(simUrl, request, response), counted ? (account.limits.answerMs ?? 0) : 0);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get arrivals() {
      return account.arrivals;
    },
    get mostAtOnce() {
      return account.mostAtOnce;
    },
    limit: (limits) => account.reset(limits),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

class Account {
  limits: AccountLimits = {};
  arrivals: Arrival[] = [];
  open = 0;
  mostAtOnce = 0;
  #opensAtMs: number | null = null;
  #level = 0;
  #levelAtMs = 0;

  reset(limits: AccountLimits): void {
    this.limits = limits;
    this.arrivals = [];
    this.mostAtOnce = 0;
    this.#opensAtMs = null;
    this.#level = 0;
    this.#levelAtMs = performance.now();
  }

  arrive(): Arrival {
    const atMs = performance.now();
    const retryAfterMs = Math.ceil(Math.max(this.#closedMs(atMs), this.#emptyMs(atMs)));
    const arrival = { atMs, refused: retryAfterMs > 0, retryAfterMs };
    if (!arrival.refused) this.#level += 1;
    this.arrivals.push(arrival);
    return arrival;
  }

  #closedMs(atMs: number): number {
    const { closesAfter } = this.limits;
    if (closesAfter === undefined) return 0;
    if (this.#opensAtMs === null && this.arrivals.length >= closesAfter.calls)
      this.#opensAtMs = atMs + closesAfter.forMs;
    return Math.max(0, (this.#opensAtMs ?? 0) - atMs);
  }

  #emptyMs(atMs: number): number {
    const { bucket } = this.limits;
    if (bucket === undefined) return 0;
    this.#level = Math.max(0, this.#level - (atMs - this.#levelAtMs) / bucket.everyMs);
    this.#levelAtMs = atMs;
    return Math.max(0, (this.#level + 1 - bucket.size) * bucket.everyMs);
  }
}

function refuse(request: IncomingMessage, response: ServerResponse, retryAfterMs: number): void {
  request.resume();
  response.writeHead(429, {
    'content-type': 'application/json',
    'retry-after': String(Math.ceil(retryAfterMs / 1_000)),
    'retry-after-ms': String(retryAfterMs),
  });
  response.end(
    JSON.stringify({
      error: { message: 'Rate limit reached.', type: 'requests', code: 'rate_limit_exceeded' },
    }),
  );
}

function forward(simUrl: string, request: IncomingMessage, response: ServerResponse): void {
  const { method, headers } = request;
  const onward = send(new URL(request.url ?? '/', simUrl), { method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  onward.once('error', () => response.destroy());
  response.once('close', () => onward.destroy());
  request.pipe(onward);
}
