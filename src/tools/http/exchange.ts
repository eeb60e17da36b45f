/** One HTTP exchange with addresses that were checked: no name is resolved here, and no redirect followed. */
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { isRedirect } from './redirect.ts';

export interface Exchange {
  readonly url: URL;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  /** At least one; the connection goes to one of them. */
  readonly addresses: readonly string[];
  readonly maxResponseBytes: number;
  readonly signal: AbortSignal;
}

/** `cut`: the body goes on beyond what was read of it. */
export type Reply =
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly contentType: string | null;
      readonly body: Uint8Array;
      readonly cut: boolean;
    }
  | { readonly kind: 'redirect'; readonly status: number; readonly location: string | undefined }
  | { readonly kind: 'unsent' | 'lost'; readonly reason: string };

/** A code of Node's, in words. What the error itself says may name addresses that concern nobody. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection broke',
  EHOSTUNREACH: 'the host cannot be reached',
  ENETUNREACH: 'the host cannot be reached',
  ETIMEDOUT: 'the host cannot be reached',
  EPIPE: 'the connection broke',
  HPE_HEADER_OVERFLOW: 'the headers of the answer are too large',
  ERR_INVALID_CHAR: 'a header holds characters that no header may hold',
};
const CERTIFICATE = /CERT|SIGNATURE|SELF_SIGNED/;

/** Never rejects. */
export async function exchange(asked: Exchange): Promise<Reply> {
  return new Promise((resolve) => {
    let sent = false;
    const fail = (error: unknown): void =>
      resolve({ kind: sent ? 'lost' : 'unsent', reason: reasonOf(error) });
    let outgoing: ClientRequest;
    try {
      outgoing = begin(asked);
    } catch (error) {
      return fail(error);
    }
    outgoing.on('socket', (socket) => {
      socket.once(asked.url.protocol === 'https:' ? 'secureConnect' : 'connect', () => {
        sent = true;
      });
    });
    outgoing.on('error', fail);
    outgoing.on('close', () => fail(null));
    outgoing.on('response', (incoming) => {
      void read(incoming, asked.maxResponseBytes)
        .then(resolve, fail)
        .finally(() => outgoing.destroy());
    });
    outgoing.end(asked.body ?? undefined);
  });
}

function begin({ url, method, headers, body, addresses, signal }: Exchange): ClientRequest {
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  const length = body === null ? {} : { 'content-length': String(Buffer.byteLength(body, 'utf8')) };
  return send(url, {
    method,
    // Compressed, a small answer could become a huge one.
    headers: { 'accept-encoding': 'identity', ...headers, ...length },
    // A connection of somebody else's was not made to a checked address.
    agent: false,
    lookup: pinnedTo(addresses),
    signal,
  });
}

/** Node asks it for the address of any name. */
function pinnedTo(addresses: readonly string[]): LookupFunction {
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  return (_hostname, { all }, callback) => {
    const [first] = found;
    if (all === true) callback(null, found);
    else if (first !== undefined) callback(null, first.address, first.family);
  };
}

async function read(incoming: IncomingMessage, maxBytes: number): Promise<Reply> {
  const { statusCode: status = 0, headers } = incoming;
  if (isRedirect(status)) return { kind: 'redirect', status, location: headers.location };
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? '';
  if (encoding !== '' && encoding !== 'identity')
    return { kind: 'lost', reason: 'it answered with compressed content, which was not asked for' };
  const chunks: Uint8Array[] = [];
  let bodyBytes = 0;
  for await (const chunk of incoming as AsyncIterable<Uint8Array>) {
    chunks.push(chunk);
    bodyBytes += chunk.byteLength;
    if (bodyBytes > maxBytes) break;
  }
  const body = Buffer.concat(chunks).subarray(0, maxBytes);
  return {
    kind: 'answered',
    status,
    contentType: headers['content-type'] ?? null,
    body,
    cut: bodyBytes > maxBytes,
  };
}

function reasonOf(error: unknown): string {
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
  if (Object.hasOwn(REASONS, code)) return REASONS[code] ?? '';
  if (CERTIFICATE.test(code)) return 'its certificate is not trusted';
  if (code.startsWith('HPE_')) return 'it did not answer in valid HTTP';
  return 'the connection broke';
}
