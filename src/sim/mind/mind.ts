/**
 * The simulated model's mind: a pure function of the rendered request and a seed. It knows nothing but what
 * the request says, understands tools from their schemas, and answers by quoting.
 */
import { canonicalJson } from '../../ledger/json.ts';
import { readImage } from '../images.ts';
import type { SimPrompt, ToolChoice } from '../prompt.ts';
import { draw } from '../random.ts';
import { answerText, settled } from './answering.ts';
import { fillArguments, type Subject } from './arguments.ts';
import { asksSomething, type Conversation, previousAnswer, readConversation } from './conversation.ts';
import { passagesOf, sentencesOf, unitsOf } from './evidence.ts';
import { nextCalls } from './planning.ts';
import { aboutSubject, present, presenterFor } from './presenting.ts';
import { searchCall } from './recalling.ts';
import { type SimReply, textReply } from './reply.ts';
import type { PlannedCall, Situation } from './situation.ts';
import { statedValues } from './stated.ts';
import { askedWords, summarise } from './summary.ts';
import { affinity, describeTools, type KnownTool, ordered } from './toolbox.ts';

export interface MindInput {
  readonly prompt: SimPrompt;
  /** Tells one request from another for the seeded behaviours. */
  readonly key: string;
  readonly seed: number;
  readonly beyondHorizon: boolean;
  readonly toolChoice: ToolChoice;
  readonly parallelCalls: boolean;
  readonly thinksAloud: boolean;
  readonly thinkingOnlyRate: number;
  readonly driftRate: number;
}

const MAX_TOOL_STEPS = 4;
const TAIL_SENTENCES = 3;
const SUMMARY_WORDS = 120;
const THOUGHT = 'Weighing what was asked against what the request holds.';
const ASKS_FOR_SUMMARY = /\b(?:summar|condens|compress|recap|hand-?off|digest)/i;
const ASKS_FOR_CALL = /\b(?:call|use|invoke|run)\b/i;
const ASKS_OF_IMAGE =
  /\b(?:images?|pictures?|photos?|screenshots?|dimensions?|width|height|pixels?|resolution|media type)\b/i;
export function think(input: MindInput): SimReply {
  if (draw(input.seed, 'thinking-only', input.key) < input.thinkingOnlyRate) {
    return { thinking: THOUGHT, text: '', calls: [] };
  }
  const reply = decide(input);
  return input.thinksAloud ? { ...reply, thinking: THOUGHT } : reply;
}

function decide(input: MindInput): SimReply {
  const { prompt, toolChoice } = input;
  const conversation = readConversation(prompt);
  const tools = toolChoice.kind === 'none' ? [] : describeTools(prompt.tools);
  const forced = forcedTool(toolChoice, tools, conversation);
  if (forced !== undefined) return callReply([instructed(forced, conversation)], input);
  if (input.beyondHorizon) return textReply(tailOf(conversation));
  const named = namedTool(tools, conversation);
  if (named !== undefined) return callReply([instructed(named, conversation)], input);
  const presenter = presenterFor(conversation, tools);
  const situation = situate(aboutSubject(conversation, presenter), tools);
  if (
    tools.length > 0 &&
    conversation.steps < MAX_TOOL_STEPS &&
    (asks(conversation) || presenter !== undefined) &&
    !aboutImages(conversation)
  ) {
    const calls = settled(situation) ? [] : nextCalls(situation);
    if (calls.length > 0) return callReply(calls, input);
  }
  const presented = presenter === undefined ? null : present(presenter, situation);
  if (presented !== null)
    return typeof presented === 'string' ? textReply(presented) : callReply([presented], input);
  const previous = previousAnswer(conversation);
  if (previous !== null && draw(input.seed, 'drift', input.key) < input.driftRate) return textReply(previous);
  return textReply(finalText(situation));
}

/** Evidence is scored only when something asks for it. */
function situate(conversation: Conversation, tools: readonly KnownTool[]): Situation {
  let units: Situation['units'] | null = null;
  return {
    conversation,
    tools,
    subject: { text: conversation.directive, terms: conversation.terms, shapes: conversation.shapes },
    get units() {
      units ??= unitsOf(passagesOf(conversation), conversation.terms);
      return units;
    },
  };
}

