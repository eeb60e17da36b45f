/** The one key under which a reply is kept: the same for every layer of the response cache. */
import { blake3Hex } from '../ledger/chain.ts';
import { canonicalJson } from '../ledger/json.ts';
import type { ChatRequest } from './request.ts';

/** Raise it when a wire renders the same request otherwise, or a kept reply gets another shape. */
const KEY_VERSION = 1;

export interface KeyedRequest {
  readonly tenant: string;
  readonly provider: string;
  /** The base URL; '' for the provider's own. */
  readonly endpoint: string;
  readonly model: string;
  readonly request: ChatRequest;
}

/** `digest` covers the tenant too: even without a look at `tenant` no key is that of another one. */
export interface RequestKey {
  readonly tenant: string;
  /** Lower-case hex of 32 bytes. */
  readonly digest: string;
}

/**
 * Cache hints and the continuation say how a request travels, not what it asks. All else is keyed, also a member that
 * requests do not have yet.
 */
export function requestKey({ tenant, provider, endpoint, model, request }: KeyedRequest): RequestKey {
  const { cache, continues, ...asked } = request;
  const digest = blake3Hex(canonicalJson([tenant, KEY_VERSION, provider, endpoint, model, asked]));
  return { tenant, digest };
}
