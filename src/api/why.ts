/** Why a turn stands where it stands. */
import type { Services } from '../app/services.ts';
import { explainTurn } from '../db/queries/explain-turn.ts';
import { explainStuck, stuckLimits } from '../runtime/stuck-reasons.ts';
import { turnNotFound } from './found.ts';
import { whyFacts } from './why-facts.ts';
import type { Why } from './why-schema.ts';
import { whySentences } from './why-sentences.ts';

/** @throws TurnwrightError `turn_not_found`. */
export async function whyTurn(
  { pool, config }: Pick<Services, 'pool' | 'config'>,
  tenant: string,
  turn: string,
): Promise<Why> {
  const limits = stuckLimits(config.leaseMs);
  const row = await explainTurn(pool, tenant, turn, limits);
  if (row === null) throw turnNotFound(turn);
  const facts = whyFacts(row, limits.goneMs);
  const stuck =
    row.stuck === null
      ? null
      : {
          cause: row.stuck.cause,
          ...explainStuck(row.stuck),
          stuck_seconds: Math.max(0, row.stuck.sinceSeconds),
        };
  return { turn, sentences: [...whySentences(turn, facts, stuck)], stuck, facts };
}
