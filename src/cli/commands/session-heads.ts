/** Heads of a session: listed, and moved between, over HTTP. */
import type { Anchor, Head } from '../../client/index.ts';
import type { Command, Invocation } from '../command.ts';
import { EXIT, UsageError } from '../exit.ts';
import { connect } from '../server.ts';
import { wholeNumber } from '../setup.ts';
import { table } from '../table.ts';

const ONE_SESSION = { arguments: 'SESSION', count: [1, 1] } as const;
const ANCHORS = ['back', 'turn', 'head'] as const;
const MAX_TURN = 999_999_999;

export const heads: Command = {
  name: 'session heads',
  summary: 'List the heads of a session, those that were left too',
  ...ONE_SESSION,
  run: async ({ context, output, positionals: [id = ''] }) => {
    const found = await (await connect(context)).sessions.heads(id, context.stopped);
    output.result({ heads: found }, () => headsText(found));
    return EXIT.done;
  },
};

export const checkout: Command = {
  name: 'session checkout',
  summary: 'Go on from an earlier turn of a session, on a head of its own, or from another head',
  ...ONE_SESSION,
  options: {
    back: { type: 'string', value: 'N', help: 'how many of the newest turns leave' },
    turn: { type: 'string', value: 'N', help: 'number of the last turn that stays; 0 for none' },
    head: { type: 'string', value: 'HEAD', help: 'a head of the session' },
  },
  run: async (invocation) => {
    const { context, output, positionals } = invocation;
    const anchor = anchorOf(invocation);
    const { sessions } = await connect(context);
    const out = await sessions.checkout(positionals[0] ?? '', anchor, context.stopped);
    const cancelled = out.cancelled.length === 0 ? '' : ` Cancelled: ${out.cancelled.join(', ')}.`;
    output.result(out, () =>
      out.moved
        ? `The session goes on on head ${out.head}.${cancelled}`
        : `Head ${out.head} was live already.`,
    );
    return EXIT.done;
  },
};

function anchorOf({ text }: Invocation): Anchor {
  const given = ANCHORS.filter((name) => text(name) !== undefined);
  const [name] = given;
  if (name === undefined || given.length > 1)
    throw new UsageError('Give exactly one of --back N, --turn N and --head HEAD.');
  const value = text(name) ?? '';
  if (name === 'head') return { head: value };
  const number = wholeNumber(value, `--${name}`, name === 'back' ? 1 : 0, MAX_TURN);
  return name === 'back' ? { back: number } : { turn: number };
}

function headsText(found: readonly Head[]): string {
  const columns = [
    { title: 'head' },
    { title: 'live' },
    { title: 'turns', align: 'right' },
    { title: 'newest', align: 'right' },
    { title: 'goes on from' },
  ] as const;
  return table(
    columns,
    found.map(({ id, live, turns, newest_turn: newest, from, after_turn: after }) => [
      id,
      live ? 'live' : '',
      String(turns),
      newest === null ? '' : `T${newest}`,
      from === null ? '' : `${after === null ? 'before the first turn' : `T${after}`} of ${from}`,
    ]),
  );
}
