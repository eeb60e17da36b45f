/** A refusal over length in the words of the providers that share OpenAI's wire. */
import type { OverLengthWording, SimModel } from '../contract.ts';
import { WireRefusal, type WireRequest } from './contract.ts';

interface Length {
  readonly promptTokens: number;
  readonly replyTokens: number;
  readonly windowTokens: number;
}

/** null where the model's wording is OpenAI's own, which differs from wire to wire. */
export function wordedOverLength(
  request: WireRequest,
  promptTokens: number,
  model: SimModel,
): WireRefusal | null {
  const length = { promptTokens, replyTokens: request.maxTokens ?? 0, windowTokens: model.window };
  return refusalIn(model.overLengthWording ?? 'openai', length);
}

function refusalIn(
  wording: OverLengthWording,
  { promptTokens, replyTokens, windowTokens }: Length,
): WireRefusal | null {
  switch (wording) {
    case 'openai':
      return null;
    // The error stands in a list: https://github.com/bytedance/deer-flow/issues/1515.
    // The words: https://github.com/google-gemini/gemini-cli/issues/4118
    case 'google': {
      const message = `The input token count (${Math.max(promptTokens, windowTokens + 1)}) exceeds the maximum number of tokens allowed (${windowTokens}).`;
      return new WireRefusal(400, message, [{ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }]);
    }
    // https://github.com/agno-agi/agno/issues/3980; the body: https://openrouter.ai/docs/api/reference/errors-and-debugging
    case 'openrouter': {
      const output = replyTokens === 0 ? '' : `, ${replyTokens} in the output`;
      const message = `This endpoint's maximum context length is ${windowTokens} tokens. However, you requested about ${promptTokens + replyTokens} tokens (${promptTokens} of text input${output}). Please reduce the length of either one, or use the "middle-out" transform to compress your prompt automatically.`;
      return new WireRefusal(400, message, { error: { message, code: 400, metadata: {} } });
    }
    // No figure at all: https://github.com/aws-samples/assessment-generator/issues/2
    case 'bedrock': {
      const message = 'Input is too long for requested model.';
      const error = { message, type: 'invalid_request_error', param: null, code: 'validation_error' };
      return new WireRefusal(400, message, { error });
    }
    // Both forms: https://github.com/vllm-project/vllm/pull/33425
    case 'vllm': {
      const alone = promptTokens > windowTokens;
      const param = alone ? 'input_tokens' : 'input_tokens, max_tokens';
      const advice = alone
        ? `Please reduce the length of the input messages. (parameter=input_tokens, value=${promptTokens})`
        : `Please reduce one or the other. (parameter=input_tokens, max_tokens, value=(${promptTokens}, ${replyTokens}))`;
      const reply = alone ? '' : ` plus ${replyTokens} 'max_tokens'`;
      const message = `This model's maximum context length is ${windowTokens} tokens. However, your request has ${promptTokens} input tokens${reply}. ${advice}`;
      return new WireRefusal(400, message, { error: { message, type: 'BadRequestError', param, code: 400 } });
    }
  }
}