function finalText(situation: Situation): string {
  const { conversation, tools } = situation;
  if (aboutImages(conversation)) return imageText(conversation);
  const instruction = `${conversation.system}\n${conversation.directive}`;
  if (tools.length === 0 && ASKS_FOR_SUMMARY.test(instruction)) {
    return summarise(textToShorten(conversation), askedWords(instruction) ?? SUMMARY_WORDS);
  }
  if (!asks(conversation)) return acknowledge(conversation);
  return answerText(situation);
}

function asks(conversation: Conversation): boolean {
  const { directive, shapes } = conversation;
  return asksSomething(directive) || shapes.globs.length > 0 || shapes.files.length > 0;
}

function acknowledge({ directive }: Conversation): string {
  const [first] = sentencesOf(directive.replace(/\s+/g, ' ').trim());
  return first === undefined ? 'Nothing was asked.' : `Noted: ${first}`;
}

/** `required` without a plan still calls: the tool that shares most with the directive. */
function forcedTool(
  choice: ToolChoice,
  tools: readonly KnownTool[],
  conversation: Conversation,
): KnownTool | undefined {
  if (choice.kind === 'named') return tools.find((known) => known.tool.name === choice.name);
  if (choice.kind !== 'required') return undefined;
  const { terms } = conversation;
  return tools.toSorted((left, right) => affinity(right, terms) - affinity(left, terms))[0];
}

/** The tool the last text tells to call, by name; with a single tool offered, the order alone is enough. */
function namedTool(tools: readonly KnownTool[], conversation: Conversation): KnownTool | undefined {
  const { lastNote, outcomes, system } = conversation;
  const named = tools.filter((known) => ordered(known.tool.name, lastNote));
  const [only] = tools;
  const single = tools.length === 1 && only?.role === 'other' && ASKS_FOR_CALL.test(`${lastNote}\n${system}`);
  const chosen = named[0] ?? (single ? only : undefined);
  // What is shown must be found first.
  if (
    chosen === undefined ||
    chosen.role === 'present' ||
    (chosen.role === 'fetch' && conversation.shapes.files.length > 0)
  )
    return undefined;
  return outcomes.some((one) => one.current && one.name === chosen.tool.name) ? undefined : chosen;
}

function instructed(known: KnownTool, conversation: Conversation): PlannedCall {
  const { directive: text, terms, shapes } = conversation;
  const subject: Subject = { text, terms, shapes };
  return (
    searchCall(known, subject) ?? {
      name: known.tool.name,
      args: fillArguments(known, statedValues(known, conversation), subject),
    }
  );
}

function callReply(calls: readonly PlannedCall[], input: MindInput): SimReply {
  const made = input.parallelCalls ? calls : calls.slice(0, 1);
  return {
    thinking: null,
    text: '',
    calls: made.map((call) => ({ name: call.name, argsText: canonicalJson(call.args) })),
  };
}

/** What a model past its horizon does: goes on from the end of the text, whatever it was told. */
function tailOf(conversation: Conversation): string {
  const last = conversation.outcomes.findLast((one) => one.current)?.content ?? conversation.lastNote;
  const sentences = last
    .slice(-2_000)
    .split('\n')
    .flatMap(sentencesOf)
    .filter((one) => one.trim() !== '');
  return `From the last lines: ${sentences.slice(-TAIL_SENTENCES).join(' ')}`;
}

function textToShorten({ directive, said, outcomes }: Conversation): string {
  const [instruction = '', ...rest] = directive.split('\n');
  // An instruction on its own line, or none: the directive holds the text itself.
  if (rest.join('').trim() !== '') return ASKS_FOR_SUMMARY.test(instruction) ? rest.join('\n') : directive;
  const earlier = [...said.map((one) => one.text), ...outcomes.map((one) => one.content)].join('\n');
  return earlier.trim() === '' ? directive : earlier;
}

function aboutImages({ images, directive }: Conversation): boolean {
  return images.length > 0 && ASKS_OF_IMAGE.test(directive);
}

function imageText({ images }: Conversation): string {
  const lines = images.map((image, index) => {
    const facts = readImage(image.data);
    const name = images.length === 1 ? 'The image' : `Image ${index + 1}`;
    if (facts === null) return `${name} is sent as ${image.mediaType}; its header cannot be read.`;
    return `${name} is ${facts.mediaType}, ${facts.width} pixels wide and ${facts.height} pixels high.`;
  });
  return lines.join(' ');
}
