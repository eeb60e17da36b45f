/** The Responses API, at OpenAI and at OpenRouter, over the `openai` SDK. */
import OpenAI from 'openai';
import type { ChatReply, ChatRequest } from '../../context/request.ts';
import type { CallOptions, CallOutcome, Leg, Provider, ProviderFailure } from '../contract.ts';
import { type ExchangeSettings, exchange, type Wire } from '../exchange.ts';
import { MalformedReply } from '../malformed-reply.ts';
import { openAiClient } from '../openai/client.ts';
import { describeOpenAi } from '../openai/describe.ts';
import { ResponsesReply } from './read.ts';
import { renderResponses } from './render.ts';
import { inSharedWords, ReportedError } from './reported-error.ts';

const OPENAI_BASE_URL = 'https://api.openai.com/v1';
const OPENROUTER_BASE_URL = 'https://openrouter.ai/api/v1';

/**
 * "Previous response with id '…' not found." and "Previous response cannot be used for this organization due to Zero
 * Data Retention.": https://github.com/maximhq/bifrost/issues/2441
 */
const LOST_WORDING = /previous[ _]response/i;

type Settings = Omit<ExchangeSettings, 'watch'>;

/** For legs of the kinds `openai-responses` and `openrouter-responses`. */
export function responsesProvider(leg: Leg, secret: string | undefined): Provider {
  const defaultUrl = leg.provider === 'openrouter-responses' ? OPENROUTER_BASE_URL : OPENAI_BASE_URL;
  const settings = { baseUrl: leg.baseUrl ?? defaultUrl, secret, streamError };
  return {
    call: (request, options) => call(leg, settings, request, options),
    searchesTools: false,
    describe: (options) => describeOpenAi(leg, settings, options),
    embed: null,
  };
}

async function call(
  leg: Leg,
  settings: Settings,
  request: ChatRequest,
  options: CallOptions,
): Promise<CallOutcome> {
  const watch = { framing: 'sse' } as const;
  const outcome = await exchange(options, { ...settings, watch }, (wire) =>
    converse(leg, settings, request, wire),
  );
  if (outcome.ok) return { ok: true, reply: outcome.value };
  const isContinued = keepsState(leg) && request.continues !== undefined;
  return { ok: false, failure: isContinued ? continuationFailure(outcome.failure) : outcome.failure };
}

async function converse(leg: Leg, settings: Settings, request: ChatRequest, wire: Wire): Promise<ChatReply> {
  const { provider: kind, model } = leg;
  const stored = keepsState(leg);
  const maxTokens = Math.min(request.maxTokens, leg.maxOutputTokens ?? request.maxTokens);
  const body = renderResponses(request, { kind, model, maxTokens, stored });
  const reply = new ResponsesReply(wire, { kind, stored });
  for await (const event of await openAiClient(settings, wire).responses.create(body)) {
    if (reply.take(event)) return reply.finish(model);
  }
  throw new MalformedReply('The stream ended before its terminal event.');
}

/** OpenRouter refuses to keep a reply: https://openrouter.ai/docs/api_reference/responses/error-handling */
function keepsState({ provider, serverState }: Leg): boolean {
  return provider !== 'openrouter-responses' && serverState !== false;
}

function continuationFailure(failure: ProviderFailure): ProviderFailure {
  const { kind, message, status } = failure;
  if (kind !== 'bad_request' || !LOST_WORDING.test(message)) return failure;
  return { kind: 'lost_continuation', message, ...(status === undefined ? {} : { status }) };
}

function streamError(error: unknown): unknown {
  const isReported = error instanceof ReportedError || error instanceof OpenAI.APIError;
  return isReported && error.error !== undefined ? { error: inSharedWords(error.error) } : undefined;
}
