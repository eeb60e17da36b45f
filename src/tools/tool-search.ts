/** Finds tools by words: the name first, then whatever is said of them. */
import type { Tool } from './contract.ts';

const EXACT_NAME = 100;
const QUERY_IN_NAME = 20;
const QUERY_IN_FIELD = 10;
const TOKEN_IN_FIELD = 5;
/** Words of a query that count; each is looked for in every field of every tool. */
const MAX_TOKENS = 32;
const WORD = /[\p{L}\p{M}\p{N}]+/gu;

/** Tools that the query fits, best first, ties by name. */
export function searchTools(tools: readonly Tool[], query: string, limit: number): readonly Tool[] {
  const whole = plain(query.trim());
  const tokens = [...new Set(whole.match(WORD) ?? [])].slice(0, MAX_TOKENS);
  return tools
    .map((tool) => ({ tool, score: scoreOf(tool, whole, tokens) }))
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score || (a.tool.name < b.tool.name ? -1 : 1))
    .slice(0, limit)
    .map(({ tool }) => tool);
}

function scoreOf(tool: Tool, query: string, tokens: readonly string[]): number {
  if (query === '') return 0;
  const name = plain(tool.name);
  const fields = [name, plain(tool.description), ...propertiesOf(tool).map(plain)];
  const holds = (text: string): boolean => fields.some((field) => field.includes(text));
  return (
    (name === query ? EXACT_NAME : 0) +
    (name.includes(query) ? QUERY_IN_NAME : 0) +
    (holds(query) ? QUERY_IN_FIELD : 0) +
    tokens.filter(holds).length * TOKEN_IN_FIELD
  );
}

function propertiesOf({ inputSchema: { properties } }: Tool): readonly string[] {
  if (typeof properties !== 'object' || properties === null || Array.isArray(properties)) return [];
  return Object.keys(properties);
}

function plain(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}
