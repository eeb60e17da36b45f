/** Puts a faulty reply in the place of a sound one: which faults a request draws, and when a correction ends them. */
import { SIM_HABITS, type SimHabit, type SimHabits } from '../contract.ts';
import { draw } from '../random.ts';
import { claimsDone, ignoresFailure, plansOnly, repeatAnswer, ungrounded } from './habits/answers.ts';
import { badArguments, hasFailedCall, writesCalls } from './habits/calls.ts';
import { brokenFence, hasRepeatedCard, inventsSource, repeatsCard } from './habits/cards.ts';
import type { Temptation } from './habits/contract.ts';
import { oldCard, staleFigure } from './habits/stale.ts';
import type { SimReply } from './reply.ts';

export const THOUGHT = 'Weighing what was asked against what the request holds.';

/** `calls`: the caller forces a call. `none`: nothing is followed, so nothing but thinking goes wrong. */
export type Reach = 'all' | 'calls' | 'none';

/** `isTold`: whether it was corrected in this turn. Any correction counts where the fault shows none of its own. */
interface Habit {
  readonly fault: (given: Temptation) => SimReply | null;
  readonly isTold?: (given: Temptation) => boolean;
}

const HABITS: Readonly<Record<SimHabit, Habit>> = {
  thinkingOnly: { fault: () => ({ thinking: THOUGHT, text: '', calls: [] }) },
  staleFigure: { fault: staleFigure },
  oldCard: { fault: oldCard },
  inventsSource: { fault: inventsSource },
  repeatsCard: { fault: repeatsCard, isTold: hasRepeatedCard },
  badArguments: { fault: badArguments, isTold: hasFailedCall },
  writesCalls: { fault: writesCalls },
  plansOnly: { fault: plansOnly },
  brokenFence: { fault: brokenFence },
  claimsDone: { fault: claimsDone },
  ignoresFailure: { fault: ignoresFailure },
  ungrounded: { fault: ungrounded },
  repeatAnswer: { fault: repeatAnswer },
};

const WITHIN: Readonly<Record<Reach, readonly SimHabit[]>> = {
  all: SIM_HABITS,
  calls: ['thinkingOnly', 'badArguments'],
  none: ['thinkingOnly'],
};

/** null when the sound reply stands. */
export function misbehave(given: Temptation, habits: SimHabits, reach: Reach): SimReply | null {
  const { seed, key } = given;
  const owned = WITHIN[reach].filter((name) => (habits[name] ?? 0) > 0);
  const told = owned.filter((name) => (HABITS[name].isTold ?? isCorrected)(given));
  const stubborn = draw(seed, 'stubbornness', key) < (habits.stubbornness ?? 0);
  const drawn = owned.filter((name) => !told.includes(name) && draw(seed, name, key) < (habits[name] ?? 0));
  for (const name of [...(stubborn ? byShare(told, habits, given) : []), ...drawn]) {
    const reply = HABITS[name].fault(given);
    if (reply !== null) return reply;
  }
  return null;
}

/** Which fault was corrected is not to be seen in the request: the more frequent one is the likelier. */
function byShare(
  told: readonly SimHabit[],
  habits: SimHabits,
  { seed, key }: Temptation,
): readonly SimHabit[] {
  const rank = (name: SimHabit): number => draw(seed, 'again', name, key) ** (1 / (habits[name] ?? 1));
  return told.toSorted((left, right) => rank(right) - rank(left));
}

function isCorrected({ situation }: Temptation): boolean {
  return situation.conversation.corrections.length > 0;
}
