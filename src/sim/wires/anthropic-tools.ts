/** Anthropic messages: reading the tools of a request, loaded, deferred and the search for the deferred ones. */
import type { ToolDefinition } from '../../context/request.ts';
import type { JsonObject } from '../../ledger/json.ts';
import type { ToolSearch } from '../prompt.ts';
import { asArray, asObject, asString, type Untyped } from '../untyped.ts';
import { anthropicInvalid } from './anthropic-failure.ts';
import { SEARCH_NAME, SEARCH_TYPES } from './anthropic-search.ts';

const TOOL_NAME = /^[a-zA-Z0-9_-]{1,128}$/;

export interface WireTools {
  readonly loaded: readonly ToolDefinition[];
  /** null where the request offers no search: what it defers, the model never sees. */
  readonly search: ToolSearch | null;
  /** Of all tools, deferred ones included. */
  readonly names: ReadonlySet<string>;
  /** `cache_control` of what stands in the prompt: each loaded tool's, then the search tool's. */
  readonly marks: readonly unknown[];
}

/** Other tools that the provider runs are passed over. */
export function readTools(value: unknown): WireTools {
  const loaded: ToolDefinition[] = [];
  const deferred: ToolDefinition[] = [];
  const marks: unknown[] = [];
  const names = new Set<string>();
  let search: Untyped | null = null;
  const items = asArray(value) ?? [];
  refuseAllDeferred(items);
  for (const [index, item] of items.entries()) {
    const tool = asObject(item);
    if (tool !== null && SEARCH_TYPES.includes(tool.type)) search = readSearch(tool, index);
    if (tool !== null && tool.type !== undefined && tool.type !== 'custom') continue;
    const definition = readTool(tool, index);
    if (names.has(definition.name)) throw anthropicInvalid('tools: Tool names must be unique.');
    names.add(definition.name);
    if (isDeferred(tool)) deferred.push(definition);
    else {
      loaded.push(definition);
      marks.push(tool?.cache_control);
    }
  }
  if (search === null) return { loaded, search, names, marks };
  return {
    loaded,
    search: { name: SEARCH_NAME, deferred },
    names,
    marks: [...marks, search.cache_control],
  };
}

function refuseAllDeferred(items: readonly unknown[]): void {
  if (items.length === 0 || !items.every((item) => isDeferred(asObject(item)))) return;
  throw anthropicInvalid('At least one tool must have defer_loading=false. All tools cannot be deferred.');
}

function readTool(tool: Untyped | null, index: number): ToolDefinition {
  const schema = asObject(tool?.input_schema);
  const name = asString(tool?.name) ?? '';
  if (tool === null || schema === null) {
    throw anthropicInvalid(`tools.${index}.custom.input_schema: Field required`);
  }
  if (schema.type !== 'object') {
    throw anthropicInvalid(`tools.${index}.custom.input_schema.type: Input should be 'object'`);
  }
  if (!TOOL_NAME.test(name)) {
    throw anthropicInvalid(`tools.${index}.custom.name: String should match pattern '${TOOL_NAME.source}'`);
  }
  if (isDeferred(tool) && asObject(tool.cache_control) !== null) {
    throw anthropicInvalid(
      `Tool '${name}' cannot have both defer_loading=true and cache_control set. Tools with defer_loading cannot use prompt caching.`,
    );
  }
  return { name, description: asString(tool.description) ?? '', inputSchema: schema as JsonObject };
}

function readSearch(tool: Untyped, index: number): Untyped {
  const path = `tools.${index}.${String(tool.type)}`;
  if (tool.name !== SEARCH_NAME) throw anthropicInvalid(`${path}.name: Input should be '${SEARCH_NAME}'`);
  if (isDeferred(tool)) throw anthropicInvalid(`${path}.defer_loading: the search tool cannot be deferred`);
  return tool;
}

function isDeferred(tool: Untyped | null): boolean {
  return tool?.defer_loading === true;
}
