/** What metrics show of the whole deployment. Both need a pool of the role `turnwright_upkeep`. */
import type pg from 'pg';
import { run } from '../pool.ts';

export interface Total {
  readonly name: 'turns' | 'turn_seconds' | 'tokens' | 'cost' | 'checks';
  readonly a: string;
  readonly b: string;
  readonly value: number;
}

export function readTotals(upkeepPool: pg.Pool): Promise<readonly Total[]> {
  return run<Total>(upkeepPool, {
    name: 'totals_now',
    text: 'SELECT name, a, b, value FROM turnwright.totals_now()',
    values: [],
  });
}
