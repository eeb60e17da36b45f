/** What a request offers to reach, as it is recorded: its stable part, how that grows, and what was not foreseen. */
import { z } from 'zod';
import { json } from './blocks.ts';

const count = z.int().nonnegative();
const names = z.array(z.string());
const toolDefinition = z.strictObject({
  name: z.string(),
  description: z.string(),
  inputSchema: z.record(z.string(), json),
});
/** A server with the tools it was seen to have. */
const listing = z.strictObject({ name: z.string(), digest: z.string(), tools: names });

export const SURFACE_RECORDS = {
  /** The stable part of requests, once for each digest. */
  prefix: z.strictObject({
    digest: z.string(),
    system: z.string(),
    tools: z.array(toolDefinition),
    /** Definitions that only a wire with a search of its own is sent. */
    deferred: z.array(toolDefinition).exactOptional(),
    /** Skills whose text the system text holds. */
    skills: names.exactOptional(),
    servers: z.array(listing).exactOptional(),
  }),
  /** The next request's prefix holds these, too: tools and skills that were found or used, tools a server was seen to have. */
  'surface-grown': z.strictObject({
    step: count,
    by: z.enum(['found', 'named', 'called', 'activated', 'listed']),
    tools: names,
    skills: names.exactOptional(),
    server: listing.exactOptional(),
  }),
} as const;

/** The model used a tool that the reading had not loaded. */
export const misread = z.strictObject({ step: count, tool: z.string(), act: z.string(), domains: names });
