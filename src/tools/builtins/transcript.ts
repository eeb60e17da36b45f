/** `transcript`: every item that the session recorded, whatever its requests still carry: listed, read back, searched. */
import { z } from 'zod';
import type { Tool } from '../contract.ts';
import { defineTool } from '../define.ts';
import { TRANSCRIPT } from '../surface.ts';
import { PAGE_ITEMS, readTranscriptCall } from './transcript-call.ts';

const TIMEOUT_MS = 60_000;
/** Before the tool's time is up, so that a long search still says how far it came. */
const SEARCH_DEADLINE_MS = 55_000;

/** What a model is shown. What is wrong with a call is said by its own reader, which knows what each op takes. */
const input = z.looseObject({
  op: z.enum(['index', 'read', 'grep']).describe('index lists items, read shows them, grep finds lines.'),
  items: z.array(z.int()).optional().describe('read, grep: numbers of items, such as [12, 13].'),
  pattern: z.string().optional().describe('grep: an expression in the syntax of RE2, matched line by line.'),
  after: z.int().optional().describe('index: items after this one.'),
  limit: z.int().optional().describe(`index: items to list, ${PAGE_ITEMS} unless given.`),
});

const transcript = defineTool({
  name: TRANSCRIPT,
  description:
    'Reads the whole transcript of this session, items that left your context included: lists items, reads them back, finds lines in them.',
  input,
  deferred: true,
  observes: false,
  effect: 'read',
  timeoutMs: TIMEOUT_MS,
  run: async (args, { memory, signal }) => {
    const reading = readTranscriptCall(args as Parameters<typeof readTranscriptCall>[0]);
    if (!reading.ok) return { content: reading.message, isError: true };
    const { call } = reading;
    switch (call.op) {
      case 'index':
        return memory.transcript.index(call);
      case 'read':
        return memory.transcript.read(call.items);
      case 'grep':
        return memory.transcript.grep(call, { deadlineMs: SEARCH_DEADLINE_MS, signal });
    }
  },
});

export const transcriptTool: Tool = {
  ...transcript,
  parse: (args) => {
    const reading = readTranscriptCall(args);
    return reading.ok ? { ok: true, args } : reading;
  },
};
