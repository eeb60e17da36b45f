/** The credential a leg names, read once when its provider is made. */
import type { Leg, ProviderFailure } from './contract.ts';

type Credential =
  | { readonly ok: true; readonly secret: string | undefined }
  | { readonly ok: false; readonly failure: ProviderFailure };

/** `secrets` looks an environment variable up. A leg without `apiKeyEnv` sends no credential. */
export function readCredential(leg: Leg, secrets: (envName: string) => string | undefined): Credential {
  if (leg.apiKeyEnv === undefined) return { ok: true, secret: undefined };
  const secret = secrets(leg.apiKeyEnv)?.trim();
  if (secret === undefined || secret === '') {
    return refused(
      `Leg ${leg.name} reads its key from ${leg.apiKeyEnv}, which is not set: set it, or change apiKeyEnv.`,
    );
  }
  // Header values are visible ASCII; anything else would fail inside the SDK with the key in its message.
  if (!/^[\x21-\x7e]+$/.test(secret)) {
    return refused(`The key in ${leg.apiKeyEnv} holds characters a header cannot carry: copy it again.`);
  }
  return { ok: true, secret };
}

function refused(message: string): Credential {
  return { ok: false, failure: { kind: 'auth', message } };
}
