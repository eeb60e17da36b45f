/** Deployments, turns and growths for the tests of what a session's requests have loaded. */
import { z } from 'zod';
import { blake3Hex } from '../../../src/ledger/chain.ts';
import type { Domain } from '../../../src/ledger/domains.ts';
import { type TurnView, unasked } from '../../../src/ledger/view.ts';
import type { Growth } from '../../../src/runtime/session-prefix.ts';
import { builtinTools } from '../../../src/tools/builtins/index.ts';
import type { Tool } from '../../../src/tools/contract.ts';
import { defineTool } from '../../../src/tools/define.ts';
import { activateSkillTool, type SkillSet } from '../../../src/tools/skills/index.ts';
import { createToolSurface, type ToolSurface } from '../../../src/tools/surface.ts';
import { SIMPLE_CONFIG } from '../../support/conversation.ts';

export const CONFIG = SIMPLE_CONFIG;

const SKILLS: SkillSet = {
  all: [
    { name: 'dock', description: 'How to dock.' },
    { name: 'weigh', description: 'How to weigh.' },
  ],
  body: (name) => (name === 'dock' || name === 'weigh' ? `To ${name}, go slowly.` : null),
};

const SERVERS = ['charts', 'depths'] as const;

export interface ToolChoice {
  readonly serves?: readonly Domain[];
  readonly deferred?: boolean;
  readonly description?: string;
}

export function harbourTool(name: string, choice: ToolChoice = {}): Tool {
  return defineTool({
    name,
    description: `Sees to the ${name} of the harbour. It takes a boat.`,
    input: z.strictObject({ boat: z.string() }),
    effect: 'read',
    ...choice,
    run: async ({ boat }) => `The ${name} of the ${boat} is seen to.`,
  });
}

/** Stands in for the broker's tool: only its name matters here. */
const broker = defineTool({
  name: 'mcp',
  description: 'Reaches servers.',
  input: z.strictObject({}),
  alwaysLoaded: true,
  run: async () => '',
});

export const TOOLS: readonly Tool[] = [
  harbourTool('anchor', { deferred: true }),
  harbourTool('berth', { serves: ['web'] }),
  harbourTool('crane', { serves: ['vcs'] }),
  harbourTool('dredge', { deferred: true }),
  harbourTool('ferry'),
];

export function harbour(tools: readonly Tool[] = TOOLS): ToolSurface {
  const all = [...builtinTools(), broker, activateSkillTool(SKILLS), ...tools];
  return createToolSurface(all, { skills: SKILLS, servers: SERVERS });
}

export function found(...tools: readonly string[]): Growth {
  return { step: 1, by: 'found', tools: [...tools] };
}

export function called(...tools: readonly string[]): Growth {
  return { step: 1, by: 'called', tools: [...tools] };
}

export function activated(skill: string): Growth {
  return { step: 1, by: 'activated', tools: [], skills: [skill] };
}

export function listed(name: string, ...tools: readonly string[]): Growth {
  return {
    step: 1,
    by: 'listed',
    tools: [],
    server: { name, digest: blake3Hex(tools.join()), tools: [...tools] },
  };
}

export function turnWith(growths: readonly Growth[], more: Partial<TurnView> = {}): TurnView {
  return { ...unasked(1), growths, ...more };
}

/** Names of the tools that not every request of a session has. */
export function loadedOf(prefix: {
  readonly tools: readonly { readonly name: string }[];
}): readonly string[] {
  const own = new Set(TOOLS.map(({ name }) => name));
  return prefix.tools.map(({ name }) => name).filter((name) => own.has(name));
}
