/** The `openai` SDK set up for one call of a leg; the chat and the responses wires share it. */
import OpenAI from 'openai';
import type { Wire } from '../exchange.ts';

/** The SDK insists on a key; the header made of it is removed for legs that have none. */
const NO_KEY = 'none';

/** Everything the SDK would read from the environment is stated: a leg uses the key it names, or none. */
export function openAiClient(
  { baseUrl, secret }: { readonly baseUrl: string; readonly secret: string | undefined },
  wire: Wire,
): OpenAI {
  return new OpenAI({
    baseURL: baseUrl,
    apiKey: secret ?? NO_KEY,
    adminAPIKey: null,
    organization: null,
    project: null,
    maxRetries: 0,
    timeout: wire.sdkTimeoutMs,
    logLevel: 'off',
    fetch: wire.fetch,
    ...(secret === undefined ? { defaultHeaders: { Authorization: null } } : {}),
  });
}
