/** The work receipt: what one model call cost and how it ended, on every way out. */
import type { BodyOf, RecordDraft } from '../ledger/kinds.ts';
import type { CallOutcome, Leg } from '../providers/contract.ts';

export interface ReceiptFacts {
  readonly turnId: string | null;
  readonly child: string;
  readonly step: number;
  readonly purpose: BodyOf<'work-receipt'>['purpose'];
  readonly attempt: number;
  readonly leg: Leg;
  readonly requestDigest: string;
  readonly requestBytes: number;
  readonly prefixDigest: string | null;
  readonly totalMs: number;
}

export function receipt(facts: ReceiptFacts, outcome: CallOutcome): RecordDraft {
  const reply = outcome.ok ? outcome.reply : null;
  const { turnId, child, step, purpose, attempt, leg, requestDigest, requestBytes, prefixDigest, totalMs } =
    facts;
  return {
    kind: 'work-receipt',
    turnId,
    body: {
      child,
      step,
      purpose,
      leg: leg.name,
      provider: leg.provider,
      model: reply?.model ?? leg.model,
      attempt,
      settlement: outcome.ok ? 'answered' : settlementOf(outcome.failure),
      problem: outcome.ok ? null : outcome.failure.message,
      usage: reply?.usage ?? null,
      requestDigest,
      prefixDigest,
      requestBytes,
      firstTokenMs: reply?.firstTokenMs ?? null,
      totalMs,
    },
  };
}

function settlementOf(failure: Extract<CallOutcome, { ok: false }>['failure']): string {
  return failure.kind === 'retryable' ? failure.code : failure.kind;
}
