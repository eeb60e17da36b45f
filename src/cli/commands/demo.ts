import type { Command } from '../command.ts';
import { DEMO_PROVIDERS } from '../demo/legs.ts';
import { runDemo } from '../demo/run.ts';
import { UsageError } from '../exit.ts';

const POLICIES = ['plan'];

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
    policy: { type: 'string', value: 'POLICY', help: `context policy: ${POLICIES.join(', ')}` },
    turns: { type: 'string', value: 'FILE', help: 'ask these instead: {"input": "…"} a line' },
    backend: {
      type: 'string',
      value: 'NAME',
      help: 'queue: postgres or redis (REDIS_URL, else localhost:6379)',
    },
  },
  run: (invocation) => {
    const policy = invocation.text('policy');
    if (policy !== undefined && !POLICIES.includes(policy)) {
      throw new UsageError(`--policy is "${policy}"; this version has ${POLICIES.join(', ')}.`);
    }
    return runDemo(invocation);
  },
};
