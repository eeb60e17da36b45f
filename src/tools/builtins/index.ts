/** The tools every deployment has. */
import type { Tool } from '../contract.ts';
import { contextTool } from './context.ts';
import { delegateTool } from './delegate.ts';
import { findToolsTool } from './find-tools.ts';
import { globTool } from './glob.ts';
import { grepTool } from './grep.ts';
import { readTool } from './read.ts';
import { recallTool } from './recall.ts';
import { sessionSearchTool } from './session-search.ts';
import { transcriptTool } from './transcript.ts';

export function builtinTools(): readonly Tool[] {
  return [
    contextTool,
    delegateTool,
    findToolsTool,
    globTool,
    grepTool,
    readTool,
    recallTool,
    sessionSearchTool,
    transcriptTool,
  ];
}
