/** What models were measured to use, and measuring them, over HTTP. */
import { setTimeout as pause } from 'node:timers/promises';
import type { BegunProbe, Profile, Turnwright } from '../../client/index.ts';
import type { Command, Invocation } from '../command.ts';
import { EXIT, type ExitCode } from '../exit.ts';
import { legsText, profileText, rungText } from '../profile-text.ts';
import { connect } from '../server.ts';
import { styleFor } from '../style.ts';

const POLL_MS = 500;
/** A server binds a profile from memory for five seconds: the new one shows at the latest then. */
const POLLS_AFTER_END = 20;

const ENDS: Readonly<Record<string, string>> = {
  stopped: 'It was interrupted: a turn needed the model, or another probe had it. Nothing was stored.',
  failed: 'It failed: the provider did not answer. Nothing was stored.',
};

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
    const { ended, found } = await follow(client, invocation, answer.probe, before);
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

/** Until the probe is over; `ended` says why it found nothing, and is null where it did. */
async function follow(
  client: Turnwright,
  { context: { stopped }, output }: Invocation,
  { leg, actor }: BegunProbe,
  before: Profile,
): Promise<{ readonly ended: string | null; readonly found: Profile }> {
  let told = 0;
  for (let pollsAfterEnd = 0; ; ) {
    const found = await client.profile(leg, { actor }, stopped);
    const { asked } = found.probe;
    for (const rung of asked?.rungs.slice(told) ?? []) output.progress(rungText(rung));
    told = Math.max(told, asked?.rungs.length ?? 0);
    if (isNewer(found, before)) return { ended: null, found };
    if (asked === null || asked.over) {
      const { phase } = asked ?? { phase: 'unknown' };
      if (phase !== 'done') return { ended: ENDS[phase] ?? 'It ended without a result.', found };
      pollsAfterEnd++;
      if (pollsAfterEnd > POLLS_AFTER_END) return { ended: null, found };
    }
    await pause(POLL_MS, undefined, { signal: stopped }).catch(() => stopped.throwIfAborted());
  }
}

/** ISO 8601 in UTC sorts as it is. */
function isNewer({ probed_at }: Profile, before: Profile): boolean {
  return probed_at !== null && probed_at > (before.probed_at ?? '');
}

function show(
  { context, output }: Invocation,
  result: { readonly profile: Profile },
  exit: ExitCode,
): ExitCode {
  output.result(result, () => profileText(result.profile, styleFor(context.stdout, context.env)));
  return exit;
}
