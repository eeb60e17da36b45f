/**
 * The `probe` pool: one request of a capacity probe a job. Each first takes the model, or goes on holding it; one that
 * another probe holds, or a turn needs, is left alone.
 */
import { cacheRequest } from '../context/capacity/cache-rung.ts';
import { type ProbeRequest, probeCodes, probeRequest, readProbeReply } from '../context/capacity/filler.ts';
import { prefixRequest, prefixTokens } from '../context/capacity/prefix-rung.ts';
import type { CapacityProfile } from '../context/capacity/profile.ts';
import { tokensOf } from '../context/capacity/tokens.ts';
import { promptTokens } from '../context/request.ts';
import type { ActorRef, Claim } from '../db/contract.ts';
import { blake3Hex } from '../ledger/chain.ts';
import { canonicalJson, type Json } from '../ledger/json.ts';
import type { RecordDraft } from '../ledger/kinds.ts';
import type { ProbeCallInput, ProbeOutput } from '../machines/probe-context.ts';
import type { CallOutcome } from '../providers/contract.ts';
import type { JobRef } from '../queues/contract.ts';
import { measuredProfile, NOTHING_FOUND } from '../runtime/measured-profile.ts';
import type { BoundLeg } from '../runtime/model-calls.ts';
import { PROBE_LEASE_MS, PROBE_SPACING_MS } from '../runtime/probe-watch.ts';
import { modelKey } from '../runtime/profiles.ts';
import { sessionPrefix } from '../runtime/session-prefix.ts';
import { type CallResult, runSideCall, type Settled } from '../runtime/side-call.ts';
import { storedPrefix } from '../runtime/stored-prefix.ts';
import type { WorkerDeps } from './deps.ts';

/** Waiting for the provider's limits included. */
const REQUEST_TIMEOUT_MS = 30_000;
/** Reruns send the same bytes, so that samples differ by the model alone. */
const SEED = 'turnwright';

interface Probing {
  readonly deps: WorkerDeps;
  readonly ref: JobRef;
  readonly claim: Claim;
  readonly signal: AbortSignal;
  readonly held: BoundLeg;
}

export function probeWorker(deps: WorkerDeps, ref: JobRef): Promise<Settled> {
  return runSideCall(deps.host, ref, async (claim, signal) => {
    const input = JSON.parse(claim.call.input) as ProbeCallInput;
    const held = deps.leg(input.held);
    if (held === null) return unknownLeg(input.held);
    const probing = { deps, ref, claim, signal, held };
    if (input.kind !== 'store' && !(await holds(probing, input))) return done({ kind: 'displaced' });
    return perform(probing, input);
  });
}

function perform(probing: Probing, input: ProbeCallInput): Promise<CallResult> {
  switch (input.kind) {
    case 'metadata':
      return askMetadata(probing);
    case 'prefix':
      return measurePrefix(probing, input);
    case 'sample':
      return takeSample(probing, input);
    case 'cache':
      return measureCache(probing, input);
    case 'store':
      return store(probing, input);
  }
}

async function holds({ deps, ref, held }: Probing, input: ProbeCallInput): Promise<boolean> {
  if (deps.watch.isBusy(held.leg)) return false;
  const spacingMs = input.kind === 'metadata' && input.spacing === 'forced' ? 0 : PROBE_SPACING_MS;
  const flight = { key: modelKey(held.leg), actor: actorOf(ref), leaseMs: PROBE_LEASE_MS, spacingMs };
  return deps.flights.hold(flight);
}

