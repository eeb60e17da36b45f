/** Anthropic messages: reading a request. https://platform.claude.com/docs/en/api/messages */
import type { ChatMessage } from '../../context/request.ts';
import { type Breakpoint, LONG_LIFE_MS, SHORT_LIFE_MS } from '../prefix-cache.ts';
import type { ToolChoice } from '../prompt.ts';
import { asArray, asNumber, asObject, asString, type Untyped } from '../untyped.ts';
import { anthropicInvalid } from './anthropic-failure.ts';
import { type Block, readMessages } from './anthropic-messages.ts';
import { checkTranscript } from './anthropic-rules.ts';
import { checkSearches } from './anthropic-search-rules.ts';
import { readTools } from './anthropic-tools.ts';
import type { WireRequest } from './contract.ts';

const MAX_BREAKPOINTS = 4;
const MIN_THINKING_TOKENS = 1_024;

/** @param sign the signature this provider gives to a thinking text. */
export function parseAnthropic(body: Untyped, sign: (thinking: string) => string): WireRequest {
  const model = asString(body.model);
  if (model === null) throw anthropicInvalid('model: Field required');
  const maxTokens = asNumber(body.max_tokens);
  if (maxTokens === null) throw anthropicInvalid('max_tokens: Field required');
  if (maxTokens < 1) {
    throw anthropicInvalid('max_tokens: Input should be greater than or equal to 1');
  }
  const values = asArray(body.messages);
  if (values === null) throw anthropicInvalid('messages: Field required');
  const thinking = readThinking(asObject(body.thinking), maxTokens);
  const turns = readMessages(values, sign);
  checkTranscript(turns, thinking === 'enabled');
  const tools = readTools(body.tools);
  checkSearches(turns, tools.names);
  const system = readSystem(body.system);
  const blocks: readonly Block[] = turns.flatMap((turn) => turn.blocks);
  const marks = [...tools.marks, ...system.marks, ...blocks.map((block) => block.cacheControl)].map(lifeOf);
  return {
    model,
    stream: body.stream === true,
    prompt: {
      tools: tools.loaded,
      ...(tools.search === null ? {} : { search: tools.search }),
      system: system.texts,
      messages: turns.map(
        (turn) => ({ role: turn.role, content: turn.blocks.map((block) => block.block) }) as ChatMessage,
      ),
    },
    breakpoints: breakpointsOf(marks, lifeOf(body.cache_control)),
    maxTokens,
    toolChoice: readToolChoice(body.tool_choice),
    parallelCalls: asObject(body.tool_choice)?.disable_parallel_tool_use !== true,
    thinking: thinking !== 'disabled',
    streamUsage: true,
    context: null,
    exchange: null,
  };
}

/** One mark per segment in prompt order: the life of its breakpoint, or null. */
function breakpointsOf(marks: readonly (number | null)[], automatic: number | null): readonly Breakpoint[] {
  const found: Breakpoint[] = [];
  for (const [segment, lifeMs] of marks.entries()) if (lifeMs !== null) found.push({ segment, lifeMs });
  const last = marks.length - 1;
  if (automatic !== null && marks[last] === null) found.push({ segment: last, lifeMs: automatic });
  if (found.length <= MAX_BREAKPOINTS) return found;
  throw anthropicInvalid(
    `A maximum of ${MAX_BREAKPOINTS} blocks with cache_control may be provided. Found ${found.length}.`,
  );
}

function lifeOf(cacheControl: unknown): number | null {
  const control = asObject(cacheControl);
  if (control === null) return null;
  return control.ttl === '1h' ? LONG_LIFE_MS : SHORT_LIFE_MS;
}

function readSystem(value: unknown): {
  readonly texts: readonly string[];
  readonly marks: readonly unknown[];
} {
  if (typeof value === 'string')
    return value === '' ? { texts: [], marks: [] } : { texts: [value], marks: [null] };
  const blocks = (asArray(value) ?? []).map((block) => asObject(block));
  const texts = blocks.map((block, index) => {
    const text = asString(block?.text);
    if (text === null) throw anthropicInvalid(`system.${index}.text: Field required`);
    if (text === '') throw anthropicInvalid('system: text content blocks must be non-empty');
    return text;
  });
  return { texts, marks: blocks.map((block) => block?.cache_control) };
}

function readToolChoice(value: unknown): ToolChoice {
  const choice = asObject(value);
  const name = asString(choice?.name);
  if (choice?.type === 'tool' && name !== null) return { kind: 'named', name };
  if (choice?.type === 'any') return { kind: 'required' };
  return { kind: choice?.type === 'none' ? 'none' : 'auto' };
}

type Thinking = 'disabled' | 'adaptive' | 'enabled';

function readThinking(value: Untyped | null, maxTokens: number): Thinking {
  if (value === null || value.type === 'disabled') return 'disabled';
  if (value.type === 'adaptive') return 'adaptive';
  const budget = asNumber(value.budget_tokens);
  if (budget === null) throw anthropicInvalid('thinking.enabled.budget_tokens: Field required');
  if (budget < MIN_THINKING_TOKENS) {
    throw anthropicInvalid(
      `thinking.enabled.budget_tokens: Input should be greater than or equal to ${MIN_THINKING_TOKENS}`,
    );
  }
  if (budget >= maxTokens)
    throw anthropicInvalid('`max_tokens` must be greater than `thinking.budget_tokens`.');
  return 'enabled';
}
