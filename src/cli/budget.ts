/** What a turn, or all turns of a session, may cost: the words for it. */
import type { Invocation, OptionSpec } from './command.ts';
import { wholeNumber } from './setup.ts';

const MOST = 999_999_999;

export const BUDGET_OPTIONS = {
  'cost-micro-usd': { type: 'string', value: 'N', help: 'micro-dollars its calls may cost at most' },
  tokens: { type: 'string', value: 'N', help: 'tokens its calls may take and write at most' },
} as const satisfies Readonly<Record<string, OptionSpec>>;

/** @throws UsageError for what is no whole number above 0. */
export function costBudget(text: Invocation['text']): {
  readonly costMicroUsd?: number;
  readonly tokens?: number;
} {
  const [cost, tokens] = [text('cost-micro-usd'), text('tokens')];
  return {
    ...(cost === undefined ? {} : { costMicroUsd: wholeNumber(cost, '--cost-micro-usd', 1, MOST) }),
    ...(tokens === undefined ? {} : { tokens: wholeNumber(tokens, '--tokens', 1, MOST) }),
  };
}