async function askMetadata({ deps, ref, signal, held }: Probing): Promise<CallResult> {
  const { leg, provider } = held;
  const ran = await deps.limiter.run({ leg, ref, tokens: 0, signal }, () =>
    provider.describe({ signal, timeoutMs: REQUEST_TIMEOUT_MS }),
  );
  if (ran.kind !== 'ran') return ran;
  const { outcome } = ran;
  if (!outcome.ok) return failedCall(outcome.failure, []);
  const { metadata } = outcome;
  const stated = deps.profiles.stated(leg, metadata);
  const current = await deps.profiles.current(leg);
  const { tokensPerByte, prefillTokensPerSecond, provenance } = current;
  const output: ProbeOutput = {
    kind: 'metadata',
    metadata,
    window: stated.windowSource === 'fallback' ? null : stated.declaredWindow,
    tokensPerByte: tokensPerByte.value,
    prefillTokensPerSecond: prefillTokensPerSecond.value,
  };
  // The first that is known of a model need not wait for a ladder, which turns may stop again and again.
  if (provenance.rungs.length > 0) return done(output);
  const nowMs = deps.host.engine.clock.nowMs();
  const described = measuredProfile({ current, stated, nowMs, found: NOTHING_FOUND, onLeg: null });
  const profile = await deps.profiles.learn(leg, described, metadata.quantisation);
  return done(output, [probed(leg.name, profile)]);
}

async function measurePrefix(
  probing: Probing,
  { leg }: Extract<ProbeCallInput, { kind: 'prefix' }>,
): Promise<CallResult> {
  const { deps, ref, claim } = probing;
  const { session } = claim.loaded;
  const prefix =
    session.prefix === null
      ? sessionPrefix(await deps.configs.get(ref), deps.surface)
      : await storedPrefix(deps.host.engine.store, session, session.prefix);
  const asked = prefixRequest(prefix);
  const called = await ask(probing, leg, asked, 0);
  if ('result' in called) return called.result;
  const { outcome, receipt, tookMs, microUsd } = called;
  if (!outcome.ok) return failedCall(outcome.failure, [receipt]);
  const { usage } = outcome.reply;
  if (usage === null || promptTokens(usage) === 0)
    return {
      kind: 'failed',
      code: 'unmeasured',
      message: 'the provider reports no usage',
      drafts: [receipt],
    };
  const counted = promptTokens(usage);
  const tokens = prefixTokens(prefix, asked, counted);
  const tokensPerByte = counted / asked.requestBytes;
  const found = { digest: prefix.digest, tokens, tokensPerByte };
  return done({ kind: 'prefix', ...found, tookMs, microUsd: microUsd ?? 0 }, [receipt]);
}

async function takeSample(
  probing: Probing,
  { leg, targetTokens, tokensPerByte }: Extract<ProbeCallInput, { kind: 'sample' }>,
): Promise<CallResult> {
  const asked = probeRequest({ targetTokens, tokensPerByte, seed: SEED });
  const called = await ask(probing, leg, asked, targetTokens);
  if ('result' in called) return called.result;
  const { outcome, receipt, tookMs, microUsd } = called;
  const spent = { tookMs, microUsd: microUsd ?? 0 };
  if (outcome.ok) {
    const { reply } = outcome;
    const reading = readProbeReply(reply, probeCodes(SEED));
    const prompt = reply.usage === null ? null : promptTokens(reply.usage);
    const lost = reading.followed && !reading.echoed.head && reading.echoed.tail;
    return done(
      {
        kind: 'sample',
        verdict: reading.followed ? 'followed' : 'not-followed',
        promptTokens: prompt,
        tokensPerByte: prompt === null || prompt === 0 ? null : prompt / asked.requestBytes,
        signal: lost ? `at ${targetTokens} tokens the head of the prompt was not found, its tail was` : null,
        ...spent,
      },
      [receipt],
    );
  }
  const { failure } = outcome;
  if (failure.kind !== 'over_length') return failedCall(failure, [receipt]);
  return done(
    { kind: 'sample', verdict: 'rejected', promptTokens: null, tokensPerByte: null, signal: null, ...spent },
    [receipt],
  );
}

