/** One contract for every wire. A provider's failures are values; only a programmer's error throws. */
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

export interface Provider {
  /** Streams one completion. One HTTP request, never a retry of its own: retries belong to the side call. */
  call(request: ChatRequest, options: CallOptions): Promise<CallOutcome>;
  /** The metadata rung: asks the provider what the model is. */
  describe(options: { readonly signal: AbortSignal; readonly timeoutMs: number }): Promise<MetadataOutcome>;
}

export const PROVIDER_KINDS = ['openai', 'anthropic', 'ollama'] as const;
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
  /** What the account behind the leg is allowed, over all processes. Left out: found out by being refused. */
  readonly limits?: LegLimits;
}

export interface LegLimits {
  readonly requestsPerMinute?: number;
  /** Prompt and reply together. */
  readonly tokensPerMinute?: number;
  readonly concurrent?: number;
}
