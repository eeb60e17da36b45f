/** Anthropic's error bodies. https://platform.claude.com/docs/en/api/errors */
import type { SimModel } from '../contract.ts';
import { type FailureContext, type FailureKind, WireRefusal, type WireRequest } from './contract.ts';

/** A 400 as the API words it. */
export function anthropicInvalid(message: string): WireRefusal {
  return anthropicError(400, 'invalid_request_error', message);
}

export function anthropicFailure(kind: FailureKind, context: FailureContext): WireRefusal {
  switch (kind) {
    case 'rate_limit':
      return anthropicError(
        429,
        'rate_limit_error',
        "This request would exceed your organization's rate limit. Please try again later.",
        context.retryAfterMs === null ? {} : comeBack(context.retryAfterMs, context.atMs),
      );
    case 'overloaded':
      return anthropicError(529, 'overloaded_error', 'Overloaded');
    case 'server_error':
      return anthropicError(500, 'api_error', 'Internal server error');
    case 'auth':
      return anthropicError(401, 'authentication_error', 'invalid x-api-key');
    case 'unknown_model':
      return anthropicError(404, 'not_found_error', `model: ${context.model}`);
  }
}

function comeBack(retryAfterMs: number, atMs: number): Record<string, string> {
  return {
    'retry-after': String(Math.ceil(retryAfterMs / 1_000)),
    'retry-after-ms': String(retryAfterMs),
    'anthropic-ratelimit-requests-limit': '1',
    'anthropic-ratelimit-requests-remaining': '0',
    'anthropic-ratelimit-requests-reset': new Date(atMs + retryAfterMs).toISOString(),
  };
}

/** Three rules: the reply limit of the model, the prompt alone, then prompt and reply together. */
export function anthropicOverLength(
  request: WireRequest,
  promptTokens: number,
  model: SimModel,
): WireRefusal | null {
  const reply = request.maxTokens ?? 0;
  if (reply > model.maxOutputTokens) {
    return anthropicInvalid(
      `max_tokens: ${reply} > ${model.maxOutputTokens}, which is the maximum allowed number of output tokens for ${model.name}`,
    );
  }
  if (promptTokens > model.window) return anthropicPromptTooLong(promptTokens, model);
  if (promptTokens + reply <= model.window) return null;
  return anthropicInvalid(
    `input length and \`max_tokens\` exceed context limit: ${promptTokens} + ${reply} > ${model.window}, decrease input length or \`max_tokens\` and try again`,
  );
}

export function anthropicPromptTooLong(promptTokens: number, model: SimModel): WireRefusal {
  const tokens = Math.max(promptTokens, model.window + 1);
  return anthropicInvalid(`prompt is too long: ${tokens} tokens > ${model.window} maximum`);
}

function anthropicError(
  status: number,
  type: string,
  message: string,
  headers: Record<string, string> = {},
): WireRefusal {
  return new WireRefusal(
    status,
    message,
    { type: 'error', error: { type, message }, request_id: 'req_simulated' },
    { 'request-id': 'req_simulated', ...headers },
  );
}
