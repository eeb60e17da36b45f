/** What the servers that speak chat completions do not have in common, one row a kind of leg. */
import { TurnwrightError } from '../../ledger/errors.ts';
import type { Leg } from '../contract.ts';

export type ChatKind = 'openai' | 'google' | 'openrouter' | 'compatible' | 'bedrock';

/** How earlier thinking goes back: not at all, or by the field that the server looks for. */
type ThinkingReplay = 'dropped' | 'reasoning_content' | 'reasoning_details' | 'thought_signature';

export interface ChatDialect {
  readonly kind: ChatKind;
  /** `max_tokens` is the older name of the two. */
  readonly replyLimit: 'max_tokens' | 'max_completion_tokens';
  /** Sent with every request. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** The field that keeps requests of one prefix on the machine that holds it. */
  readonly cacheKey: 'prompt_cache_key' | 'session_id' | null;
  /** Models whose cache has to be told where prefixes end. */
  readonly markedModels: RegExp | null;
  readonly thinking: ThinkingReplay;
  /** Thinking is left out of `completion_tokens`, and only the total counts it. */
  readonly countsThinkingApart: boolean;
  readonly embeds: boolean;
}

type Row = Omit<ChatDialect, 'kind'> & {
  readonly baseUrl: string | null;
  /** Written where a leg that has to name its server does not. */
  readonly baseUrlExample?: string;
};

const COMMON = {
  replyLimit: 'max_completion_tokens',
  // https://platform.openai.com/docs/api-reference/chat-streaming: without it a stream reports no usage.
  fields: { stream_options: { include_usage: true } },
  cacheKey: null,
  markedModels: null,
  thinking: 'dropped',
  countsThinkingApart: false,
  embeds: true,
} as const satisfies Omit<ChatDialect, 'kind'>;

const ROWS: Readonly<Record<ChatKind, Row>> = {
  openai: {
    ...COMMON,
    baseUrl: 'https://api.openai.com/v1',
    // https://platform.openai.com/docs/guides/prompt-caching
    cacheKey: 'prompt_cache_key',
  },
  // Unknown fields are refused here, `prompt_cache_key` among them: https://github.com/leookun/cursor-byok/issues/112
  google: {
    ...COMMON,
    // https://ai.google.dev/gemini-api/docs/openai
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
    // https://ai.google.dev/gemini-api/docs/thought-signatures
    thinking: 'thought_signature',
    // https://discuss.ai.google.dev/t/127400
    countsThinkingApart: true,
  },
  openrouter: {
    ...COMMON,
    baseUrl: 'https://openrouter.ai/api/v1',
    // Prompts for models of 8k tokens and less are cut in their middle unless that is off:
    // https://openrouter.ai/docs/guides/features/message-transforms
    fields: { ...COMMON.fields, plugins: [{ id: 'context-compression', enabled: false }] },
    // https://openrouter.ai/docs/guides/best-practices/prompt-caching, for both.
    cacheKey: 'session_id',
    markedModels: /^~?anthropic\//,
    // https://openrouter.ai/docs/guides/best-practices/reasoning-tokens#preserving-reasoning
    thinking: 'reasoning_details',
  },
  // Runners cache by prefix on their own, and some gateways refuse a field they do not know.
  compatible: {
    ...COMMON,
    baseUrl: null,
    baseUrlExample: 'http://127.0.0.1:8000/v1',
  },
  // https://docs.aws.amazon.com/bedrock/latest/userguide/inference-chat-completions.html. Of OpenAI's endpoints this
  // one serves chat and responses: https://docs.aws.amazon.com/bedrock/latest/userguide/endpoints.html
  bedrock: {
    ...COMMON,
    baseUrl: null,
    baseUrlExample: 'https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1',
    embeds: false,
  },
};

/** Hosts whose reasoning models refuse `max_tokens`: https://platform.openai.com/docs/api-reference/chat/create. */
const OPENAI_HOSTS: readonly RegExp[] = [/^api\.openai\.com$/, /\.openai\.azure\.com$/];

/**
 * Thinking models there refuse calls that come back without the thinking before them, be it empty:
 * https://api-docs.deepseek.com/guides/thinking_mode and https://github.com/anomalyco/opencode/issues/25758
 */
const ECHOING_HOSTS: readonly RegExp[] = [/(?:^|\.)deepseek\.com$/, /(?:^|\.)moonshot\.(?:ai|cn)$/];

/** @throws TurnwrightError `config_invalid` when the leg has to name its server and does not. */
export function chatBaseUrl(kind: ChatKind, leg: Leg): string {
  const { baseUrl, baseUrlExample } = ROWS[kind];
  const chosen = leg.baseUrl ?? baseUrl;
  if (chosen !== null) return chosen;
  throw new TurnwrightError(
    'config_invalid',
    `Leg ${leg.name} is of the kind ${kind}, which has no address of its own: give it a baseUrl such as ${baseUrlExample}.`,
  );
}

/** `openai` and `compatible` legs reach any server, so the host has a say in theirs. */
export function chatDialect(kind: ChatKind, baseUrl: string): ChatDialect {
  const { baseUrl: _default, baseUrlExample: _example, ...row } = ROWS[kind];
  if (kind !== 'openai' && kind !== 'compatible') return { kind, ...row };
  const { hostname } = new URL(baseUrl);
  return {
    kind,
    ...row,
    // Servers beside OpenAI know `max_tokens`, and some refuse the newer name.
    replyLimit: isOneOf(OPENAI_HOSTS, hostname) ? 'max_completion_tokens' : 'max_tokens',
    thinking: isOneOf(ECHOING_HOSTS, hostname) ? 'reasoning_content' : 'dropped',
  };
}

function isOneOf(hosts: readonly RegExp[], hostname: string): boolean {
  return hosts.some((host) => host.test(hostname));
}
