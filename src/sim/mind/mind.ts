/**
 * The simulated model's mind: a pure function of the rendered request and a seed. It knows nothing but what
 * the request says, understands tools from their schemas, and answers by quoting. What it does is sound; habits,
 * where a model has any, put a faulty reply in the place of the sound one.
 */
import type { SimHabits } from '../contract.ts';
import type { SimPrompt, ToolChoice } from '../prompt.ts';
import { settled } from './answering.ts';
import { type Conversation, callKey, endsOf, readConversation } from './conversation.ts';
import { formFinds, skillCalls } from './discovering.ts';
import { managingSteps, repairedCall } from './evicting.ts';
import { passagesOf, unitsOf } from './evidence.ts';
import { aboutImages, finalText, shortens, tailOf } from './final-text.ts';
import { manage } from './habits/managing.ts';
import { misbehave, THOUGHT } from './habits.ts';
import { mannered } from './manners.ts';
import { forcedTool, instructed, orderedCall } from './ordering.ts';
import { nextCalls } from './planning.ts';
import { asksForPresent, isTimeWord, speaksOfPresent } from './present-time.ts';
import { aboutSubject, present, presenterFor } from './presenting.ts';
import { callReply, type SimReply, textReply } from './reply.ts';
import { asks, observations, type PlannedCall, type Situation, silentNames } from './situation.ts';
import { describeTools, type KnownTool } from './toolbox.ts';

export interface MindInput {
  readonly prompt: SimPrompt;
  /** Tells one request from another for the seeded behaviours. */
  readonly key: string;
  readonly seed: number;
  readonly beyondHorizon: boolean;
  readonly toolChoice: ToolChoice;
  readonly parallelCalls: boolean;
  readonly thinksAloud: boolean;
  readonly habits: SimHabits;
}

const MAX_TOOL_STEPS = 4;

export function think(input: MindInput): SimReply {
  const conversation = readConversation(input.prompt);
  const tools = input.toolChoice.kind === 'none' ? [] : describeTools(input.prompt.tools);
  const presenter = presenterFor(conversation, tools);
  const situation = situate(conversation, presenter, tools);
  const forced = forcedTool(input.toolChoice, tools, conversation);
  const sound =
    forced === undefined
      ? decide(situation, presenter, input)
      : calling([instructed(forced, conversation)], input);
  const { seed, key, habits } = input;
  const reach = input.beyondHorizon || shortens(situation) ? 'none' : forced === undefined ? 'all' : 'calls';
  const given = { sound, situation, seed, key };
  const managed = reach === 'all' ? manage(given, habits) : null;
  const reply = managed ?? misbehave(given, habits, reach) ?? sound;
  return input.thinksAloud ? { ...reply, thinking: THOUGHT } : reply;
}

function decide(situation: Situation, presenter: KnownTool | undefined, input: MindInput): SimReply {
  const { conversation, tools } = situation;
  if (input.beyondHorizon) return textReply(tailOf(conversation));
  const order = orderedCall(tools, conversation);
  if (order !== null) return calling([order], input);
  const repaired = repairedCall(situation);
  if (repaired !== null) return calling([repaired], input);
  const steps = conversation.steps - managingSteps(situation);
  if (steps < MAX_TOOL_STEPS && tools.length > 0 && !aboutImages(conversation)) {
    const calls = unmade(preparing(situation, presenter), conversation);
    if (calls.length > 0) return calling(calls, input);
    const wanted = asks(situation) || presenter !== undefined;
    const next = wanted && !settled(situation) ? nextCalls(situation) : [];
    if (next.length > 0) return calling(next, input);
  }
  const shown = presenter === undefined || unseen(situation) ? null : present(presenter, situation);
  if (shown === null) return textReply(finalText(situation));
  return typeof shown === 'string' ? textReply(mannered(shown, situation)) : calling([shown], input);
}

/** What must be at hand before anything is looked for: a skill, the tool of the form that is asked for. */
function preparing(situation: Situation, presenter: KnownTool | undefined): readonly PlannedCall[] {
  const skills = skillCalls(situation);
  return skills.length > 0 || presenter !== undefined ? skills : formFinds(situation);
}

/** No card shows a value as it stands now before anything was looked at. */
function unseen(situation: Situation): boolean {
  return situation.asOfNow && observations(situation).length === 0;
}

function unmade(calls: readonly PlannedCall[], { made }: Conversation): readonly PlannedCall[] {
  return calls.filter((call) => !made.has(callKey(call.name, call.args)));
}

/** Evidence is scored only when something asks for it. */
function situate(
  whole: Conversation,
  presenter: KnownTool | undefined,
  tools: readonly KnownTool[],
): Situation {
  const isOfNow =
    asksForPresent(endsOf(whole.directive)) || whole.corrections.some(({ text }) => speaksOfPresent(text));
  const about = aboutSubject(whole, presenter);
  const terms = isOfNow ? about.terms.filter((term) => !isTimeWord(term.word)) : about.terms;
  const conversation = { ...about, terms };
  let units: Situation['units'] | null = null;
  return {
    conversation,
    tools,
    asOfNow: isOfNow,
    subject: { text: conversation.directive, terms, shapes: conversation.shapes },
    get units() {
      units ??= unitsOf(
        passagesOf(conversation, silentNames(tools)).filter((one) => !isOfNow || one.origin === 'result'),
        terms,
      );
      return units;
    },
  };
}

function calling(calls: readonly PlannedCall[], input: MindInput): SimReply {
  return callReply(input.parallelCalls ? calls : calls.slice(0, 1));
}
