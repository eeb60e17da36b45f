/**
 * Embeddings without a model: a text's place is the sum of its words' letter groups, so texts that share stems are
 * near each other. Every served model answers them.
 */
import type { EmbedResponse } from 'ollama';
import type { CreateEmbeddingResponse, Embedding } from 'openai/resources/embeddings';
import type { SimModel } from './contract.ts';
import { outputTokens } from './prompt.ts';
import { draw } from './random.ts';
import { asArray, asString, type Untyped } from './untyped.ts';
import { WireRefusal } from './wires/contract.ts';
import { openaiInvalid } from './wires/openai-failure.ts';

export const EMBEDDING_DIMENSIONS = 64;
const WORD = /[\p{L}\p{N}]+/gu;
const COMBINING_MARK = /\p{M}/gu;
const GROUP_LETTERS = 3;
const FLOAT_BYTES = 4;
/** https://platform.openai.com/docs/api-reference/embeddings/create */
const MAX_INPUTS = 2_048;

/** A body, or the refusal in the words of the wire. */
export type EmbeddingRoute = (body: Untyped, model: SimModel) => object;

/** A unit vector; the same text always gives the same one. */
export function embedText(text: string): readonly number[] {
  const vector: number[] = Array.from({ length: EMBEDDING_DIMENSIONS }, () => 0);
  for (const group of letterGroups(text)) {
    // One draw gives the place and the sign, so that what is not shared cancels out.
    const slot = Math.floor(draw(0, 'letter-group', group) * EMBEDDING_DIMENSIONS * 2);
    const at = slot % EMBEDDING_DIMENSIONS;
    vector[at] = (vector[at] ?? 0) + (slot < EMBEDDING_DIMENSIONS ? 1 : -1);
  }
  const length = Math.hypot(...vector);
  if (length === 0) return vector.map((_, at) => (at === 0 ? 1 : 0));
  return vector.map((value) => value / length);
}

export const openaiEmbeddings: EmbeddingRoute = (body, model) => {
  const inputs = textsOf(body.input);
  if (inputs === null || inputs.length === 0 || inputs.length > MAX_INPUTS || inputs.includes('')) {
    return openaiInvalid("'$.input' is invalid. The simulator reads texts, none of them empty.", null, null);
  }
  if (body.dimensions !== undefined) {
    return openaiInvalid('This model does not support specifying dimensions.', null, null);
  }
  const sizes = inputs.map((text) => outputTokens(text, model));
  const largest = Math.max(...sizes);
  if (largest > model.window) {
    return openaiInvalid(
      `This model's maximum context length is ${model.window} tokens, however you requested ${largest} tokens (${largest} in your prompt; 0 for the completion). Please reduce your prompt; or completion length.`,
      null,
      null,
    );
  }
  const inBase64 = body.encoding_format === 'base64';
  const tokens = sum(sizes);
  return {
    object: 'list',
    model: model.name,
    data: inputs.map((text, index) => {
      const vector = embedText(text);
      return { object: 'embedding', index, embedding: inBase64 ? base64Of(vector) : [...vector] };
    }),
    usage: { prompt_tokens: tokens, total_tokens: tokens },
  } satisfies OnWire;
};

/** Longer texts are cut silently, unless the caller forbade it. https://docs.ollama.com/api/embed */
export const ollamaEmbeddings: EmbeddingRoute = (body, model) => {
  const inputs = textsOf(body.input);
  if (inputs === null) return ollamaRefusal('invalid input type');
  const sizes = inputs.map((text) => outputTokens(text, model));
  if (body.truncate === false && sizes.some((size) => size > model.window)) {
    return ollamaRefusal('the input length exceeds the context length');
  }
  const bytes = Math.floor(model.window / model.tokensPerByte);
  return {
    model: model.name,
    embeddings: inputs.map((text) => [...embedText(Buffer.from(text).subarray(0, bytes).toString('utf8'))]),
    total_duration: 0,
    load_duration: 0,
    prompt_eval_count: sum(sizes.map((size) => Math.min(size, model.window))),
  } satisfies EmbedResponse;
};

/** The client turns base64 into numbers before its own type applies. */
type OnWire = Omit<CreateEmbeddingResponse, 'data'> & {
  readonly data: readonly (Omit<Embedding, 'embedding'> & { readonly embedding: number[] | string })[];
};

/** Each word folded to its bare letters, its beginning counting as one: endings differ where stems do not. */
function letterGroups(text: string): readonly string[] {
  const folded = text.normalize('NFKD').replace(COMBINING_MARK, '').toLowerCase();
  return (folded.match(WORD) ?? []).flatMap((word) => {
    const letters = [...` ${word}`];
    return letters.slice(GROUP_LETTERS - 1).map((_, at) => letters.slice(at, at + GROUP_LETTERS).join(''));
  });
}

function textsOf(input: unknown): readonly string[] | null {
  if (typeof input === 'string') return [input];
  const texts = asArray(input)?.map(asString);
  return texts?.every((text) => text !== null) ? texts : null;
}

/** Little-endian 32-bit floats, end to end. */
function base64Of(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * FLOAT_BYTES);
  for (const [at, value] of vector.entries()) bytes.writeFloatLE(value, at * FLOAT_BYTES);
  return bytes.toString('base64');
}

function ollamaRefusal(error: string): WireRefusal {
  return new WireRefusal(400, error, { error });
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((left, right) => left + right, 0);
}
