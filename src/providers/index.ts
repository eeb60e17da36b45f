/** Providers: one adapter a wire, made from a leg. */
import { TurnwrightError } from '../ledger/errors.ts';
import { anthropicProvider } from './anthropic/provider.ts';
import type { Leg, Provider, ProviderFailure, ProviderKind } from './contract.ts';
import { readCredential } from './credential.ts';
import { ollamaProvider } from './ollama/provider.ts';
import { openAiProvider } from './openai/provider.ts';
import { responsesProvider } from './responses/provider.ts';

type Maker = (leg: Leg, secret: string | undefined) => Provider;

const MAKERS: Readonly<Record<ProviderKind, Maker>> = {
  anthropic: anthropicProvider,
  openai: (leg, secret) => openAiProvider('openai', leg, secret),
  'openai-responses': responsesProvider,
  google: (leg, secret) => openAiProvider('google', leg, secret),
  openrouter: (leg, secret) => openAiProvider('openrouter', leg, secret),
  'openrouter-responses': responsesProvider,
  compatible: (leg, secret) => openAiProvider('compatible', leg, secret),
  ollama: ollamaProvider,
  bedrock: (leg, secret) => openAiProvider('bedrock', leg, secret),
};

/**
 * `secrets` looks up the environment variable a leg names. A key that is missing or unusable makes every call
 * fail as `auth`, without a request. The provider holds no connection of its own and needs no closing.
 *
 * @throws TurnwrightError `config_invalid` when the base URL is not an http or https URL, or is missing for a kind
 * that has no address of its own.
 */
export function createProvider(leg: Leg, secrets: (envName: string) => string | undefined): Provider {
  assertBaseUrl(leg);
  const credential = readCredential(leg, secrets);
  const provider = MAKERS[leg.provider](leg, credential.ok ? credential.secret : undefined);
  return credential.ok ? provider : refusing(provider, credential.failure);
}

function refusing({ searchesTools, embed }: Provider, failure: ProviderFailure): Provider {
  const refuse = (): Promise<{ readonly ok: false; readonly failure: ProviderFailure }> =>
    Promise.resolve({ ok: false, failure });
  return { call: refuse, searchesTools, embed: embed === null ? null : refuse, describe: refuse };
}

function assertBaseUrl({ name, baseUrl }: Leg): void {
  if (baseUrl === undefined) return;
  const protocol = URL.canParse(baseUrl) ? new URL(baseUrl).protocol : null;
  if (protocol === 'http:' || protocol === 'https:') return;
  throw new TurnwrightError(
    'config_invalid',
    `Leg ${name} has the base URL "${baseUrl}": write a full http:// or https:// address.`,
  );
}
