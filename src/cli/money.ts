/** Money for people. */
import type { CostedSession } from '../client/index.ts';

type Cost = Pick<CostedSession, 'cost_micro_usd' | 'cost_status'>;

const MICRO_DIGITS = 6;

/** Whole micro-dollars, to the last digit. */
export function dollars(microUsd: number): string {
  const digits = String(microUsd).padStart(MICRO_DIGITS + 1, '0');
  return `$${digits.slice(0, -MICRO_DIGITS)}.${digits.slice(-MICRO_DIGITS)}`;
}

/** A sum never hides that calls without a price are missing from it. */
export function costText({ cost_micro_usd, cost_status }: Cost): string {
  switch (cost_status) {
    case 'priced':
      return dollars(cost_micro_usd);
    case 'partial':
      return `${dollars(cost_micro_usd)} and more: partial, some calls have no price`;
    case 'unpriced':
      return 'unpriced: its calls have no price';
    case 'no_calls':
      return dollars(0);
  }
}
