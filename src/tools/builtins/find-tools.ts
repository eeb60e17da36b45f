/** `find_tools`: the tools a session may call that are not loaded, by words. Answered where its batch is settled. */
import { z } from 'zod';
import { TurnwrightError } from '../../ledger/errors.ts';
import type { Tool } from '../contract.ts';
import { defineTool } from '../define.ts';
import { FIND_TOOLS } from '../surface.ts';
import { tolerateBlanks } from './blanks.ts';

export const DEFAULT_FOUND_TOOLS = 5;
export const MAX_FOUND_TOOLS = 50;

export const findToolsInput = z.strictObject({
  query: z.string().describe('A name, or words of what the tool should do.'),
  limit: z.int().optional().describe(`Tools to find, ${DEFAULT_FOUND_TOOLS} unless given.`),
});

const findTools = defineTool({
  name: FIND_TOOLS,
  description: 'Finds tools that are not loaded, by a query, and loads them.',
  input: findToolsInput,
  alwaysLoaded: true,
  observes: false,
  effect: 'read',
  run: async () => {
    throw new TurnwrightError('internal', `${FIND_TOOLS} was run as a job; it is answered in place.`);
  },
});

export const findToolsTool: Tool = tolerateBlanks({ ...findTools, inHop: true }, ['limit']);
