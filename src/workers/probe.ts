/** The `probe` pool: asks a provider what its model is. Never on a turn's own path. */
import type { Claim } from '../db/contract.ts';
import type { Json } from '../ledger/json.ts';
import type { JobRef } from '../queues/contract.ts';
import { type CallResult, runSideCall, type Settled } from '../runtime/side-call.ts';
import type { WorkerDeps } from './deps.ts';

const DESCRIBE_TIMEOUT_MS = 30_000;

export function probeWorker(deps: WorkerDeps, ref: JobRef): Promise<Settled> {
  return runSideCall(deps.host, ref, (claim, signal) => performMetadata(deps, ref, claim, signal));
}

async function performMetadata(
  deps: WorkerDeps,
  ref: JobRef,
  claim: Claim,
  signal: AbortSignal,
): Promise<CallResult> {
  const { leg: name } = JSON.parse(claim.call.input) as { leg: string };
  const bound = deps.leg(name);
  if (bound === null)
    return { kind: 'failed', code: 'unknown_leg', message: `leg "${name}" is not configured`, drafts: [] };
  const ran = await deps.limiter.run({ leg: bound.leg, ref, tokens: 0, signal }, () =>
    bound.provider.describe({ signal, timeoutMs: DESCRIBE_TIMEOUT_MS }),
  );
  if (ran.kind !== 'ran') return ran;
  const { outcome } = ran;
  if (!outcome.ok) {
    const { failure } = outcome;
    if (failure.kind === 'aborted') return { kind: 'aborted', drafts: [] };
    if (failure.kind !== 'retryable')
      return { kind: 'failed', code: failure.kind, message: failure.message, drafts: [] };
    const { code, message, retryAfterMs } = failure;
    return {
      kind: 'retry',
      code,
      message,
      drafts: [],
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    };
  }
  const profile = await deps.profiles.learn(bound.leg, outcome.metadata);
  const body = { leg: name, profile: profile as unknown as Record<string, Json> };
  return {
    kind: 'done',
    output: null,
    additions: () => ({ drafts: [{ kind: 'capacity-probe', turnId: null, body }] }),
  };
}
