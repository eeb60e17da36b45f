/** OpenAI chat completions, and every server that speaks them, over the `openai` SDK. */
import OpenAI from 'openai';
import type { ChatRequest } from '../../context/request.ts';
import type { CallOptions, CallOutcome, Leg, Provider } from '../contract.ts';
import { type ExchangeSettings, exchange } from '../exchange.ts';
import { openAiClient } from './client.ts';
import { describeOpenAi } from './describe.ts';
import { type ChatDialect, type ChatKind, chatBaseUrl, chatDialect } from './dialect.ts';
import { embedOpenAi } from './embed.ts';
import { DoneWatch, OpenAiReply } from './read.ts';
import { renderOpenAi } from './render.ts';

/** @throws TurnwrightError `config_invalid` when the leg has to name its server and does not. */
export function openAiProvider(kind: ChatKind, leg: Leg, secret: string | undefined): Provider {
  const baseUrl = chatBaseUrl(kind, leg);
  const dialect = chatDialect(kind, baseUrl);
  const settings = { baseUrl, secret, streamError };
  return {
    call: (request, options) => call(leg, dialect, settings, request, options),
    searchesTools: false,
    embed: dialect.embeds ? (texts, options) => embedOpenAi(leg, settings, texts, options) : null,
    describe: (options) => describeOpenAi(leg, settings, options),
  };
}

type Settings = Omit<ExchangeSettings, 'watch'>;

async function call(
  leg: Leg,
  dialect: ChatDialect,
  settings: Settings,
  request: ChatRequest,
  options: CallOptions,
): Promise<CallOutcome> {
  const watch = new DoneWatch();
  const outcome = await exchange(options, { ...settings, watch }, async (wire) => {
    const maxTokens = Math.min(request.maxTokens, leg.maxOutputTokens ?? request.maxTokens);
    const body = renderOpenAi(request, { model: leg.model, maxTokens, dialect });
    const reply = new OpenAiReply(wire, dialect, leg.model);
    for await (const chunk of await openAiClient(settings, wire).chat.completions.create(body)) {
      reply.take(chunk);
    }
    return reply.finish(watch.done);
  });
  return outcome.ok ? { ok: true, reply: outcome.value } : outcome;
}

function streamError(error: unknown): unknown {
  return error instanceof OpenAI.APIError && error.error !== undefined ? { error: error.error } : undefined;
}
