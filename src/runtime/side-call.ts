/**
 * A side call from claim to settled: claim, perform, settle. Whatever `perform` returns is one of a closed set
 * of results, and each ends in one commit that names the fence.
 */
import type { Claim } from '../db/contract.ts';
import { blake3Hex } from '../ledger/chain.ts';
import { byteLength, canonicalJson, type Json, storableText } from '../ledger/json.ts';
import type { RecordDraft } from '../ledger/kinds.ts';
import type { JobRef } from '../queues/contract.ts';
import { CALL_POLICY, isCallSource, MAX_FENCES, retryDelayMs } from './calls.ts';
import type { Additions, Delivered, Delivery, Engine } from './engine.ts';
import type { NewActor } from './hop.ts';
import type { RunningCalls } from './running-calls.ts';

export type CallResult =
  | {
      readonly kind: 'done';
      readonly output: Json;
      readonly additions: (takeEvidence: () => number) => Additions;
      readonly onClose?: readonly NewActor[];
    }
  | {
      readonly kind: 'failed';
      readonly code: string;
      readonly message: string;
      readonly drafts: readonly RecordDraft[];
    }
  | {
      readonly kind: 'retry';
      readonly code: string;
      readonly message: string;
      readonly retryAfterMs?: number;
      readonly drafts: readonly RecordDraft[];
    }
  /** The signal fired: the call was cancelled, or the worker stops. */
  | { readonly kind: 'aborted'; readonly drafts: readonly RecordDraft[] };

/** `stale`: the row had moved on, there was nothing to do. `handed-back`: another worker takes it. */
export type Settled = Delivered | 'stale' | 'retrying' | 'handed-back';

export interface SideCallHost {
  readonly engine: Engine;
  readonly workerId: string;
  readonly running: RunningCalls;
  readonly random: () => number;
  /** The process stops: an aborted call goes back to its pool. */
  readonly stopping: () => boolean;
}

export type Perform = (claim: Claim, signal: AbortSignal) => Promise<CallResult>;

export async function runSideCall(host: SideCallHost, ref: JobRef, perform: Perform): Promise<Settled> {
  const signal = host.running.begin(ref.actor, ref.child);
  try {
    const claim = await host.engine.store.claim(ref, host.workerId);
    if (claim === null) return 'stale';
    if (isCallSource(claim.call.src)) host.engine.admission.claimed(CALL_POLICY[claim.call.src].pool);
    if (claim.call.fence > MAX_FENCES) return await settle(host, ref, claim, exhausted(claim));
    return await settle(host, ref, claim, await perform(claim, signal));
  } finally {
    host.running.end(ref.actor, ref.child);
  }
}

async function settle(host: SideCallHost, ref: JobRef, claim: Claim, result: CallResult): Promise<Settled> {
  switch (result.kind) {
    case 'done':
      return finish(host, ref, claim, {
        event: { type: `xstate.done.actor.${ref.child}`, output: result.output },
        additions: result.additions,
        ...(result.onClose === undefined ? {} : { onClose: result.onClose }),
      });
    case 'failed':
      return finish(host, ref, claim, {
        event: { type: `xstate.error.actor.${ref.child}`, error: { code: result.code } },
        additions: () => ({ drafts: result.drafts }),
        error: storableText(`${result.code}: ${result.message}`),
      });
    case 'retry':
      return retry(host, ref, claim, result);
    case 'aborted':
      return host.stopping()
        ? handBack(host, ref, claim, result.drafts)
        : keepLate(host, ref, claim, 'aborted', result.drafts);
  }
}

type Ending = Pick<Delivery, 'event' | 'onClose'> & {
  readonly additions: (takeEvidence: () => number) => Additions;
  readonly error?: string;
};

