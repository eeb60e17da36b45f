/** Legs: is the credential there, and does the provider say what the model is. */
import type { Config, Environment } from '../../app/config.ts';
import type { Leg } from '../../providers/contract.ts';
import { createProvider } from '../../providers/index.ts';
import { type Check, check } from './check.ts';

const ANSWER_MS = 10_000;

export async function legChecks(
  { legs }: Pick<Config, 'legs'>,
  env: Environment,
  signal: AbortSignal,
): Promise<readonly Check[]> {
  if (legs.length === 0) {
    return [
      check(
        'legs',
        'warn',
        'none is configured; name one in turnwright.config.ts, or use the simulator of `turnwright up`',
      ),
    ];
  }
  return Promise.all(legs.map((leg) => legCheck(leg, env, signal)));
}

async function legCheck(leg: Leg, env: Environment, signal: AbortSignal): Promise<Check> {
  const name = `leg ${leg.name}`;
  const provider = createProvider(leg, (variable) => env[variable]);
  const outcome = await provider.describe({ signal, timeoutMs: ANSWER_MS });
  if (!outcome.ok) {
    const { kind, message } = outcome.failure;
    return check(name, kind === 'retryable' ? 'unreachable' : 'fail', message);
  }
  const window = leg.window ?? outcome.metadata.declaredWindow;
  const detail = window === null ? 'the provider states no window' : `window of ${window} tokens`;
  return check(name, 'ok', `${leg.model} answers, ${detail}`);
}
