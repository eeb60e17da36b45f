/** The tools every deployment has. */
import type { Tool } from '../contract.ts';
import { contextTool } from './context.ts';
import { findToolsTool } from './find-tools.ts';
import { globTool } from './glob.ts';
import { grepTool } from './grep.ts';
import { readTool } from './read.ts';
import { recallTool } from './recall.ts';
import { sessionSearchTool } from './session-search.ts';

export function builtinTools(): readonly Tool[] {
  return [contextTool, findToolsTool, globTool, grepTool, readTool, recallTool, sessionSearchTool];
}