async function measureCache(
  probing: Probing,
  { leg, tokensPerByte }: Extract<ProbeCallInput, { kind: 'cache' }>,
): Promise<CallResult> {
  // Another text each probe, the same for both of its requests: an earlier probe's may be kept still.
  const asked = cacheRequest(tokensPerByte, probing.ref.actor);
  const called = await ask(
    probing,
    leg,
    asked,
    tokensOf(asked.requestBytes, { tokensPerByte: { value: tokensPerByte, samples: 1 } }),
  );
  if ('result' in called) return called.result;
  const { outcome, receipt, tookMs, microUsd } = called;
  if (!outcome.ok && outcome.failure.kind === 'aborted') return { kind: 'aborted', drafts: [receipt] };
  const seen = outcome.ok
    ? {
        cacheReadTokens: outcome.reply.usage?.cacheReadTokens ?? null,
        firstTokenMs: outcome.reply.firstTokenMs,
        failed: false,
      }
    : { cacheReadTokens: null, firstTokenMs: null, failed: true };
  return done({ kind: 'cache', seen, tookMs, microUsd: microUsd ?? 0 }, [receipt]);
}

async function store(
  { deps, ref, held }: Probing,
  input: Extract<ProbeCallInput, { kind: 'store' }>,
): Promise<CallResult> {
  const { profiles } = deps;
  const { leg } = held;
  const measured = measuredProfile({
    current: await profiles.current(leg),
    stated: profiles.stated(leg, input.metadata),
    nowMs: Math.floor(deps.host.engine.clock.nowMs()),
    found: input,
    onLeg: input.ladderLeg === null || input.ladderLeg === leg.name ? null : input.ladderLeg,
  });
  const profile = await profiles.learn(leg, measured, input.metadata.quantisation);
  await deps.flights.release(modelKey(leg), actorOf(ref));
  return done({ kind: 'stored' }, [probed(leg.name, profile)]);
}

function probed(leg: string, profile: CapacityProfile): RecordDraft {
  const { probedAtMs: probedAt } = profile.provenance;
  const body = { leg, probedAt, profile: profile as unknown as Record<string, Json> };
  return { kind: 'capacity-probe', turnId: null, body };
}

type Asked = { readonly result: CallResult } | Answered;

interface Answered {
  readonly outcome: CallOutcome;
  readonly receipt: RecordDraft;
  readonly tookMs: number;
  readonly microUsd: number | null;
}

async function ask(
  { deps, ref, claim, signal }: Probing,
  legName: string,
  { request, requestBytes }: ProbeRequest,
  tokens: number,
): Promise<Asked> {
  const bound = deps.leg(legName);
  if (bound === null) return { result: unknownLeg(legName) };
  const called = await deps.calls.make({
    ref,
    turnId: null,
    step: 0,
    purpose: 'probe',
    attempt: claim.call.attempt,
    bound,
    request,
    requestDigest: blake3Hex(canonicalJson(request)),
    requestBytes,
    prefixDigest: null,
    promptTokens: tokens,
    replyTokens: request.maxTokens,
    timeoutMs: REQUEST_TIMEOUT_MS,
    signal,
    spending: null,
  });
  switch (called.kind) {
    case 'called':
      return called;
    case 'delayed':
    case 'aborted':
      return { result: called };
    case 'budget-spent':
    case 'not-cached':
      throw new Error(`a probe passes budgets and caches by, and met ${called.kind}`);
  }
}

function failedCall(
  failure: Extract<CallOutcome, { ok: false }>['failure'],
  drafts: readonly RecordDraft[],
): CallResult {
  if (failure.kind === 'aborted') return { kind: 'aborted', drafts };
  const { message } = failure;
  if (failure.kind !== 'retryable') return { kind: 'failed', code: failure.kind, message, drafts };
  const { code, retryAfterMs } = failure;
  return { kind: 'retry', code, message, drafts, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
}

function done(output: ProbeOutput, drafts: readonly RecordDraft[] = []): CallResult {
  return { kind: 'done', output: output as unknown as Json, additions: () => ({ drafts }) };
}

function unknownLeg(name: string): CallResult {
  return { kind: 'failed', code: 'unknown_leg', message: `leg "${name}" is not configured`, drafts: [] };
}

function actorOf({ tenant, session, actor }: JobRef): ActorRef {
  return { tenant, session, actor };
}
