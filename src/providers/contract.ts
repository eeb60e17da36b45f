/** One contract for every wire. A provider's failures are values; only a programmer's error throws. */
import type { ListPrice } from '../context/pricing/rate.ts';
import type { ChatReply, ChatRequest } from '../context/request.ts';

/** Why a call failed, and what may be done about it. `message` never holds a credential. */
export type ProviderFailure = {
  readonly message: string;
  /** HTTP status, where there was one. */
  readonly status?: number;
} & (
  | {
      readonly kind: 'retryable';
      readonly code:
        | 'rate_limited'
        | 'overloaded'
        | 'server_error'
        | 'network'
        | 'timeout'
        | 'malformed_reply';
      /** From `Retry-After` or the provider's reset headers. */
      readonly retryAfterMs?: number;
    }
  /** The prompt is larger than the model takes; `limitTokens` when the error text states it. */
  | { readonly kind: 'over_length'; readonly limitTokens?: number }
  /** The provider no longer holds the reply the request continues: the same request without `continues` may be sent. */
  | { readonly kind: 'lost_continuation' }
  | { readonly kind: 'auth' }
  | { readonly kind: 'bad_request' }
  /** Refused for what the request or the reply says. */
  | { readonly kind: 'content' }
  | { readonly kind: 'aborted' }
);

export type CallOutcome =
  | { readonly ok: true; readonly reply: ChatReply }
  | { readonly ok: false; readonly failure: ProviderFailure };

export interface Delta {
  readonly type: 'text' | 'thinking';
  readonly text: string;
}

export interface CallOptions {
  /** Aborting ends the HTTP request and the call as `aborted`. */
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly onDelta?: (delta: Delta) => void;
}

/** What the provider says of the model; null where it says nothing. */
export interface ModelMetadata {
  readonly declaredWindow: number | null;
  readonly maxOutputTokens: number | null;
  readonly quantisation: string | null;
}

export type MetadataOutcome =
  | { readonly ok: true; readonly metadata: ModelMetadata }
  | { readonly ok: false; readonly failure: ProviderFailure };

/** `vectors` are one a text, in their order, all of one length. */
export type EmbedOutcome =
  | {
      readonly ok: true;
      readonly vectors: readonly (readonly number[])[];
      readonly inputTokens: number | null;
    }
  | { readonly ok: false; readonly failure: ProviderFailure };

export interface Provider {
  /** Streams one completion. One HTTP request, never a retry of its own: retries belong to the side call. */
  call(request: ChatRequest, options: CallOptions): Promise<CallOutcome>;
  /** Takes `ChatRequest.deferred` and searches it itself; a provider that does not leaves it out of its request. */
  readonly searchesTools: boolean;
  /** null for a wire that has no embeddings. */
  readonly embed:
    | ((
        texts: readonly string[],
        options: { readonly signal: AbortSignal; readonly timeoutMs: number },
      ) => Promise<EmbedOutcome>)
    | null;
  /** The metadata rung: asks the provider what the model is. */
  describe(options: { readonly signal: AbortSignal; readonly timeoutMs: number }): Promise<MetadataOutcome>;
}

export const PROVIDER_KINDS = [
  'anthropic',
  'openai',
  'openai-responses',
  'google',
  'openrouter',
  'openrouter-responses',
  'compatible',
  'ollama',
  'bedrock',
] as const;
export type ProviderKind = (typeof PROVIDER_KINDS)[number];

/** A named way to a model. `apiKeyEnv` names the environment variable that holds the credential. */
export interface Leg {
  readonly name: string;
  readonly provider: ProviderKind;
  readonly model: string;
  readonly baseUrl?: string;
  readonly apiKeyEnv?: string;
  /** Operator's override of the declared window, in tokens. */
  readonly window?: number;
  /** Operator's cap on a reply, in tokens. */
  readonly maxOutputTokens?: number;
  readonly timeoutMs: number;
  /** Legs of one family stand in for each other in side calls and in probing. */
  readonly family?: string;
  /** The leg of the family that the ladder runs on, when this one is hosted. */
  readonly probeWith?: string;
  /** US dollars per million tokens; wins over the catalogue. */
  readonly price?: ListPrice;
  /** Responses wires: false keeps nothing at the provider, so no request continues an earlier reply. */
  readonly serverState?: boolean;
  /** What the account behind the leg is allowed, over all processes. Left out: found out by being refused. */
  readonly limits?: LegLimits;
}

export interface LegLimits {
  readonly requestsPerMinute?: number;
  /** Prompt and reply together. */
  readonly tokensPerMinute?: number;
  readonly concurrent?: number;
}
