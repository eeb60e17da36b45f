/** The tools a server offers: read from its pages, in one order, with the digest that tells two lists apart. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { canonicalJson, type JsonObject } from '../../ledger/json.ts';
import { plainText } from './plain-text.ts';

/** Names are spelled into lists and calls, so they must be words. */
const NAME_FORM = /^[\w./:-]{1,128}$/;
/** A description is read with every list; a longer one is not for a model. */
const DESCRIPTION_CHARS = 2_000;
const MAX_TOOLS = 1_000;

export interface McpTool {
  readonly name: string;
  readonly description: string;
  readonly inputSchema: JsonObject;
}

export interface Listing {
  /** By name; no name twice. */
  readonly tools: readonly McpTool[];
  /** SHA-256 in hexadecimal over names, descriptions and schemas. */
  readonly digest: string;
  /** Tools that cannot be called: their names or schemas are none, or they are too many. */
  readonly leftOut: number;
}

const offered = z.looseObject({
  name: z.string().regex(NAME_FORM),
  description: z.string().default(''),
  inputSchema: z.record(z.string(), z.unknown()),
});

export const toolsPage = z.looseObject({
  tools: z.array(z.unknown()),
  nextCursor: z.string().optional(),
});

/** `mask` keeps secrets out of what is remembered, shown and hashed. */
export function listingOf(entries: readonly unknown[], mask: (text: string) => string): Listing {
  const byName = new Map<string, Read>();
  for (const entry of entries) {
    const read = readTool(entry, mask);
    if (read !== null && !byName.has(read.tool.name) && byName.size < MAX_TOOLS) {
      byName.set(read.tool.name, read);
    }
  }
  const sorted = [...byName.values()].sort((a, b) => (a.tool.name < b.tool.name ? -1 : 1));
  const hash = createHash('sha256');
  for (const { tool, schema } of sorted) hash.update(JSON.stringify([tool.name, tool.description, schema]));
  return {
    tools: sorted.map(({ tool }) => tool),
    digest: hash.digest('hex'),
    leftOut: entries.length - sorted.length,
  };
}

interface Read {
  readonly tool: McpTool;
  /** Canonical. */
  readonly schema: string;
}

function readTool(entry: unknown, mask: (text: string) => string): Read | null {
  const read = offered.safeParse(entry);
  if (!read.success) return null;
  const { name, description, inputSchema } = read.data;
  const words = mask(plainText(description)).trim();
  const schema = schemaText(inputSchema);
  if (schema === null) return null;
  const masked = mask(schema);
  const tool = {
    name: mask(name),
    description: words.length > DESCRIPTION_CHARS ? `${words.slice(0, DESCRIPTION_CHARS)}…` : words,
    inputSchema: JSON.parse(masked) as JsonObject,
  };
  return { tool, schema: masked };
}

/** null: so deeply nested that it cannot be written down. */
function schemaText(schema: Readonly<Record<string, unknown>>): string | null {
  try {
    return canonicalJson(schema);
  } catch {
    return null;
  }
}
