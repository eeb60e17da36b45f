/** The tools of a world, one for each effect a tool may have. Each notes its effect halfway through its run. */
import { z } from 'zod';
import type { Tool } from '../../../src/tools/contract.ts';
import { defineTool, type ToolSpec } from '../../../src/tools/define.ts';
import type { Dice } from './dice.ts';
import type { Owner, Scheduler } from './scheduler.ts';
import type { Witness } from './witness.ts';

const input = z.strictObject({ bytes: z.int() });
type Kind = Pick<ToolSpec<typeof input>, 'name' | 'effect' | 'approval' | 'timeoutMs' | 'onUnknown'>;

const STALL_MS = 1_500;
const QUICK_MS = 400;
const SLOW_MS = 5_000;
const SLOW_RUNS = 0.15;
const KINDS: readonly Kind[] = [
  { name: 'look', effect: 'read' },
  { name: 'store', effect: 'idempotent' },
  { name: 'spend', effect: 'once' },
  { name: 'gamble', effect: 'once', onUnknown: 'ask' },
  { name: 'grant', effect: 'once', approval: true },
  { name: 'break', effect: 'read' },
  { name: 'stall', effect: 'read', timeoutMs: STALL_MS },
];

/** Declared once: only what a run does differs between processes. */
const DECLARED: readonly Tool[] = KINDS.map((kind) =>
  defineTool({ ...kind, description: `Does ${kind.name}.`, input, run: () => Promise.resolve('') }),
);

export interface ToolsOptions {
  readonly scheduler: Scheduler;
  readonly dice: Dice;
  readonly witness: Witness;
}

/** As one process runs them. */
export function toolsOf(owner: Owner, { scheduler, dice, witness }: ToolsOptions): readonly Tool[] {
  const pass = () =>
    new Promise<void>((resolve) => {
      scheduler.after(dice.between(1, dice.chance(SLOW_RUNS) ? SLOW_MS : QUICK_MS), owner, resolve);
    });
  return DECLARED.map((tool) => ({
    ...tool,
    run: async (args, { idempotencyKey }) => {
      await pass();
      witness.effects.push({ process: owner.name, tool: tool.name, key: idempotencyKey });
      if (tool.name === 'break') throw new Error('it broke');
      if (tool.name === 'stall') await new Promise(() => {});
      await pass();
      return { content: 'x'.repeat((args as z.output<typeof input>).bytes), isError: false };
    },
  }));
}

/** Those that must not run a second time, unless a person said so. */
export const ONCE: ReadonlySet<string> = new Set(
  KINDS.filter(({ effect }) => effect === 'once').map(({ name }) => name),
);
