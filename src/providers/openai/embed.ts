/** Embeddings of the `/embeddings` endpoint. */
import type { EmbedOutcome, Leg } from '../contract.ts';
import { type ExchangeSettings, exchange } from '../exchange.ts';
import { list, record, tokenCount } from '../reading.ts';
import { readVectors } from '../vectors.ts';
import { openAiClient } from './client.ts';

type Embedded = Omit<Extract<EmbedOutcome, { ok: true }>, 'ok'>;

export async function embedOpenAi(
  leg: Leg,
  settings: Omit<ExchangeSettings, 'watch'>,
  texts: readonly string[],
  options: { readonly signal: AbortSignal; readonly timeoutMs: number },
): Promise<EmbedOutcome> {
  const watch = { framing: 'document' } as const;
  const outcome = await exchange(options, { ...settings, watch }, async (wire) => {
    // The SDK asks for base64 otherwise, which Google refuses (https://github.com/RooCodeInc/Roo-Code/issues/7761)
    // and some gateways answer with numbers all the same, for the SDK to decode into noise.
    const reply = await openAiClient(settings, wire).embeddings.create({
      model: leg.model,
      input: [...texts],
      encoding_format: 'float',
    });
    return embeddedOf(reply, texts.length);
  });
  return outcome.ok ? { ok: true, ...outcome.value } : outcome;
}

/** https://platform.openai.com/docs/api-reference/embeddings/create: `index` says which text a vector is of. */
function embeddedOf(reply: unknown, texts: number): Embedded {
  const fields = record(reply);
  const items = list(fields?.data).map((item, position) => ({
    index: tokenCount(record(item)?.index) ?? position,
    vector: record(item)?.embedding,
  }));
  const vectors = items.sort((a, b) => a.index - b.index).map(({ vector }) => vector);
  return {
    vectors: readVectors(vectors, texts),
    inputTokens: tokenCount(record(fields?.usage)?.prompt_tokens),
  };
}
