/** What a reply is judged by, gathered where the step ran: tools, words, what was found, what was answered before. */

import { givenIn } from '../checks/cited-source.ts';
import { askedIn, type JudgedTool, type Judging } from '../checks/judged.ts';
import { checkLexiconFor } from '../checks/lexicon/index.ts';
import { createCards } from '../context/cards/registry.ts';
import type { ChatMessage, ChatReply } from '../context/request.ts';
import { formsAsked } from '../intent/forms.ts';
import { lexiconFor } from '../intent/lexicon/index.ts';
import { scannedText } from '../intent/scanned.ts';
import type { AssistantBlock } from '../ledger/blocks.ts';
import type { BodyOf } from '../ledger/kinds.ts';
import { type TurnView, visibleText } from '../ledger/view.ts';
import { type EarlierDeps, earlierAnswer, type OpenPlace } from '../runtime/earlier-answers.ts';
import { isAdmitted } from '../runtime/session-plan.ts';
import type { SessionConfig } from '../runtime/sessions.ts';
import type { Tool } from '../tools/contract.ts';
import type { Ending, StopCondition } from '../tools/stop-condition.ts';
import type { WorkerDeps } from './deps.ts';
import type { Stage } from './step-result.ts';

/** Tools that a correction names. */
const NAMED_LOOKUPS = 4;

export async function judgingOf(
  deps: WorkerDeps,
  stage: Stage,
  config: SessionConfig,
  reply: Pick<ChatReply, 'finish'> & { readonly content: readonly AssistantBlock[] },
): Promise<Judging> {
  const { prepared, claim } = stage;
  const turn = prepared.open;
  const text = visibleText(reply.content);
  const tools = deps.surface.all().filter((tool) => isAdmitted(config, tool));
  const byName = new Map(tools.map((tool): [string, JudgedTool] => [tool.name, judged(tool)]));
  const wholes = wholesOf(claim.records);
  const cards = createCards(deps.host.engine.cards.all.filter(({ tool }) => byName.has(tool)));
  const { locale = null } = config;
  return {
    turn,
    reply,
    degraded: prepared.plan.degraded,
    lexicon: checkLexiconFor(locale),
    cards,
    toolOf: (name) => byName.get(name),
    tools: [...byName.keys()],
    lookups: lookupsOf(tools),
    canObserve: tools.some((tool) => tool.traitsOf({}).observes),
    canChange: tools.some((tool) => tool.effect !== 'read' && !tool.inHop),
    forms: formsAsked(
      scannedText(visibleText(turn.input), turn.reading?.pasted ?? []),
      cards.all.map(({ type }) => type),
      lexiconFor(locale),
    ),
    wholes,
    isGiven: givenTo(prepared.assembled.request.messages, wholes),
    earlier: await earlierAnswer(earlierDeps(deps), placeOf(stage), text),
    unmetConditions: unmetIn(deps.conditions ?? [], turn, text),
  };
}

export function earlierDeps({ host: { engine }, turns }: WorkerDeps): EarlierDeps {
  return { store: engine.store, indexes: engine.indexes, turns };
}

/** Where the turn stands among those of its head. */
export function placeOf({ claim, place, prepared }: Stage): OpenPlace {
  const { tenant, session, epoch } = claim.loaded.session;
  const { continues } = prepared.plan;
  return { tenant, session, epoch, head: place.head, number: place.number, continues };
}

function judged(tool: Tool): JudgedTool {
  return {
    approval: tool.approval,
    inHop: tool.inHop,
    byClient: tool.byClient,
    fits: (args) => tool.parse(args).ok,
    traitsOf: (args) => tool.traitsOf(args),
  };
}

/** Those that bring text from outside; one that says nothing of what it serves may. */
function lookupsOf(tools: readonly Tool[]): readonly string[] {
  return tools
    .filter((tool) => {
      const { observes, retrieves } = tool.traitsOf({});
      return retrieves || (observes && tool.serves.length === 0 && !tool.inHop);
    })
    .slice(0, NAMED_LOOKUPS)
    .map(({ name }) => name);
}

/** Results that were shown in part, whole, by evidence id. */
function wholesOf(records: Stage['claim']['records']): ReadonlyMap<string, string> {
  return new Map(
    records.flatMap(({ kind, body }): [string, string][] => {
      if (kind !== 'evidence-body') return [];
      const { evidence, content } = JSON.parse(body) as BodyOf<'evidence-body'>;
      return [[evidence, content]];
    }),
  );
}

/** Read only where a card names a source. */
function givenTo(messages: readonly ChatMessage[], wholes: ReadonlyMap<string, string>): Judging['isGiven'] {
  let given: Judging['isGiven'] | null = null;
  return (sought) => {
    given ??= givenIn([...messages.flatMap(textsOf), ...wholes.values()]);
    return given(sought);
  };
}

function textsOf({ content }: ChatMessage): readonly string[] {
  return content.flatMap((block) => {
    if (block.type === 'text') return [block.text];
    return block.type === 'tool_result' ? [block.content] : [];
  });
}

function unmetIn(conditions: readonly StopCondition[], turn: TurnView, text: string): readonly string[] {
  if (conditions.length === 0) return [];
  const calls = turn.steps.flatMap(({ results }) =>
    [...results.values()].map(({ name, status }) => ({ tool: name, ok: status === 'ok' })),
  );
  const ending = { asked: askedIn(turn), text, calls };
  return conditions.flatMap((condition) => (holds(condition, ending) ? [] : [condition.name]));
}

function holds(condition: StopCondition, ending: Ending): boolean {
  try {
    return condition.isMet(ending);
  } catch {
    return true;
  }
}
