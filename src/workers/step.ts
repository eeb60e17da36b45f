/** The `step` pool: one model call. Stages: bind, plan and assemble, send, judge. */
import type { Claim } from '../db/contract.ts';
import type { JobRef } from '../queues/contract.ts';
import { spendingOf } from '../runtime/budgets.ts';
import { stepPrefix } from '../runtime/prefix.ts';
import type { PlanBody, RequestInput } from '../runtime/request.ts';
import { sessionPlan } from '../runtime/session-plan.ts';
import type { SessionConfig } from '../runtime/sessions.ts';
import { type CallResult, runSideCall, type Settled } from '../runtime/side-call.ts';
import { foldRecords } from '../runtime/turn-cache.ts';
import { turnTopic } from './deltas.ts';
import type { WorkerDeps } from './deps.ts';
import { resetWith } from './handoff.ts';
import { notSent, type Sending, sendStep } from './send.ts';
import { answered, type OnAnswer, refused, type Stage } from './step-result.ts';

interface StepInput {
  readonly step: number;
  readonly packetless: boolean;
  readonly handoffless: boolean;
}

export async function stepWorker(deps: WorkerDeps, ref: JobRef): Promise<Settled> {
  const watched: string[] = [];
  const answers: { readonly input: RequestInput; readonly plan: PlanBody }[] = [];
  const settled = await runSideCall(deps.host, ref, (claim, signal) => {
    if (claim.loaded.session.watched) watched.push(turnTopic(ref, ref.actor));
    return performStep(deps, ref, claim, signal, (input, plan) => answers.push({ input, plan }));
  });
  // What was streamed is durable now, or was taken back.
  for (const topic of watched) await deps.bus.drop(topic);
  const [answer] = answers;
  if (settled === 'applied' && answer !== undefined) await afterAnswer(deps, ref, answer);
  return settled;
}

/** Beside the turns from here on: nothing depends on it. */
async function afterAnswer(
  deps: WorkerDeps,
  ref: JobRef,
  { input, plan }: { readonly input: RequestInput; readonly plan: PlanBody },
): Promise<void> {
  const { claim, place } = input;
  deps.vectors?.afterTurn({ ref, head: place.head, epoch: claim.loaded.session.epoch, number: place.number });
  const { leg } = await deps.configs.get(ref);
  const bound = deps.leg(leg);
  const probed = bound === null ? undefined : deps.probes.afterTurn(ref, bound.leg, input.profile);
  const settled = await Promise.allSettled([deps.ahead.afterStep(ref, input, plan), probed]);
  for (const one of settled) if (one.status === 'rejected') deps.host.onError(one.reason);
}

async function performStep(
  deps: WorkerDeps,
  ref: JobRef,
  claim: Claim,
  signal: AbortSignal,
  onAnswer: OnAnswer,
): Promise<CallResult> {
  const { step, packetless, handoffless } = JSON.parse(claim.call.input) as StepInput;
  const place = claim.loaded.turn;
  if (place === null) throw new Error(`step call ${ref.child} has no turn`);
  const config = await deps.configs.get(ref);
  const legs = legsOf(deps, config);
  if (legs === null)
    return {
      kind: 'failed',
      code: 'unknown_leg',
      message: `leg "${config.leg}" is not configured`,
      drafts: [],
    };
  const open = foldRecords(claim.records);
  const { store } = deps.host.engine;
  const searches = legs.some(({ provider }) => provider.searchesTools);
  const parts = { config, surface: deps.surface, searches };
  const [profile, pinned] = await Promise.all([
    deps.profiles.bind(legs[0].leg, open.rejections),
    stepPrefix(store, claim, { place, open }, parts),
  ]);
  const input: RequestInput = {
    claim,
    open,
    place,
    prefix: pinned.prefix,
    loaded: pinned.loaded,
    profile,
    ...sessionPlan(config),
    packetless,
  };
  const prepared = await deps.requests.prepare(input);
  if (prepared.kind === 'reset-wanted' && handoffless) {
    const reset = resetWith(open, place, [], null);
    return { ...reset, output: { kind: 'reset-made' } };
  }
  if (prepared.kind !== 'request')
    return { kind: 'done', output: { ...prepared }, additions: () => ({ drafts: [] }) };
  const sending = { ref, claim, step, input, prepared, legs, spending: spendingOf(open, config) };
  const stage: Stage = { ...sending, place, pinned, onAnswer };
  const sent = await sendStep(deps, sending, signal);
  switch (sent.kind) {
    case 'answered':
      return answered(deps, stage, sent);
    case 'refused':
      return refused(deps, stage, sent);
    case 'not-sent':
      return notSent(sent);
  }
}

/** The session's leg and those that stand in for it; null where it is not configured any more. */
function legsOf(deps: WorkerDeps, { leg, ladder = [] }: SessionConfig): Sending['legs'] | null {
  const bound = deps.leg(leg);
  if (bound === null) return null;
  const others = ladder.filter((name) => name !== leg).flatMap((name) => deps.leg(name) ?? []);
  return [bound, ...others];
}
