/** OpenAI Responses: reading a request. https://platform.openai.com/docs/api-reference/responses/create */
import type { ToolDefinition } from '../../context/request.ts';
import type { JsonObject } from '../../ledger/json.ts';
import type { ToolChoice } from '../prompt.ts';
import { asArray, asNumber, asObject, asString, type Untyped } from '../untyped.ts';
import type { WireRequest } from './contract.ts';
import { openaiInvalid } from './openai-failure.ts';
import { checkItems, messagesOf, readItems } from './responses-items.ts';
import { chainOf, type ResponsesMemory } from './responses-memory.ts';

const TOOL_NAME = /^[a-zA-Z0-9_-]+$/;
const MIN_OUTPUT_TOKENS = 16;

export function parseResponses(body: Untyped, memory: ResponsesMemory): WireRequest {
  const model = asString(body.model);
  if (model === null) {
    throw openaiInvalid("Missing required parameter: 'model'.", 'model', 'missing_required_parameter');
  }
  const maxTokens = readMaxTokens(body);
  const previousId = asString(body.previous_response_id);
  const previous = previousId === null ? null : memory.find(previousId);
  const items = readItems(inputOf(body), memory);
  const all = [...chainOf(previous), ...items];
  checkItems(all, items);
  const { system, messages } = messagesOf(all);
  // Instructions are not carried over from the reply that is continued.
  const instructions = asString(body.instructions);
  const reasoning = asObject(body.reasoning);
  // Replies that are not kept bring it by themselves; `include` is the older way to ask for it.
  const sealsReasoning =
    body.store === false || (asArray(body.include) ?? []).includes('reasoning.encrypted_content');
  return {
    model,
    stream: body.stream === true,
    prompt: {
      tools: readTools(body.tools),
      system: instructions === null ? system : [instructions, ...system],
      messages,
    },
    breakpoints: null,
    maxTokens,
    toolChoice: readToolChoice(body.tool_choice),
    parallelCalls: body.parallel_tool_calls !== false,
    thinking: (reasoning !== null && reasoning.effort !== 'none') || sealsReasoning,
    streamUsage: true,
    context: null,
    exchange: {
      body,
      store: body.store !== false,
      sealsReasoning,
      summarises: asString(reasoning?.summary) !== null,
      previous,
      items,
    },
  };
}

function inputOf(body: Untyped): readonly unknown[] {
  if (typeof body.input === 'string') return [{ role: 'user', content: body.input }];
  const input = asArray(body.input);
  if (input !== null || typeof body.previous_response_id === 'string') return input ?? [];
  throw openaiInvalid("Missing required parameter: 'input'.", 'input', 'missing_required_parameter');
}

/** null when the caller set no limit. */
function readMaxTokens(body: Untyped): number | null {
  const limit = asNumber(body.max_output_tokens);
  if (limit === null || limit >= MIN_OUTPUT_TOKENS) return limit;
  throw openaiInvalid(
    `Invalid 'max_output_tokens': integer below minimum value. Expected a value >= ${MIN_OUTPUT_TOKENS}, but got ${limit} instead.`,
    'max_output_tokens',
    'integer_below_min_value',
  );
}

/** A function stands flat in its tool; tools of the server's own are left out. */
function readTools(value: unknown): readonly ToolDefinition[] {
  return (asArray(value) ?? []).flatMap((item, index) => {
    const tool = asObject(item) ?? {};
    if (tool.type !== 'function') return [];
    const name = asString(tool.name);
    const path = `tools[${index}].name`;
    if (name === null) {
      throw openaiInvalid(`Missing required parameter: '${path}'.`, path, 'missing_required_parameter');
    }
    if (!TOOL_NAME.test(name)) {
      throw openaiInvalid(
        `Invalid '${path}': string does not match pattern. Expected a string that matches the pattern '${TOOL_NAME.source}'.`,
        path,
        'invalid_value',
      );
    }
    const inputSchema = asObject(tool.parameters) ?? { type: 'object', properties: {} };
    return [{ name, description: asString(tool.description) ?? '', inputSchema: inputSchema as JsonObject }];
  });
}

function readToolChoice(value: unknown): ToolChoice {
  if (value === 'none' || value === 'required') return { kind: value };
  const name = asString(asObject(value)?.name);
  return name === null ? { kind: 'auto' } : { kind: 'named', name };
}