async function finish(host: SideCallHost, ref: JobRef, claim: Claim, ending: Ending): Promise<Settled> {
  const { fence } = claim.call;
  const failed = ending.error !== undefined;
  const delivered = await host.engine.deliver(ref, {
    id: ref.child,
    event: ending.event,
    loaded: claim.loaded,
    records: claim.records.length > 0 && claim.call.src !== 'tool' ? claim.records : undefined,
    settle: {
      actor: ref.actor,
      child: ref.child,
      fence,
      status: failed ? 'failed' : 'done',
      attemptBy: 0,
      dispatchBy: 0,
      ...(failed ? { error: ending.error } : {}),
    },
    additions: ending.additions,
    onClose: ending.onClose,
  });
  if (delivered !== 'superseded' && delivered !== 'duplicate') return delivered;
  return keepLate(host, ref, claim, delivered, ending.additions(() => 0).drafts);
}

async function retry(
  host: SideCallHost,
  ref: JobRef,
  claim: Claim,
  result: Extract<CallResult, { kind: 'retry' }>,
): Promise<Settled> {
  const { src, attempt } = claim.call;
  if (!isCallSource(src) || attempt >= CALL_POLICY[src].maxAttempts) {
    const { code, message, drafts } = result;
    return settle(host, ref, claim, {
      kind: 'failed',
      code: 'transport_exhausted',
      message: `${code}: ${message}`,
      drafts,
    });
  }
  const delayMs = retryDelayMs(src, attempt, result.retryAfterMs, host.random());
  const turnId = claim.loaded.actor.turn;
  const retrying: RecordDraft = {
    kind: 'call-retrying',
    turnId,
    body: { child: ref.child, attempt, code: result.code, delayMs },
  };
  return again(
    host,
    ref,
    claim,
    [...result.drafts, retrying],
    { delayMs, attemptBy: 1, error: storableText(`${result.code}: ${result.message}`) },
    'retrying',
  );
}

function handBack(
  host: SideCallHost,
  ref: JobRef,
  claim: Claim,
  drafts: readonly RecordDraft[],
): Promise<Settled> {
  return again(
    host,
    ref,
    claim,
    drafts,
    { delayMs: 0, attemptBy: 0, error: 'its worker stopped' },
    'handed-back',
  );
}

interface Again {
  readonly delayMs: number;
  readonly attemptBy: 0 | 1;
  readonly error: string;
}

async function again(
  host: SideCallHost,
  ref: JobRef,
  claim: Claim,
  drafts: readonly RecordDraft[],
  how: Again,
  settled: Settled,
): Promise<Settled> {
  const { src, fence, dispatch } = claim.call;
  const pool = isCallSource(src) ? CALL_POLICY[src].pool : 'step';
  const result = await host.engine.append(ref, drafts, (builder) => {
    const { attemptBy, delayMs, error } = how;
    builder.settle = {
      actor: ref.actor,
      child: ref.child,
      fence,
      status: 'queued',
      attemptBy,
      dispatchBy: 1,
      error,
    };
    const priority = claim.loaded.turn?.priority ?? 0;
    builder.lists.outbox.push({
      actor: ref.actor,
      child: ref.child,
      dispatch: dispatch + 1,
      pool,
      priority,
      delayMs,
      admitted: false,
    });
  });
  return result === 'applied' ? settled : keepLate(host, ref, claim, 'superseded', drafts);
}

/** What came too late changes nothing; the ledger keeps that it came. Receipts are kept whole, for the bill. */
async function keepLate(
  host: SideCallHost,
  ref: JobRef,
  claim: Claim,
  reason: string,
  drafts: readonly RecordDraft[],
): Promise<Settled> {
  const turnId = claim.loaded.actor.turn;
  const receipts = drafts.filter((draft) => draft.kind === 'work-receipt');
  const late: RecordDraft[] = drafts
    .filter((draft) => draft.kind === 'assistant-message' || draft.kind === 'tool-result')
    .map((draft) => {
      const body = canonicalJson(draft.body);
      return {
        kind: 'late-result',
        turnId,
        body: {
          child: ref.child,
          fence: claim.call.fence,
          reason,
          digest: blake3Hex(body),
          bytes: byteLength(body),
        },
      };
    });
  if (receipts.length + late.length > 0) await host.engine.append(ref, [...receipts, ...late]);
  return 'superseded';
}

function exhausted(claim: Claim): CallResult {
  return {
    kind: 'failed',
    code: 'workers_died',
    message: `${claim.call.fence - 1} workers died or stopped during this call`,
    drafts: [],
  };
}
