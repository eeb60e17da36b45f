/**
 * A turn as the transcript shows it: its items, each the messages it was made of, each message its typed parts. A part
 * holds what was recorded, whole and unescaped, whatever a request carried of it. What a model was not to read again
 * is in none: signatures of thinking, and replies that were sent back.
 */
import { steeredBy } from '../../context/assemble/open-turn.ts';
import { nudgeText } from '../../context/wording/wording.ts';
import type { AssistantBlock, InputBlock, TextBlock, ToolCallBlock } from '../../ledger/blocks.ts';
import { canonicalJson } from '../../ledger/json.ts';
import type { ToolStatus } from '../../ledger/kinds.ts';
import { isDiscarded, type StepView, type TurnView } from '../../ledger/view.ts';

export type Part =
  | { readonly type: 'text'; readonly text: string }
  | {
      readonly type: 'program';
      readonly tool: string;
      /** The arguments as canonical JSON, or as they were written where that was no JSON object. */
      readonly source: string;
      readonly argNames: readonly string[];
    }
  | {
      readonly type: 'result';
      readonly tool: string;
      readonly callId: string;
      readonly status: ToolStatus;
      readonly evidence: string | null;
      readonly text: string;
    }
  | { readonly type: 'reasoning'; readonly text: string }
  | { readonly type: 'binary'; readonly mediaType: string; readonly bytes: number }
  /** Of a provider's own making: that it stood here is all that is said of it. */
  | { readonly type: 'custom'; readonly kind: string };

/** `tool`: the results of the calls of the message before. */
export interface TranscriptMessage {
  readonly role: 'user' | 'assistant' | 'tool';
  readonly parts: readonly Part[];
}

export interface TranscriptItem {
  readonly item: number;
  /** Number of its turn. */
  readonly turn: number;
  readonly role: 'user' | 'assistant';
  readonly messages: readonly TranscriptMessage[];
}

/**
 * The items of a turn, oldest first; none of one that never began. What the user said meanwhile belongs to the item
 * before the step that took it up, and what no step took up to the last. `bodies` are whole results by evidence id.
 */
export function itemsOf(turn: TurnView, bodies: ReadonlyMap<string, string>): readonly TranscriptItem[] {
  if (turn.item === null) return [];
  const prompt = { item: turn.item, role: 'user' as const, messages: [userMessage(turn.input)] };
  const replies = turn.steps.map((step) => ({
    item: step.item,
    role: 'assistant' as const,
    messages: stepMessages(turn, step, bodies),
  }));
  let said = 0;
  return [prompt, ...replies].map(({ item, role, messages }, index) => {
    const next = turn.steps[index];
    const upTo = next === undefined ? turn.steering.length : steeredBy(turn, next.step);
    const steering = turn.steering.slice(said, Math.max(said, upTo)).map(userMessage);
    said = Math.max(said, upTo);
    return { item, turn: turn.number, role, messages: [...messages, ...steering].filter(saysSomething) };
  });
}

function stepMessages(
  turn: TurnView,
  step: StepView,
  bodies: ReadonlyMap<string, string>,
): readonly TranscriptMessage[] {
  const stated = statedAt(turn, step);
  const reply = isDiscarded(turn, step) ? nudged(step) : standing(step, bodies);
  if (stated === null) return reply;
  return [...reply, { role: 'assistant', parts: [{ type: 'text', text: stated }] }];
}

function nudged({ nudge }: StepView): readonly TranscriptMessage[] {
  return nudge === null ? [] : [{ role: 'user', parts: [{ type: 'text', text: nudgeText(nudge) }] }];
}

function standing(step: StepView, bodies: ReadonlyMap<string, string>): readonly TranscriptMessage[] {
  const results = [...step.results.values()].toSorted((one, other) => one.index - other.index);
  return [
    { role: 'assistant', parts: step.content.flatMap(partsOf) },
    { role: 'tool', parts: results.map((result) => resultPart(result, bodies)) },
  ];
}

/** The system's answer, where it was given at this step. */
function statedAt({ statement, steps }: TurnView, { step }: StepView): string | null {
  if (statement === null) return null;
  const at = steps.some((other) => other.step === statement.step) ? statement.step : steps.at(-1)?.step;
  return at === step ? statement.text : null;
}

function userMessage(input: readonly InputBlock[]): TranscriptMessage {
  return { role: 'user', parts: input.flatMap(partsOf) };
}

function partsOf(block: AssistantBlock | InputBlock): readonly Part[] {
  switch (block.type) {
    case 'text':
      return textPart('text', block);
    case 'thinking':
      return textPart('reasoning', block);
    case 'tool_call':
      return [programPart(block)];
    case 'image':
      return [{ type: 'binary', mediaType: block.mediaType, bytes: decodedBytes(block.data) }];
    case 'native':
      return [{ type: 'custom', kind: block.by }];
    default:
      return unknownPart(block);
  }
}

function textPart(type: 'text' | 'reasoning', { text }: Pick<TextBlock, 'text'>): readonly Part[] {
  return text === '' ? [] : [{ type, text }];
}

function programPart({ name, args, raw }: ToolCallBlock): Part {
  const isObject = typeof args === 'object' && args !== null && !Array.isArray(args);
  const source = args === null && raw !== undefined ? raw : canonicalJson(args);
  return { type: 'program', tool: name, source, argNames: isObject ? Object.keys(args).sort() : [] };
}

function resultPart(
  { name, callId, status, evidence, windowed, content }: StepResult,
  bodies: ReadonlyMap<string, string>,
): Part {
  const whole = windowed && evidence !== null ? bodies.get(evidence) : undefined;
  return { type: 'result', tool: name, callId, status, evidence, text: whole ?? content };
}

type StepResult = StepView['results'] extends ReadonlyMap<number, infer Result> ? Result : never;

/** What base64 stands for, without decoding it. */
function decodedBytes(data: string): number {
  const padding = data.endsWith('==') ? 2 : data.endsWith('=') ? 1 : 0;
  return Math.floor((data.length * 3) / 4) - padding;
}

function saysSomething({ parts }: TranscriptMessage): boolean {
  return parts.length > 0;
}

function unknownPart(block: never): never {
  throw new TypeError(`no part of a transcript is made of ${JSON.stringify(block)}`);
}
