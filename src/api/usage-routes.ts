/** What the tenant's calls came to. */
import { CALL_PURPOSES } from '../ledger/kinds.ts';
import { type Route, route } from './contract.ts';
import { totalOf, usageAnswer } from './usage-answers.ts';
import { usageQuery, usageReport } from './usage-schemas.ts';

export const USAGE_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/v1/usage',
    summary: 'Tokens, caches and cost of calls to models, by session, leg, purpose or day',
    access: 'turns:read',
    query: usageQuery,
    answers: { 200: { description: 'The sums, and the total of all that fits.', schema: usageReport } },
    errors: [],
    handle: async ({ services: { usage } }, { caller: { tenant }, query: { by, limit, ...given } }) => {
      const filter = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
      const found = await usage.report(tenant, by, filter, limit + 1);
      const more = found.length > limit;
      // There are few purposes, so their sums are the total of however many rows.
      const all = more ? await usage.report(tenant, 'purpose', filter, CALL_PURPOSES.length) : found;
      return {
        status: 200,
        body: usageAnswer(by, { rows: found.slice(0, limit), more, total: totalOf(all) }),
      };
    },
  }),
];
