/** Sessions that go on from others, and sessions begun anew, over HTTP. */
import type { Cleared } from '../../client/index.ts';
import type { Command } from '../command.ts';
import { EXIT } from '../exit.ts';
import { connect } from '../server.ts';
import { FORK_OPTIONS, forkWords } from '../session-words.ts';

const ONE_SESSION = { arguments: 'SESSION', count: [1, 1] } as const;

export const fork: Command = {
  name: 'session fork',
  summary: 'Create a session that goes on from where this one stands, and print its id',
  ...ONE_SESSION,
  options: FORK_OPTIONS,
  run: async ({ context, output, positionals: [id = ''], text }) => {
    const own = forkWords({ text });
    const session = await (await connect(context)).sessions.fork(id, own, context.stopped);
    output.result({ session }, () => session.id);
    return EXIT.done;
  },
};

export const clear: Command = {
  name: 'session clear',
  summary: 'Begin a session anew: cancel its turns, and carry and recall nothing from before',
  ...ONE_SESSION,
  run: async ({ context, output, positionals: [id = ''] }) => {
    const cleared = await (await connect(context)).sessions.clear(id, context.stopped);
    output.result(cleared, () => clearedText(cleared));
    return EXIT.done;
  },
};

function clearedText({ cleared, cancelled }: Cleared): string {
  const turns = cancelled.length === 1 ? '1 turn' : `${cancelled.length} turns`;
  const stopped = cancelled.length === 0 ? '' : ` ${turns} cancelled.`;
  if (!cleared) return `There was nothing to clear.${stopped}`;
  return `Nothing of before is carried any more; its records stay.${stopped}`;
}
