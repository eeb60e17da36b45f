/** What a step taught of its leg, as the records of its hop: only what the leg itself answered counts. */
import type { StepFacts } from '../checks/facts.ts';
import { moved } from '../context/capacity/feedback.ts';
import { tokensOf } from '../context/capacity/tokens.ts';
import type { ChatReply } from '../context/request.ts';
import type { Claim } from '../db/contract.ts';
import type { AssistantBlock } from '../ledger/blocks.ts';
import type { Json } from '../ledger/json.ts';
import type { Check, RecordDraft } from '../ledger/kinds.ts';
import type { TurnView } from '../ledger/view.ts';
import type { WorkerDeps } from './deps.ts';
import type { OverLengthFailure } from './send.ts';
import type { Stage } from './step-result.ts';

/** Checks whose finding says that the model missed an instruction. */
const INSTRUCTION_CHECKS: ReadonlySet<Check> = new Set([
  'drift',
  'call-in-prose',
  'freshness',
  'presentation',
  'stop-gate',
]);

/** What the leg's own answer taught, where that is worth a record. */
export function learn(deps: WorkerDeps, { prepared, legs }: Stage, reply: ChatReply): readonly RecordDraft[] {
  const { usage, firstTokenMs, finish, content } = reply;
  if (usage === null || hasNative(prepared.open, content)) return [];
  const { leg } = legs[0];
  const sample = {
    usage,
    requestBytes: prepared.assembled.requestBytes,
    firstTokenMs,
    finishedByLength: finish === 'length',
  };
  const seen = deps.profiles.observe(leg, sample);
  if (seen === null) return [];
  const { before, after } = seen;
  // How fast a prompt is read changes from call to call, and sizes no request.
  if (!moved(before, { ...after, prefillTokensPerSecond: before.prefillTokensPerSecond })) return [];
  const { horizon, tokensPerByte } = after;
  const body = {
    leg: leg.name,
    reason: 'observed',
    tokensPerByte: tokensPerByte.value,
    horizonTokens: horizon.tokens,
  } as const;
  return [{ kind: 'capacity-feedback', turnId: prepared.open.turnId, body }];
}

/** A provider's own search bills what no byte of the request stands for. */
function hasNative({ steps }: TurnView, content: readonly AssistantBlock[]): boolean {
  return [content, ...steps.map((step) => step.content)].some((blocks) =>
    blocks.some(({ type }) => type === 'native'),
  );
}

/** An instruction missed near the horizon says something of the horizon. */
export function missed(
  deps: WorkerDeps,
  { prepared, input, legs }: Stage,
  facts: StepFacts,
): readonly RecordDraft[] {
  const found = facts.kind === 'answer' ? facts.findings : facts.kind === 'calls' ? facts.withheld : [];
  const finding = found.find(({ check }) => INSTRUCTION_CHECKS.has(check));
  if (finding === undefined) return [];
  const { leg } = legs[0];
  const requestTokens = tokensOf(prepared.assembled.requestBytes, input.profile);
  const seen = deps.profiles.missed(leg, requestTokens, { drift: finding.check === 'drift' });
  if (seen === null || !moved(seen.before, seen.after)) return [];
  const body = {
    leg: leg.name,
    reason: 'missed-instruction',
    check: finding.check,
    requestTokens: Math.round(requestTokens),
    horizonTokens: seen.after.horizon.tokens,
  } as const;
  return [{ kind: 'capacity-feedback', turnId: prepared.open.turnId, body }];
}

/** The profile the turn is planned by, where the session's ledger does not hold it yet: a probe brought it meanwhile. */
export function boundBy(
  { prepared, input, legs }: Stage,
  { loaded: { session } }: Claim,
): readonly RecordDraft[] {
  const { probedAtMs: probedAt } = input.profile.provenance;
  if (prepared.planDraft === null || probedAt <= session.profileAt) return [];
  const profile = input.profile as unknown as Record<string, Json>;
  return [
    {
      kind: 'capacity-probe',
      turnId: prepared.open.turnId,
      body: { leg: legs[0].leg.name, probedAt, profile },
    },
  ];
}

/** The session's own leg refused the length: its profile shrinks, for this turn and for all. */
export function refuse(
  deps: WorkerDeps,
  { prepared, input, legs }: Stage,
  { limitTokens }: OverLengthFailure,
): RecordDraft {
  const { leg } = legs[0];
  const rejectedTokens = tokensOf(prepared.assembled.requestBytes, input.profile);
  const rejection = { rejectedTokens, ...(limitTokens === undefined ? {} : { limitTokens }) };
  deps.profiles.refuse(leg, rejection);
  const body = { leg: leg.name, reason: 'over-length', ...rejection } as const;
  return { kind: 'capacity-feedback', turnId: prepared.open.turnId, body };
}
