/** One session, over HTTP. */
import type { CostedSession, Verdict } from '../../client/index.ts';
import type { Command } from '../command.ts';
import { EXIT } from '../exit.ts';
import { costText } from '../money.ts';
import { oneLine, shown } from '../output.ts';
import { connect } from '../server.ts';
import { SESSION_OPTIONS, sessionWords } from '../session-words.ts';

const CONTRACT_CHARS = 100;

const ONE_SESSION = { arguments: 'SESSION', count: [1, 1] } as const;

export const create: Command = {
  name: 'session create',
  summary: 'Create a session and print its id',
  options: SESSION_OPTIONS,
  run: async ({ context, output, text }) => {
    const wanted = await sessionWords({ context, text });
    const session = await (await connect(context)).sessions.create(wanted, context.stopped);
    output.result({ session }, () => session.id);
    return EXIT.done;
  },
};

export const show: Command = {
  name: 'session show',
  summary: 'Show a session',
  ...ONE_SESSION,
  run: async ({ context, output, positionals: [id = ''] }) => {
    const session = await (await connect(context)).sessions.get(id, context.stopped);
    output.result({ session }, () => sessionText(session));
    return EXIT.done;
  },
};

export const verify: Command = {
  name: 'session verify',
  summary: 'Check every record of a session against its chain',
  ...ONE_SESSION,
  run: async ({ context, output, positionals: [id = ''] }) => {
    const verdict = await (await connect(context)).sessions.verify(id, context.stopped);
    output.result(verdict, () => verdictText(verdict));
    return verdict.ok ? EXIT.done : EXIT.failed;
  },
};

export const rebuild: Command = {
  name: 'session rebuild',
  summary: 'Make every projection of a session anew and mend what differs',
  ...ONE_SESSION,
  run: async ({ context, output, positionals: [id = ''] }) => {
    const rebuilt = await (await connect(context)).sessions.rebuild(id, context.stopped);
    output.result(rebuilt, () =>
      rebuilt.differences.length === 0
        ? 'Every projection is what the originals make: nothing was written.'
        : rebuilt.differences
            .map(({ table, key, found }) => `${table} ${shown(key)} was ${found}`)
            .join('\n'),
    );
    return EXIT.done;
  },
};

function verdictText({ ok, records, fault, broken }: Verdict): string {
  if (fault !== null)
    return `Record ${fault.seq} (${fault.kind}) is wrong: ${shown(fault.problem)}. Nothing after it is trusted.`;
  if (!ok) return `All ${records} records stand as they were written, but law ${shown(broken ?? '')}.`;
  return `All ${records} records stand as they were written, and what is stored beside them agrees.`;
}

function sessionText(session: CostedSession): string {
  return [
    `session  ${session.id}`,
    `status   ${session.status}`,
    `leg      ${session.leg}`,
    `policy   ${session.policy.name}`,
    ...(session.forked_from === null ? [] : [`forked   from ${session.forked_from}`]),
    `tools    ${session.tools === null ? 'all' : session.tools.join(', ')}`,
    ...(session.work_contract === null ? [] : [`bound to ${oneLine(session.work_contract, CONTRACT_CHARS)}`]),
    `turns    ${session.turns}${session.open_turn === null ? '' : `, ${session.open_turn} is open`}`,
    `cost     ${costText(session)}`,
    `created  ${session.created_at}`,
  ].join('\n');
}
