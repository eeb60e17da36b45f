/** A probe that was begun, followed to its end. */
import { setTimeout as pause } from 'node:timers/promises';
import type { BegunProbe, Profile, Turnwright } from '../client/index.ts';
import { rungText } from './profile-text.ts';

const POLL_MS = 500;
/** A server binds a profile from memory for five seconds: the new one shows at the latest then. */
const POLLS_AFTER_END = 20;

const ENDS: Readonly<Record<string, string>> = {
  stopped: 'It was interrupted: a turn needed the model, or another probe had it. Nothing was stored.',
  failed: 'It failed: the provider did not answer. Nothing was stored.',
};

export interface Following {
  /** The profile that stood when it began. */
  readonly before: Profile;
  readonly signal: AbortSignal;
  /** Told each rung as it is decided. */
  readonly tell: (line: string) => void;
}

/** Until the probe is over; `ended` says why it found nothing, and is null where it did. */
export async function followProbe(
  client: Turnwright,
  { leg, actor }: BegunProbe,
  { before, signal, tell }: Following,
): Promise<{ readonly ended: string | null; readonly found: Profile }> {
  let told = 0;
  for (let pollsAfterEnd = 0; ; ) {
    const found = await client.profile(leg, { actor }, signal);
    const { asked } = found.probe;
    const rungs = asked?.rungs ?? [];
    for (const rung of rungs.slice(told)) tell(rungText(rung));
    told = Math.max(told, rungs.length);
    if (asked === null || asked.over) {
      const { phase } = asked ?? { phase: 'unknown' };
      if (phase !== 'done') return { ended: ENDS[phase] ?? 'It ended without a result.', found };
      pollsAfterEnd++;
      if (shows(found, rungs.length, before) || pollsAfterEnd > POLLS_AFTER_END)
        return { ended: null, found };
    }
    await pause(POLL_MS, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
}

/** Whether the profile is the one the probe stored. ISO 8601 in UTC sorts as it is. */
function shows({ probed_at, rungs }: Profile, decided: number, before: Profile): boolean {
  const isNewer = probed_at !== null && probed_at > (before.probed_at ?? '');
  return isNewer && rungs.filter(({ kind }) => kind === 'horizon').length >= decided;
}
