/** Rows as the answers show them. */
import type { z } from 'zod';
import type { TurnWithRecords } from '../db/queries/find-turn.ts';
import type { SessionRow } from '../db/queries/read-sessions.ts';
import { type BodyOf, parseBody } from '../ledger/kinds.ts';
import { UsageTotals } from '../ledger/usage.ts';
import { finalAnswer, foldTurn } from '../ledger/view.ts';
import type { CostBudget } from '../runtime/budgets.ts';
import { parentOf } from '../runtime/sessions.ts';
import type * as schemas from './schemas.ts';
import { snapshotOf, stateOf } from './turn-state.ts';
import { costAnswer, totalOf } from './usage-answers.ts';

type SessionAnswer = z.infer<typeof schemas.session>;
type TurnAnswer = z.infer<typeof schemas.turn>;
type UsageAnswer = z.infer<typeof schemas.usage>;

/** The system text is left out: it is prompt text. The work contract is what its owner bound the session to. */
export function sessionAnswer(row: SessionRow): SessionAnswer {
  const config = parseBody('session-created', JSON.parse(row.config));
  return {
    id: row.session,
    status: row.status,
    leg: config.leg,
    ladder: config.ladder ?? null,
    policy: config.policy,
    tools: config.tools,
    work_contract: config.workContract ?? null,
    locale: config.locale ?? null,
    timezone: config.timezone ?? null,
    budget: budgetAnswer(config.budget),
    metadata: config.metadata,
    head: row.head,
    forked_from: row.forkedFrom,
    turns: row.turns,
    open_turn: row.openTurn,
    delegated_by: parentOf(config),
    created_at: row.createdAt.toISOString(),
  };
}

export function turnAnswer({ row, records }: TurnWithRecords): TurnAnswer {
  const parsed = records.flatMap((record) => {
    const body: unknown = (record.body as string | null) === null ? null : JSON.parse(record.body);
    return body === null ? [] : [{ ...record, body }];
  });
  const accepted = parsed.find((record) => record.kind === 'turn-accepted')?.body as
    | BodyOf<'turn-accepted'>
    | undefined;
  // Without its directive, which may have been erased, a turn does not fold; its state is still known.
  const answer = accepted === undefined ? null : finalAnswer(foldTurn(parsed));
  return {
    id: row.turn,
    session: row.session,
    head: row.head,
    number: row.number,
    state: stateOf(row),
    phase: snapshotOf(row.actor.snapshot).phase,
    outcome: row.outcome,
    reason: row.reason,
    steps: row.steps,
    answer: answer === '' ? null : answer,
    priority: row.priority,
    parked_reason: row.actor.parkedReason,
    usage: usageOf(
      parsed
        .filter((record) => record.kind === 'work-receipt')
        .map((record) => record.body as BodyOf<'work-receipt'>),
    ),
    budget: budgetAnswer(accepted?.budget),
    metadata: accepted?.metadata ?? {},
    retry_of: accepted?.retryOf ?? null,
    accepted_at: row.acceptedAt.toISOString(),
    started_at: row.startedAt?.toISOString() ?? null,
    closed_at: row.closedAt?.toISOString() ?? null,
  };
}

function usageOf(receipts: readonly BodyOf<'work-receipt'>[]): UsageAnswer {
  const totals = new UsageTotals();
  for (const receipt of receipts) totals.add(receipt);
  const total = totalOf(totals.rows());
  const promptTokens = total.inputTokens + total.cacheReadTokens + total.cacheWriteTokens;
  return {
    calls: total.calls,
    prompt_tokens: promptTokens,
    input_tokens: total.inputTokens,
    cache_read_tokens: total.cacheReadTokens,
    cache_write_tokens: total.cacheWriteTokens,
    output_tokens: total.outputTokens,
    tokens: promptTokens + total.outputTokens,
    ...costAnswer(total),
  };
}

function budgetAnswer(budget: CostBudget | undefined): SessionAnswer['budget'] {
  if (budget === undefined) return null;
  return { cost_micro_usd: budget.microUsd ?? null, tokens: budget.tokens ?? null };
}
