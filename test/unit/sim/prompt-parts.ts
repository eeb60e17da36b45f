/** Messages, tools and requests for tests of the mind. */
import type { ChatMessage, ToolDefinition } from '../../../src/context/request.ts';
import type { Json, JsonObject } from '../../../src/ledger/json.ts';
import { type MindInput, think } from '../../../src/sim/mind/mind.ts';

const text = { type: 'string' } as const;

function tool(
  name: string,
  description: string,
  properties: JsonObject,
  required = Object.keys(properties),
): ToolDefinition {
  return {
    name,
    description,
    inputSchema: { type: 'object', properties, required, additionalProperties: false },
  };
}

export const READ = tool('read', 'Returns the contents of one file.', { path: text });
export const GREP = tool('grep', 'Searches text files for lines that match a regular expression.', {
  pattern: text,
});
export const LOOK_UP = tool('look_up', 'Searches the web and returns what it says now.', { query: text });
export const WRITE = tool('write_note', 'Writes a note into the records.', { subject: text, body: text });
export const FIND_TOOLS = tool('find_tools', 'Finds tools that are not loaded yet by a query.', {
  query: text,
});
export const ACTIVATE = tool('activate_skill', 'Loads the instructions of a listed skill.', { name: text });
export const MCP = tool(
  'mcp',
  'Lists or calls the tools of a connected server.',
  { action: { type: 'string', enum: ['list', 'call'] }, server: text, tool: text },
  ['action', 'server'],
);
export const METRIC = tool(
  'emit_metric_card',
  'Shows one figure as a card.',
  { title: text, value: { anyOf: [{ type: 'number' }, text] }, unit: text },
  ['title', 'value'],
);
export const RESEARCH = tool(
  'emit_research_card',
  'Shows what was found out from several sources as a card.',
  {
    title: text,
    takeaways: { type: 'array', items: text, minItems: 1 },
    sources: {
      type: 'array',
      items: {
        type: 'object',
        properties: { title: text, url: { type: 'string', format: 'uri' } },
        required: ['title'],
      },
    },
  },
);

export function told(words: string): ChatMessage {
  return { role: 'user', content: [{ type: 'text', text: words }] };
}

export function answered(words: string): ChatMessage {
  return { role: 'assistant', content: [{ type: 'text', text: words }] };
}

export function exchange(
  id: string,
  name: string,
  args: Json,
  content: string,
  isError = false,
): readonly ChatMessage[] {
  return [
    { role: 'assistant', content: [{ type: 'tool_call', id, name, args }] },
    { role: 'user', content: [{ type: 'tool_result', callId: id, name, content, isError }] },
  ];
}

export interface Replied {
  readonly text: string;
  readonly thinking: string | null;
  readonly calls: readonly { readonly name: string; readonly args: JsonObject }[];
}

export type Overrides = Partial<Omit<MindInput, 'prompt'>> & { readonly system?: string };

export function ask(
  messages: readonly ChatMessage[],
  tools: readonly ToolDefinition[] = [],
  { system, ...overrides }: Overrides = {},
): Replied {
  const made = think({
    prompt: { system: system === undefined ? [] : [system], tools, messages },
    key: 'k',
    seed: 11,
    beyondHorizon: false,
    toolChoice: { kind: 'auto' },
    parallelCalls: true,
    thinksAloud: false,
    habits: {},
    ...overrides,
  });
  return {
    text: made.text,
    thinking: made.thinking,
    calls: made.calls.map((call) => ({ name: call.name, args: JSON.parse(call.argsText) as JsonObject })),
  };
}
