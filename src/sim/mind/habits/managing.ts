/** Customs of a model that manages its context: no faults, save that of naming wrongly what it would take out. */
import type { JsonObject } from '../../../ledger/json.ts';
import { CONTEXT_HABITS, type ContextHabit, type SimHabits } from '../../contract.ts';
import { draw } from '../../random.ts';
import { asObject } from '../../untyped.ts';
import type { Conversation } from '../conversation.ts';
import { contextTool, proposedCall, surveyCall, triedSince } from '../evicting.ts';
import { callReply, type SimReply } from '../reply.ts';
import type { PlannedCall } from '../situation.ts';
import type { Temptation } from './contract.ts';

const MISSPELLED_SHARE = 0.5;

const CUSTOMS: Readonly<Record<ContextHabit, (given: Temptation) => PlannedCall | null>> = {
  evictsWrongly,
  evictsWhenTold,
  surveys,
};

/** null when nothing of the context is looked after now. */
export function manage(given: Temptation, habits: SimHabits): SimReply | null {
  for (const name of CONTEXT_HABITS) {
    if (draw(given.seed, name, given.key) >= (habits[name] ?? 0)) continue;
    const call = CUSTOMS[name](given);
    if (call !== null) return callReply([call]);
  }
  return null;
}

/** Once for each reminder: with a misspelled member, or up to the item that the call itself stands in. */
function evictsWrongly({ situation, seed, key }: Temptation): PlannedCall | null {
  const call = triedSince(situation).length > 0 ? null : proposedCall(situation);
  if (call === null) return null;
  const { from, ...rest } = (asObject(call.args) ?? {}) as JsonObject;
  const open = openItem(situation.conversation);
  const misspells = open === null || draw(seed, 'misspelled', key) < MISSPELLED_SHARE;
  const args: JsonObject = misspells
    ? { ...rest, form: from ?? null }
    : { ...rest, from: from ?? 0, to: open };
  return { name: call.name, args };
}

/** Once for each reminder; again only after a refusal. */
function evictsWhenTold({ situation }: Temptation): PlannedCall | null {
  return triedSince(situation).length > 0 ? null : proposedCall(situation);
}

/** Once a turn. */
function surveys({ situation }: Temptation): PlannedCall | null {
  const { conversation, tools } = situation;
  const known = contextTool(tools);
  if (known === undefined) return null;
  const isDone = conversation.outcomes.some(
    (one) => one.current && one.name === known.tool.name && asObject(one.args)?.op === 'survey',
  );
  return isDone ? null : surveyCall(known);
}

/** The item behind the newest one that this turn's results are stamped with; null where none is. */
function openItem({ outcomes }: Conversation): number | null {
  const newest = outcomes.findLast((one) => one.current && one.item !== null)?.item ?? null;
  return newest === null ? null : newest + 1;
}
