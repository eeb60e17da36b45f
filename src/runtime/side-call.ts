/**
 * A side call from claim to settled: claim, perform, settle. Whatever `perform` returns is one of a closed set
 * of results, and each ends in one commit that names the fence.
 */
import type { Claim } from '../db/contract.ts';
import { type Json, storableText } from '../ledger/json.ts';
import type { RecordDraft } from '../ledger/kinds.ts';
import type { JobRef } from '../queues/contract.ts';
import type { Additions } from './additions.ts';
import { CALL_POLICY, isCallSource, MAX_DEATHS, retryDelayMs } from './calls.ts';
import { claimCall } from './claim.ts';
import type { Delivered, Delivery, Engine } from './engine.ts';
import { lateRecords } from './late-result.ts';
import { messageOf, passes } from './outage.ts';
import type { RunningCalls } from './running-calls.ts';

export type CallResult =
  | {
      readonly kind: 'done';
      readonly output: Json;
      readonly additions: (takeEvidence: () => number) => Additions;
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
  /** Not begun: what it needs is held back for so long. No attempt is counted, and no worker waits. */
  | { readonly kind: 'delayed'; readonly delayMs: number; readonly reason: string }
  /** The signal fired: the call was cancelled, or the worker stops. */
  | { readonly kind: 'aborted'; readonly drafts: readonly RecordDraft[] };

/** Begins what is kept of a call that only waits: no error, though it stands in the place of one. */
export const WAITING = 'waiting: ';

/** `interrupted`: what the work needs of storage was away; the call goes back, and no attempt is counted. */
type Ended = CallResult | { readonly kind: 'interrupted'; readonly message: string };

/** `stale`: the row had moved on, there was nothing to do. `handed-back`: another worker takes it. */
export type Settled = Delivered | 'stale' | 'retrying' | 'delayed' | 'handed-back';

export interface SideCallHost {
  readonly engine: Engine;
  readonly workerId: string;
  readonly running: RunningCalls;
  readonly random: () => number;
  /** The process stops: what cannot be settled now is left to the lease. */
  readonly stopping: () => boolean;
  readonly onError: (error: unknown) => void;
}

/** A result that could not be stored is offered again after so long, doubling, while its worker lives. */
const FIRST_SETTLE_PAUSE_MS = 50;
const LONGEST_SETTLE_PAUSE_MS = 2_000;
/** A call whose work met an outage comes back to its pool after this. */
const INTERRUPTED_DELAY_MS = 500;

export type Perform = (claim: Claim, signal: AbortSignal) => Promise<CallResult>;

export async function runSideCall(host: SideCallHost, ref: JobRef, perform: Perform): Promise<Settled> {
  const run = host.running.begin(ref.actor, ref.child);
  try {
    const claim = await claimCall(host.engine, host, ref);
    if (claim === null) return 'stale';
    if (isCallSource(claim.call.src)) host.engine.admission.claimed(CALL_POLICY[claim.call.src].pool);
    const { deaths } = claim.call;
    const ended = deaths < MAX_DEATHS ? await performed(host, claim, perform, run.signal) : exhausted(deaths);
    return await settleFirmly(host, ref, claim, ended);
  } finally {
    run.end();
  }
}

/** A claimed row names a living worker, so nothing that work throws may leave it without an end. */
async function performed(
  host: SideCallHost,
  claim: Claim,
  perform: Perform,
  signal: AbortSignal,
): Promise<Ended> {
  try {
    return await perform(claim, signal);
  } catch (error) {
    host.onError(error);
    return passes(error) ? { kind: 'interrupted', message: messageOf(error) } : defect(error);
  }
}

/** Storage may be away for a while; should the lease run out meanwhile, the fence refuses what is offered here. */
async function settleFirmly(host: SideCallHost, ref: JobRef, claim: Claim, ended: Ended): Promise<Settled> {
  let offered = ended;
  for (let pauseMs = FIRST_SETTLE_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_SETTLE_PAUSE_MS)) {
    try {
      return await settle(host, ref, claim, offered);
    } catch (error) {
      const lasts = !passes(error);
      if (host.stopping() || (lasts && offered !== ended)) throw error;
      host.onError(error);
      if (lasts) offered = defect(error);
      else await host.engine.clock.sleep(pauseMs);
    }
  }
}

function defect(error: unknown): CallResult {
  return { kind: 'failed', code: 'internal', message: messageOf(error), drafts: [] };
}

async function settle(host: SideCallHost, ref: JobRef, claim: Claim, ended: Ended): Promise<Settled> {
  switch (ended.kind) {
    case 'done':
      return finish(host, ref, claim, {
        event: { type: `xstate.done.actor.${ref.child}`, output: ended.output },
        additions: ended.additions,
      });
    case 'failed':
      return finish(host, ref, claim, {
        event: { type: `xstate.error.actor.${ref.child}`, error: { code: ended.code } },
        additions: () => ({ drafts: ended.drafts }),
        error: storableText(`${ended.code}: ${ended.message}`),
      });
    case 'retry':
      return retry(host, ref, claim, ended);
    case 'delayed':
      return again(
        host,
        ref,
        claim,
        [],
        { delayMs: ended.delayMs, attemptBy: 0, error: ended.reason },
        'delayed',
      );
    // A cancelled call is cancelled in its row too, so the fence refuses to hand it back.
    case 'aborted':
      return handBack(host, ref, claim, ended.drafts, { delayMs: 0, error: 'its worker stopped' });
    case 'interrupted':
      return handBack(host, ref, claim, [], {
        delayMs: INTERRUPTED_DELAY_MS,
        error: storableText(ended.message),
      });
  }
}

type Ending = Pick<Delivery, 'event'> & {
  readonly additions: (takeEvidence: () => number) => Additions;
  readonly error?: string;
};

async function finish(host: SideCallHost, ref: JobRef, claim: Claim, ending: Ending): Promise<Settled> {
  const failed = ending.error !== undefined;
  const delivered = await host.engine.deliver(ref, {
    id: ref.child,
    event: ending.event,
    loaded: claim.loaded,
    records: claim.whole ? claim.records : undefined,
    settle: {
      ...heldBy(claim, ref),
      status: failed ? 'failed' : 'done',
      attemptBy: 0,
      dispatchBy: 0,
      ...(failed ? { error: ending.error } : {}),
    },
    additions: ending.additions,
  });
  if (delivered !== 'superseded') return delivered;
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
  why: Omit<Again, 'attemptBy'>,
): Promise<Settled> {
  return again(host, ref, claim, drafts, { ...why, attemptBy: 0 }, 'handed-back');
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
  const { src, dispatch } = claim.call;
  const pool = isCallSource(src) ? CALL_POLICY[src].pool : 'step';
  const result = await host.engine.append(ref, drafts, (builder) => {
    const { attemptBy, delayMs, error } = how;
    builder.settle = {
      ...heldBy(claim, ref),
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

/** The call, and the claim under which it may be settled. */
function heldBy({ call: { fence, token } }: Claim, { actor, child }: JobRef) {
  return { actor, child, fence, token };
}

async function keepLate(
  host: SideCallHost,
  ref: JobRef,
  claim: Claim,
  reason: string,
  drafts: readonly RecordDraft[],
): Promise<Settled> {
  const late = lateRecords(claim, reason, drafts);
  if (late.length > 0) await host.engine.append(ref, late);
  return 'superseded';
}

function exhausted(deaths: number): CallResult {
  return {
    kind: 'failed',
    code: 'workers_died',
    message: `${deaths} workers died during this call`,
    drafts: [],
  };
}
