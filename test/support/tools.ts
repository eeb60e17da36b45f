/** Tools a test holds in its hand: each run waits until the test lets it go on. */
import { z } from 'zod';
import type { Tool, ToolEffect } from '../../src/tools/contract.ts';
import { defineTool } from '../../src/tools/define.ts';
import { gate } from './await.ts';

export interface HeldRun {
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
  release(): void;
}

export interface HeldTool {
  readonly tool: Tool;
  /** Every run so far, in order of their starts. */
  readonly runs: readonly HeldRun[];
  /** Later runs, and those that wait, go on at once. */
  releaseAll(): void;
}

const SAID = 'The gate is open.';

export function heldTool(name: string, effect: ToolEffect, approval = false): HeldTool {
  const runs: HeldRun[] = [];
  let free = false;
  const tool = defineTool({
    name,
    description: `Waits at the ${name}.`,
    input: z.strictObject({}),
    effect,
    approval,
    run: async (_, { idempotencyKey, signal }) => {
      const hold = gate();
      runs.push({ idempotencyKey, signal, release: hold.open });
      if (free) hold.open();
      await hold.opened;
      return SAID;
    },
  });
  return {
    tool,
    runs,
    releaseAll: () => {
      free = true;
      for (const run of runs) run.release();
    },
  };
}

/** A tool that says one sentence. */
export function sayingTool(name: string, description: string, says: string, runs: string[] = []): Tool {
  return defineTool({
    name,
    description,
    input: z.strictObject({}),
    effect: 'read',
    run: async (_, { idempotencyKey }) => {
      runs.push(idempotencyKey);
      return says;
    },
  });
}
