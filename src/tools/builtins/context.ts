/** `context`: what a model's own requests carry, and how it takes a span out of them. Answered where its batch is settled. */
import { z } from 'zod';
import { TurnwrightError } from '../../ledger/errors.ts';
import type { Tool } from '../contract.ts';
import { defineTool } from '../define.ts';
import { CONTEXT } from '../surface.ts';

/** Loose, so that what is wrong with a call is said by the reader that knows the items. */
const input = z.looseObject({
  op: z
    .enum(['survey', 'evict'])
    .describe('survey lists what the context holds; evict takes a span out of it.'),
  from: z.int().optional().describe('First item to take out, such as 12 for #12.'),
  to: z.int().optional().describe('Last item to take out.'),
  note: z.string().optional().describe('One essential fact for yourself, one line; stands in their place.'),
});

const context = defineTool({
  name: CONTEXT,
  description:
    'Lists what your context holds, or takes items out of it that are not needed any more. What leaves stays in the transcript.',
  input,
  deferred: true,
  observes: false,
  effect: 'read',
  run: async () => {
    throw new TurnwrightError('internal', `${CONTEXT} was run as a job; it is answered in place.`);
  },
});

export const contextTool: Tool = { ...context, inHop: true };
