/** What calls to models came to, over HTTP. */
import type { UsageQuery } from '../../client/index.ts';
import type { Command, Invocation } from '../command.ts';
import { EXIT, UsageError } from '../exit.ts';
import { connect } from '../server.ts';
import { styleFor } from '../style.ts';
import { usageText } from '../usage-text.ts';

const GROUPS = ['session', 'leg', 'purpose', 'day'] as const satisfies readonly UsageQuery['by'][];
const DAY = /^\d{4}-\d{2}-\d{2}$/;
/** As many rows as the server gives at once. */
const ROWS = 1_000;

export const command: Command = {
  name: 'usage',
  summary: 'Show tokens, caches and cost of calls to models',
  options: {
    by: { type: 'string', value: 'GROUP', help: `a row for each ${GROUPS.join(', ')}; leg unless given` },
    session: { type: 'string', value: 'ID', help: 'calls of this session alone' },
    from: { type: 'string', value: 'DAY', help: 'first day, UTC, such as 2026-11-30' },
    to: { type: 'string', value: 'DAY', help: 'last day' },
  },
  run: async (invocation) => {
    const { context, output } = invocation;
    const query = queryOf(invocation);
    const report = await (await connect(context)).usage(query, context.stopped);
    output.result(report, () => usageText(report, styleFor(context.stdout, context.env)));
    return EXIT.done;
  },
};

function queryOf({ text }: Invocation): UsageQuery {
  const by = text('by') ?? 'leg';
  const known = GROUPS.find((group) => group === by);
  if (known === undefined) throw new UsageError(`--by is "${by}"; allowed is ${GROUPS.join(', ')}.`);
  const [session, from, to] = [text('session'), text('from'), text('to')];
  for (const [option, day] of Object.entries({ from, to }))
    if (day !== undefined && !DAY.test(day))
      throw new UsageError(`--${option} is "${day}"; write a day as 2026-11-30.`);
  return {
    by: known,
    limit: ROWS,
    ...(session === undefined ? {} : { session }),
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  };
}
