import { POLICIES } from '../../ledger/kinds.ts';
import type { Command } from '../command.ts';
import { DEMO_PROVIDERS } from '../demo/legs.ts';
import { runDemo } from '../demo/run.ts';
import { UsageError } from '../exit.ts';

const DEFAULT_POLICY = 'plan';

export const command: Command = {
  name: 'demo',
  summary: 'Run a session on the files of this folder, with real tools, and show what happened',
  options: {
    provider: {
      type: 'string',
      value: 'NAME',
      help: `model: ${DEMO_PROVIDERS.join(', ')}; sim unless given`,
    },
    model: { type: 'string', value: 'MODEL', help: "the model's name as its provider spells it" },
    policy: {
      type: 'string',
      value: 'POLICY',
      help: `context policy: ${POLICIES.join(' or ')}; ${DEFAULT_POLICY} unless given`,
    },
    turns: { type: 'string', value: 'FILE', help: 'ask these instead: {"input": "…"} a line' },
    backend: {
      type: 'string',
      value: 'NAME',
      help: 'queue: postgres or redis (REDIS_URL, else localhost:6379)',
    },
  },
  run: (invocation) => {
    const given = invocation.text('policy') ?? DEFAULT_POLICY;
    const policy = POLICIES.find((name) => name === given);
    if (policy === undefined)
      throw new UsageError(`--policy is "${given}"; allowed is ${POLICIES.join(' or ')}.`);
    return runDemo(invocation, policy);
  },
};
