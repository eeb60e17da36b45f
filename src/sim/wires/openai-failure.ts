/** OpenAI's error bodies. https://platform.openai.com/docs/guides/error-codes */
import type { SimModel } from '../contract.ts';
import { type FailureContext, type FailureKind, WireRefusal, type WireRequest } from './contract.ts';
import { wordedOverLength } from './over-length-wordings.ts';

/** A 400 as the API words it. */
export function openaiInvalid(message: string, param: string | null, code: string | null): WireRefusal {
  return openaiError(400, message, 'invalid_request_error', param, code);
}

export function openaiFailure(kind: FailureKind, context: FailureContext): WireRefusal {
  switch (kind) {
    case 'rate_limit': {
      const seconds = (context.retryAfterMs ?? 0) / 1_000;
      return openaiError(
        429,
        `Rate limit reached for ${context.model} in organization org-simulated on requests per min (RPM): Limit 1, Used 1, Requested 1.${context.retryAfterMs === null ? '' : ` Please try again in ${seconds}s.`}`,
        'requests',
        null,
        'rate_limit_exceeded',
        context.retryAfterMs === null
          ? {}
          : {
              'retry-after': String(Math.ceil(seconds)),
              'retry-after-ms': String(context.retryAfterMs),
              'x-ratelimit-limit-requests': '1',
              'x-ratelimit-remaining-requests': '0',
              'x-ratelimit-reset-requests': `${seconds}s`,
            },
      );
    }
    case 'overloaded':
      return openaiError(
        503,
        'The engine is currently overloaded, please try again later',
        'server_error',
        null,
        null,
      );
    case 'server_error':
      return openaiError(
        500,
        'The server had an error while processing your request. Sorry about that!',
        'server_error',
        null,
        null,
      );
    case 'auth':
      return openaiError(
        401,
        'Incorrect API key provided. You can find your API key at https://platform.openai.com/account/api-keys.',
        'invalid_request_error',
        null,
        'invalid_api_key',
      );
    case 'unknown_model':
      return openaiError(
        404,
        `The model \`${context.model}\` does not exist or you do not have access to it.`,
        'invalid_request_error',
        null,
        'model_not_found',
      );
  }
}

/** Three rules: the reply limit of the model, the prompt alone, then prompt and reply together. */
export function openaiOverLength(
  request: WireRequest,
  promptTokens: number,
  model: SimModel,
): WireRefusal | null {
  const reply = request.maxTokens ?? 0;
  if (reply > model.maxOutputTokens) {
    return openaiInvalid(
      `max_tokens is too large: ${reply}. This model supports at most ${model.maxOutputTokens} completion tokens, whereas you provided ${reply}.`,
      'max_tokens',
      'invalid_value',
    );
  }
  if (promptTokens + reply <= model.window) return null;
  const worded = wordedOverLength(request, promptTokens, model);
  if (worded !== null) return worded;
  if (promptTokens > model.window) return openaiPromptTooLong(promptTokens, model);
  return openaiInvalid(
    `This model's maximum context length is ${model.window} tokens. However, you requested ${promptTokens + reply} tokens (${promptTokens} in the messages, ${reply} in the completion). Please reduce the length of the messages or completion.`,
    'messages',
    'context_length_exceeded',
  );
}

export function openaiPromptTooLong(promptTokens: number, model: SimModel): WireRefusal {
  return openaiInvalid(
    `This model's maximum context length is ${model.window} tokens. However, your messages resulted in ${promptTokens} tokens. Please reduce the length of the messages.`,
    'messages',
    'context_length_exceeded',
  );
}

function openaiError(
  status: number,
  message: string,
  type: string,
  param: string | null,
  code: string | null,
  headers: Record<string, string> = {},
): WireRefusal {
  return new WireRefusal(status, message, { error: { message, type, param, code } }, headers);
}
