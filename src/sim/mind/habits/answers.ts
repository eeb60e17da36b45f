/** Faults in what is said. */
import { endsOf, previousAnswer } from '../conversation.ts';
import { hasMarker, lastResults } from '../manners.ts';
import { speaksOfChange } from '../present-time.ts';
import { type SimReply, textReply } from '../reply.ts';
import { lookedUp, type Situation, targetsOf } from '../situation.ts';
import { changes, type ToolRole, wordsOf } from '../toolbox.ts';
import type { Temptation } from './contract.ts';

const DEEDS: Readonly<Partial<Record<ToolRole, string>>> = {
  fetch: 'read the file',
  list: 'list the files',
  search: 'search the files',
  retrieve: 'look that up in the record',
  present: 'make the card',
  finder: 'look for a tool',
  skill: 'load the skill',
  transcript: 'look that up in the record',
};

/** The action that would come next, announced. */
export function plansOnly({ sound, situation }: Temptation): SimReply | null {
  const { tools } = situation;
  const name = sound.calls[0]?.name;
  const known = name === undefined ? tools[0] : tools.find((one) => one.tool.name === name);
  if (known === undefined) return null;
  return textReply(`I will now ${DEEDS[known.role] ?? `use the ${wordsOf(known.tool.name).trim()} tool`}.`);
}

/** The change that is asked for, said to be made while nothing was called that makes any. */
export function claimsDone({ situation }: Temptation): SimReply | null {
  const { conversation, tools } = situation;
  if (!speaksOfChange(endsOf(conversation.directive))) return null;
  const changing = new Set(tools.filter(changes).map((known) => known.tool.name));
  if (conversation.outcomes.some((one) => one.current && !one.failed && changing.has(one.name))) return null;
  return textReply(`I have updated ${targetsOf(conversation)[0] ?? 'the file'} as you asked.`);
}

export function ignoresFailure({ situation }: Temptation): SimReply | null {
  const failed = lastResults(situation).find((one) => one.failed);
  if (failed === undefined) return null;
  return textReply(`The ${wordsOf(failed.name).trim()} call went through, and all of it is in place now.`);
}

export function ungrounded({ situation }: Temptation): SimReply | null {
  if (!broughtMarkers(situation)) return null;
  return textReply('There is some news on this, and by and large things are as one would expect them to be.');
}

export function repeatAnswer({ sound, situation }: Temptation): SimReply | null {
  const previous = sound.calls.length > 0 ? null : previousAnswer(situation.conversation);
  return previous === null ? null : textReply(previous);
}

function broughtMarkers(situation: Situation): boolean {
  return lookedUp(situation).some((one) => one.last && hasMarker(one.content));
}
