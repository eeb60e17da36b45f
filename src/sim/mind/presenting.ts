/** Shows what was found in the form that is asked for: one call of the tool of that form, then a short text. */
import type { Json } from '../../ledger/json.ts';
import { asObject, asString } from '../untyped.ts';
import { choose } from './answering.ts';
import { type Conversation, callKey } from './conversation.ts';
import { type Fact, factOf } from './facts.ts';
import { Filler } from './filler.ts';
import { asksForForm, formOf, formsOf } from './forms.ts';
import type { PlannedCall, Situation } from './situation.ts';
import { holds } from './terms.ts';
import { affinity, type KnownTool, mentions, ordered, wordsOf } from './toolbox.ts';

const ASKS_TO_SHOW =
  /\b(?:show|present|display|render|draw|plot|graph|chart|tabulate|put|give|make|create|emit|build|turn|write|as)\b/i;
const MAX_FACTS = 4;

/** The tool the last text or a correction names, else the one whose form the directive asks for. */
export function presenterFor(conversation: Conversation, tools: readonly KnownTool[]): KnownTool | undefined {
  const { directive, lastNote, terms, standing } = conversation;
  const presenters = tools.filter((known) => known.role === 'present');
  const named = presenters.find(
    ({ tool }) => ordered(tool.name, lastNote) || (standing !== null && mentions(standing.text, tool.name)),
  );
  if (named !== undefined) return named;
  if (!ASKS_TO_SHOW.test(directive)) return undefined;
  const formed = presenters.find(({ tool }) =>
    formsOf(tool.name).some((form) => asksForForm(directive, form)),
  );
  if (formed !== undefined || !asksForForm(directive, 'card')) return formed;
  return presenters.toSorted((left, right) => affinity(right, terms) - affinity(left, terms))[0];
}

/** Neither the form nor the order to show is a part of what is looked for. */
export function aboutSubject(conversation: Conversation, presenter: KnownTool | undefined): Conversation {
  if (presenter === undefined) return conversation;
  const form = `${wordsOf(presenter.tool.name)} card cards`;
  const terms = conversation.terms.filter((term) => !holds(form, term) && !ASKS_TO_SHOW.test(term.word));
  return { ...conversation, terms };
}

/** The call, the text after it, or null when there is nothing to show. One that failed is not made again unchanged. */
export function present(known: KnownTool, situation: Situation): PlannedCall | string | null {
  const { outcomes, made } = situation.conversation;
  const shown = outcomes.find((one) => one.current && one.name === known.tool.name && !one.failed);
  if (shown !== undefined) return closing(known, shown.args);
  const facts = factsOf(situation);
  if (facts.length === 0) return null;
  const call = cardOf(known, facts, situation);
  return made.has(callKey(call.name, call.args)) ? null : call;
}

export function cardOf(known: KnownTool, facts: readonly Fact[], situation: Situation): PlannedCall {
  const filler = new Filler(facts, situation);
  return { name: known.tool.name, args: filler.object(known.tool.inputSchema, facts) };
}

function closing({ tool }: KnownTool, args: Json): string {
  const title = asString(asObject(args)?.title);
  const form = formOf(tool.name);
  return title === null ? `The ${form} shows what was found.` : `The ${form} shows: ${title}.`;
}

/** What was found; else what the directive itself brings behind a colon or in lines. */
function factsOf(situation: Situation): readonly Fact[] {
  const found = choose(situation).map((unit) => factOf(unit.text, unit.path));
  if (found.length > 0) return found.slice(0, MAX_FACTS);
  const { directive } = situation.conversation;
  const colon = directive.indexOf(':');
  const own = colon === -1 ? '' : directive.slice(colon + 1);
  const items = own.includes('\n') ? own.split('\n') : own.split(/[;,]\s+/);
  return items
    .map((item) => item.trim())
    .filter((item) => item !== '')
    .map((item) => factOf(item, null));
}
