/** What models were measured to use, and measuring them, over HTTP. */
import type { Profile } from '../../client/index.ts';
import type { Command, Invocation } from '../command.ts';
import { EXIT, type ExitCode } from '../exit.ts';
import { followProbe } from '../follow-probe.ts';
import { legsText, profileText } from '../profile-text.ts';
import { connect } from '../server.ts';
import { styleFor } from '../style.ts';

export const probe: Command = {
  name: 'probe',
  summary: 'Measure how large a prompt a model still follows, and show what was found',
  arguments: 'LEG',
  count: [1, 1],
  options: {
    force: { type: 'boolean', help: 'probe even if it is not due, or hosted, which costs money' },
  },
  run: async (invocation) => {
    const {
      context: { stopped },
      output,
      positionals: [leg = ''],
    } = invocation;
    const client = await connect(invocation.context);
    const before = await client.profile(leg, {}, stopped);
    const answer = await client.probe(leg, invocation.flag('force') ? { force: true } : {}, stopped);
    if (answer.probe === null) {
      output.progress(answer.reason);
      return show(invocation, { ...answer, profile: before }, EXIT.done);
    }
    output.progress(`Probe ${answer.probe.actor} began.`);
    const { ended, found } = await followProbe(client, answer.probe, {
      before,
      signal: stopped,
      tell: (line) => output.progress(line),
    });
    if (ended !== null) output.progress(ended);
    const result = { probe: answer.probe, ...(ended === null ? {} : { reason: ended }), profile: found };
    return show(invocation, result, ended === null ? EXIT.done : EXIT.failed);
  },
};

export const profile: Command = {
  name: 'profile',
  summary: 'Show what a model was measured to use; without LEG, list the legs',
  arguments: '[LEG]',
  count: [0, 1],
  run: async ({ context, output, positionals: [leg] }) => {
    const client = await connect(context);
    const style = styleFor(context.stdout, context.env);
    if (leg === undefined) {
      const legs = await client.legs(context.stopped);
      output.result({ legs }, () => legsText(legs, style));
      return EXIT.done;
    }
    const found = await client.profile(leg, {}, context.stopped);
    output.result(found, () => profileText(found, style));
    return EXIT.done;
  },
};

function show(
  { context, output }: Invocation,
  result: { readonly profile: Profile },
  exit: ExitCode,
): ExitCode {
  output.result(result, () => profileText(result.profile, styleFor(context.stdout, context.env)));
  return exit;
}
