/**
 * The one way out to addresses that a person or a server names. Each hop, the first and every redirect, goes
 * through the same gate: its URL is checked, its name is resolved once, its addresses are checked, and the
 * connection is made to exactly those. Failures are values, and none says what a refused place would have answered.
 */
import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import type { Clock } from '../../ledger/clock.ts';
import { isAllowedHost } from './allowed-host.ts';
import { exchange, type Reply } from './exchange.ts';
import { isPublicAddress } from './public-address.ts';
import { nextHop } from './redirect.ts';

export const OUTBOUND_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
export type OutboundMethod = (typeof OUTBOUND_METHODS)[number];

export interface OutboundRequest {
  readonly url: string;
  readonly method: OutboundMethod;
  readonly headers: Readonly<Record<string, string>>;
  /** Headers that no other origin is sent, wherever a redirect leads. */
  readonly credentials: Readonly<Record<string, string>>;
  readonly body: string | null;
}

/** Every address of a name, as DNS tells it; rejects when there is none. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

export interface OutboundGuard {
  /** Hosts (`host` or `host:port`) that may be reached wherever they are. */
  readonly allow: readonly string[];
  /** For the whole, redirects included. */
  readonly timeoutMs: number;
  /** What is read of the answer's body at most. */
  readonly maxResponseBytes: number;
  readonly signal: AbortSignal;
  readonly after: Clock['after'];
  /** The system's resolver unless given. */
  readonly resolve?: Resolve;
}

/** `unsent`: nobody received it. `lost`: somebody may have, and no answer of theirs stands. `reason` follows a colon. */
export type OutboundAnswer =
  | Extract<Reply, { readonly kind: 'answered' }>
  | { readonly kind: 'unsent' | 'lost'; readonly reason: string };

/** Never rejects. */
export async function guardedRequest(
  request: OutboundRequest,
  guard: OutboundGuard,
): Promise<OutboundAnswer> {
  const stop = new AbortController();
  const onAbort = (): void => stop.abort();
  if (guard.signal.aborted) onAbort();
  guard.signal.addEventListener('abort', onAbort, { once: true });
  const stopTimer = guard.after(guard.timeoutMs, onAbort);
  try {
    const answer = await follow(request, guard, stop.signal);
    if (answer.kind === 'answered' || !stop.signal.aborted) return answer;
    const reason = guard.signal.aborted ? 'it was stopped' : `no full answer within ${guard.timeoutMs} ms`;
    return { kind: answer.kind, reason };
  } finally {
    stopTimer();
    guard.signal.removeEventListener('abort', onAbort);
  }
}

async function follow(
  request: OutboundRequest,
  guard: OutboundGuard,
  signal: AbortSignal,
): Promise<OutboundAnswer> {
  if (!URL.canParse(request.url)) return { kind: 'unsent', reason: 'its address is no valid URL' };
  let url = new URL(request.url);
  let { credentials } = request;
  const unsentAt = (hop: number) => (hop === 0 ? 'unsent' : 'lost');
  for (let hop = 0; ; hop++) {
    const place = await admit(url, guard, signal);
    if (!place.ok) return { kind: unsentAt(hop), reason: place.reason };
    const { method, body } = request;
    const headers = { ...request.headers, ...credentials };
    const { addresses } = place;
    const { maxResponseBytes } = guard;
    const reply = await exchange({ url, method, headers, body, addresses, maxResponseBytes, signal });
    if (reply.kind === 'answered') return reply;
    if (reply.kind !== 'redirect')
      return { kind: reply.kind === 'unsent' ? unsentAt(hop) : 'lost', reason: reply.reason };
    const next = nextHop(url, { method, status: reply.status, location: reply.location, hop });
    if (next.kind === 'refuse') return { kind: 'lost', reason: next.reason };
    if (next.url.origin !== url.origin) credentials = {};
    url = next.url;
  }
}

type Place =
  | { readonly ok: true; readonly addresses: readonly string[] }
  | { readonly ok: false; readonly reason: string };

async function admit(url: URL, guard: OutboundGuard, signal: AbortSignal): Promise<Place> {
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    return { ok: false, reason: `an address of the kind "${url.protocol}" is not requested` };
  if (url.username !== '' || url.password !== '')
    return { ok: false, reason: 'an address with a user or password in it is not requested' };
  const literal = url.hostname.replace(/^\[|\]$/g, '');
  const found = isIP(literal) === 0 ? await addressesOf(url.hostname, guard.resolve, signal) : [literal];
  if (found === null) return { ok: false, reason: `the name of the host ${url.hostname} was not resolved` };
  const addresses = isAllowedHost(guard.allow, url) ? found : found.filter(isPublicAddress);
  if (addresses.length === 0)
    return {
      ok: false,
      reason: `the host ${url.host} is on no public network, and it is not among those allowed by name`,
    };
  return { ok: true, addresses };
}

/** null where there is none, or the request was stopped before there was. */
async function addressesOf(
  hostname: string,
  resolve: Resolve = resolveBySystem,
  signal: AbortSignal,
): Promise<readonly string[] | null> {
  let onAbort = (): void => {};
  const stopped = new Promise<null>((stop) => {
    onAbort = () => stop(null);
  });
  if (signal.aborted) onAbort();
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    const found = await Promise.race([stopped, resolve(hostname).catch(() => null)]);
    return found === null || found.length === 0 ? null : found;
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}

async function resolveBySystem(hostname: string): Promise<readonly string[]> {
  const found = await lookup(hostname, { all: true });
  return found.map(({ address }) => address);
}
