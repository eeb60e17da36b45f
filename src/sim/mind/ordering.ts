/** Calls the caller or the text orders, and how their arguments follow from the words of the order. */
import type { ToolChoice } from '../prompt.ts';
import { fillArguments, type Subject } from './arguments.ts';
import { type Conversation, callKey } from './conversation.ts';
import { orderedEdit } from './evicting.ts';
import { listedIn } from './listed.ts';
import { searchCall } from './recalling.ts';
import type { PlannedCall } from './situation.ts';
import { statedValues } from './stated.ts';
import { affinity, type KnownTool, mentions, ordered } from './toolbox.ts';
import { orderedLookup } from './transcribing.ts';

const ASKS_FOR_CALL = /\b(?:call|use|invoke|run)\b/i;

/** `required` without a plan still calls: the tool that shares most with the directive. */
export function forcedTool(
  choice: ToolChoice,
  tools: readonly KnownTool[],
  conversation: Conversation,
): KnownTool | undefined {
  if (choice.kind === 'named') return tools.find((known) => known.tool.name === choice.name);
  if (choice.kind !== 'required') return undefined;
  const { terms } = conversation;
  return tools.toSorted((left, right) => affinity(right, terms) - affinity(left, terms))[0];
}

/** The call the last text orders, by the tool's name; with a single tool offered, the order alone is enough. */
export function orderedCall(tools: readonly KnownTool[], conversation: Conversation): PlannedCall | null {
  const { lastNote, outcomes, system, made, standing, directive } = conversation;
  // A correction proposes; whether what it names is called, and with what, is planned like any other call.
  const order = standing === null ? lastNote : directive;
  const named = tools.filter((known) => ordered(known.tool.name, order));
  const [only] = tools;
  const single = tools.length === 1 && only?.role === 'other' && ASKS_FOR_CALL.test(`${order}\n${system}`);
  const chosen = named[0] ?? (single ? only : undefined);
  // What is shown must be found first.
  if (
    chosen === undefined ||
    chosen.role === 'present' ||
    (chosen.role === 'fetch' && conversation.shapes.files.length > 0)
  )
    return null;
  const call = instructed(chosen, conversation);
  const answered = outcomes.some((one) => one.current && one.name === call.name && !one.failed);
  return answered || made.has(callKey(call.name, call.args)) ? null : call;
}

export function instructed(known: KnownTool, conversation: Conversation): PlannedCall {
  const { directive: text, terms, shapes } = conversation;
  if (known.role === 'transcript') return orderedLookup(known, text, terms);
  if (known.role === 'context') return orderedEdit(known, conversation);
  const subject: Subject = { text, terms, shapes };
  return (
    searchCall(known, subject) ?? {
      name: known.tool.name,
      args: fillArguments(
        known,
        { ...listedName(known, conversation), ...statedValues(known, conversation) },
        subject,
      ),
    }
  );
}

/** The listed server or skill the directive speaks of. */
function listedName(known: KnownTool, { directive, system }: Conversation) {
  const { key, role } = known;
  if (key === null || (role !== 'broker' && role !== 'skill')) return {};
  const kind = role === 'broker' ? 'server' : 'skill';
  const lower = directive.toLowerCase();
  const listed = listedIn(system).find(
    (one) => one.kind === kind && (mentions(directive, one.name) || lower.includes(one.name.toLowerCase())),
  );
  return listed === undefined ? {} : { [key.name]: listed.name };
}
