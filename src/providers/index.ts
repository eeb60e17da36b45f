/** Providers: one adapter a wire, made from a leg. */
import { TurnwrightError } from '../ledger/errors.ts';
import { anthropicProvider } from './anthropic/provider.ts';
import type { Leg, Provider, ProviderFailure, ProviderKind } from './contract.ts';
import { readCredential } from './credential.ts';
import { ollamaProvider } from './ollama/provider.ts';
import { openAiProvider } from './openai/provider.ts';

const MAKERS: Readonly<Record<ProviderKind, (leg: Leg, secret: string | undefined) => Provider>> = {
  anthropic: anthropicProvider,
  ollama: ollamaProvider,
  openai: openAiProvider,
};

/**
 * `secrets` looks up the environment variable a leg names. A key that is missing or unusable makes every call
 * fail as `auth`, without a request. The provider holds no connection of its own and needs no closing.
 *
 * @throws TurnwrightError `config_invalid` when the base URL is not an http or https URL.
 */
export function createProvider(leg: Leg, secrets: (envName: string) => string | undefined): Provider {
  assertBaseUrl(leg);
  const credential = readCredential(leg, secrets);
  return credential.ok ? MAKERS[leg.provider](leg, credential.secret) : refusing(credential.failure);
}

function refusing(failure: ProviderFailure): Provider {
  return {
    call: () => Promise.resolve({ ok: false, failure }),
    describe: () => Promise.resolve({ ok: false, failure }),
  };
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
