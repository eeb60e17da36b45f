/** The model of the demo: simulated unless a provider is named. */
import type { Environment } from '../../app/config.ts';
import { SERVER_UNREACHABLE, TurnwrightApiError } from '../../client/index.ts';
import type { Leg } from '../../providers/contract.ts';
import type { SimModel } from '../../sim/index.ts';
import { UsageError } from '../exit.ts';
import { startSimulation } from '../simulation.ts';

export const DEMO_PROVIDERS = ['sim', 'openai', 'anthropic', 'ollama'] as const;

export interface DemoLeg {
  readonly leg: Leg;
  /** Said wherever its answers are shown; null for a real model. */
  readonly simulated: string | null;
  close(): Promise<void>;
}

/** Small enough that a short session outgrows it; it follows instructions as far as its window reaches. */
const SMALL_MODEL: SimModel = {
  name: 'sim-4k',
  window: 4_096,
  horizon: 4_096,
  tokensPerByte: 0.24,
  maxOutputTokens: 512,
  prefillTokensPerSecond: 1_500,
  decodeTokensPerSecond: 60,
  quantisation: 'Q4_K_M',
  supportsImages: false,
};

const HOSTED: Readonly<
  Record<'openai' | 'anthropic', { readonly apiKeyEnv: string; readonly model: string }>
> = {
  openai: { apiKeyEnv: 'OPENAI_API_KEY', model: 'gpt-4o-mini' },
  anthropic: { apiKeyEnv: 'ANTHROPIC_API_KEY', model: 'claude-haiku-4-5' },
};
const OLLAMA_URL = 'http://127.0.0.1:11434';
const OLLAMA_ANSWER_MS = 3_000;
const CALL_TIMEOUT_MS = 300_000;
const LEG_NAME = 'demo';

/** @throws UsageError for a provider without its key, TurnwrightApiError when Ollama does not answer. */
export async function demoLeg(
  provider: string,
  model: string | undefined,
  env: Environment,
): Promise<DemoLeg> {
  switch (provider) {
    case 'sim': {
      if (model !== undefined)
        throw new UsageError('--model goes with a real provider; the simulator has one model.');
      const simulation = await startSimulation(LEG_NAME, SMALL_MODEL);
      return { leg: simulation.leg, simulated: SMALL_MODEL.name, close: () => simulation.close() };
    }
    case 'openai':
    case 'anthropic':
      return real(hostedLeg(provider, model, env));
    case 'ollama':
      return real(await ollamaLeg(model, env));
    default:
      throw new UsageError(`--provider is "${provider}"; allowed is ${DEMO_PROVIDERS.join(', ')}.`);
  }
}

function real(leg: Leg): DemoLeg {
  return { leg, simulated: null, close: () => Promise.resolve() };
}

function hostedLeg(provider: keyof typeof HOSTED, model: string | undefined, env: Environment): Leg {
  const hosted = HOSTED[provider];
  if ((env[hosted.apiKeyEnv] ?? '').trim() === '') {
    throw new UsageError(
      `--provider ${provider} needs ${hosted.apiKeyEnv}, which is not set. Set it, or leave --provider out to run on the simulator.`,
    );
  }
  return {
    name: LEG_NAME,
    provider,
    model: model ?? hosted.model,
    apiKeyEnv: hosted.apiKeyEnv,
    timeoutMs: CALL_TIMEOUT_MS,
  };
}

async function ollamaLeg(model: string | undefined, env: Environment): Promise<Leg> {
  const baseUrl = ollamaUrl(env.OLLAMA_HOST);
  const installed = await ollamaModels(baseUrl);
  const chosen = model ?? installed[0];
  if (chosen === undefined) {
    throw new UsageError(
      `Ollama at ${baseUrl} has no model. Fetch one with \`ollama pull\`, then try again.`,
    );
  }
  const spelled = [chosen, `${chosen}:latest`];
  if (!installed.some((name) => spelled.includes(name))) {
    throw new UsageError(
      `Ollama at ${baseUrl} has no model "${chosen}"; it has ${installed.length === 0 ? 'none' : installed.join(', ')}.`,
    );
  }
  return { name: LEG_NAME, provider: 'ollama', model: chosen, baseUrl, timeoutMs: CALL_TIMEOUT_MS };
}

async function ollamaModels(baseUrl: string): Promise<readonly string[]> {
  try {
    const response = await fetch(`${baseUrl}/api/tags`, { signal: AbortSignal.timeout(OLLAMA_ANSWER_MS) });
    const body = (await response.json()) as { models?: readonly { name?: unknown }[] };
    return (body.models ?? []).flatMap(({ name }) => (typeof name === 'string' ? [name] : []));
  } catch (cause) {
    throw new TurnwrightApiError(
      SERVER_UNREACHABLE,
      0,
      `Ollama does not answer at ${baseUrl}. Start it with \`ollama serve\`, or set OLLAMA_HOST.`,
      { cause },
    );
  }
}

/** OLLAMA_HOST may be a URL, or a host with or without its port, as Ollama reads it. */
function ollamaUrl(host: string | undefined): string {
  const given = host?.trim() ?? '';
  if (given === '') return OLLAMA_URL;
  const text = given.includes('://') ? given : `http://${given}`;
  if (!URL.canParse(text)) throw new UsageError(`OLLAMA_HOST is "${given}"; write a host, host:port or URL.`);
  const url = new URL(text);
  if (url.port === '' && !given.includes('://')) url.port = '11434';
  return url.origin;
}
