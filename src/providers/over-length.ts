/** Recognises "the prompt is larger than the model takes", and the limit where the text states it. */
import { firstLimit, tokenCount } from './reading.ts';

/** Long enough for every known wording; keeps the patterns off a hostile text. */
const SCANNED_CHARS = 4_000;

const CODES: ReadonlySet<string> = new Set([
  'context_length_exceeded', // https://platform.openai.com/docs/guides/error-codes
  'exceed_context_size_error', // https://github.com/ggml-org/llama.cpp/tree/master/tools/server
  'string_above_max_length',
  'request_too_large', // https://docs.claude.com/en/api/errors
]);

const WORDINGS: readonly RegExp[] = [
  // https://docs.claude.com/en/docs/build-with-claude/context-windows
  /prompt is too long/i,
  /exceeds? context limit/i,
  // https://platform.openai.com/docs/guides/error-codes and those that copy its wording: vLLM, DeepSeek, OpenRouter,
  // Mistral (https://github.com/earendil-works/pi/blob/main/packages/ai/src/utils/overflow.ts)
  /maximum context length/i,
  // Groq: https://console.groq.com/docs/errors
  /reduce the length of (?:the|your) (?:messages|prompt|input)/i,
  // https://docs.ollama.com/context-length and the runner below it, llama.cpp; also OpenAI, MiniMax
  /exceeds? (?:the )?(?:available |model's |model |maximum |max )?context (?:length|size|window)/i,
  /context (?:length|size|window|limit) (?:was |is )?exceed(?:ed|s)/i,
  /(?:longer|greater) than the (?:maximum |model's )?context (?:length|size|window)/i,
  // https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/546
  /context length of only \d/i,
  // https://github.com/aws-samples/bedrock-chat/issues/95
  /(?:prompt|input) (?:is )?too long/i,
  /too many input tokens/i,
  // https://ai.google.dev/gemini-api/docs/openai
  /exceeds the maximum number of (?:input )?tokens allowed/i,
  // xAI and Moonshot: https://github.com/earendil-works/pi/blob/main/packages/ai/src/utils/overflow.ts
  /maximum prompt length/i,
  /exceeded model token limit/i,
  // https://github.com/huggingface/huggingface_hub/issues/1735
  /`inputs` tokens \+ `max_new_tokens` must be/i,
];

const LIMITS: readonly RegExp[] = [
  /maximum (?:context|prompt) length (?:is|of) (\d[\d,]*)/i,
  /(\d[\d,]*) maximum context length/i,
  /> (\d[\d,]*) maximum/i,
  /context limit: \d[\d,]* \+ \d[\d,]* > (\d[\d,]*)/i,
  /n_ctx\\*"?\s*[:=]\s*(\d+)/i,
  /context (?:length|size|window)[^\d]{0,24}(\d[\d,]*)/i,
  /maximum number of (?:input )?tokens allowed[^\d]{0,4}(\d[\d,]*)/i,
  /max input tokens: (\d[\d,]*)/i,
  /must be <= (\d[\d,]*)/i,
  /\blimit\s*[:=]\s*(\d[\d,]*)/i,
];

export function saysOverLength(codes: readonly (string | null)[], message: string): boolean {
  const scanned = message.slice(0, SCANNED_CHARS);
  return (
    codes.some((code) => code !== null && CODES.has(code)) ||
    WORDINGS.some((wording) => wording.test(scanned))
  );
}

/** The model's window, from a field of the error or from its text. */
export function statedLimit(error: unknown, message: string): number | undefined {
  const field = firstLimit(error, ['n_ctx', 'max_context_length']);
  if (field !== null) return field;
  const scanned = message.slice(0, SCANNED_CHARS);
  for (const limit of LIMITS) {
    const count = tokenCount(Number(limit.exec(scanned)?.[1]?.replaceAll(',', '')));
    if (count !== null && count > 0) return count;
  }
  return undefined;
}
