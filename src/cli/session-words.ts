/** The words for a new session, and for one that goes on from another. */
import { z } from 'zod';
import type { NewFork, NewSession } from '../client/index.ts';
import { POLICIES, type Policy } from '../ledger/kinds.ts';
import { BUDGET_OPTIONS, costBudget } from './budget.ts';
import type { Invocation, OptionSpec } from './command.ts';
import { UsageError } from './exit.ts';
import { readJsonLines } from './json-lines.ts';

type Options = Readonly<Record<string, OptionSpec>>;
type Given = Pick<Invocation, 'context' | 'text'>;

const said = z.strictObject({
  role: z.enum(['user', 'assistant'], { error: 'user or assistant' }),
  text: z.string().refine((text) => text.trim() !== '', 'a text that is not blank'),
});
const HISTORY = {
  option: '--history',
  line: said,
  what: 'message',
  example: '{"role": "user", "text": "…"}',
};

/** What a session that goes on from another may have of its own. */
export const FORK_OPTIONS = {
  leg: { type: 'string', value: 'LEG', help: 'model to bind' },
  policy: { type: 'string', value: 'POLICY', help: `how requests are kept in size: ${POLICIES.join(', ')}` },
  system: { type: 'string', value: 'TEXT', help: 'standing instructions' },
} as const satisfies Options;

export const SESSION_OPTIONS = {
  ...FORK_OPTIONS,
  tools: { type: 'string', value: 'a,b', help: 'tools it may use; all unless given' },
  'work-contract': { type: 'string', value: 'TEXT', help: 'what the session is bound to do' },
  locale: { type: 'string', value: 'TAG', help: 'such as en-GB' },
  timezone: { type: 'string', value: 'ZONE', help: 'such as Europe/Paris' },
  history: { type: 'string', value: 'FILE.jsonl', help: 'conversation to begin with, a message a line' },
  'fork-of': { type: 'string', value: 'SESSION', help: 'session to go on from' },
  ...BUDGET_OPTIONS,
} as const satisfies Options;

/** @throws UsageError for a policy there is not. */
export function forkWords({ text }: Pick<Given, 'text'>): NewFork {
  const policy = text('policy');
  return { ...texts(text, ['leg', 'system']), ...(policy === undefined ? {} : { policy: named(policy) }) };
}

/** @throws UsageError for a policy there is not, or a file that holds no conversation. */
export async function sessionWords({ context, text }: Given): Promise<NewSession> {
  const [tools, file] = [text('tools'), text('history')];
  const [workContract, forkOf] = [text('work-contract'), text('fork-of')];
  const budget = costBudget(text);
  return {
    ...forkWords({ text }),
    ...texts(text, ['locale', 'timezone']),
    ...(workContract === undefined ? {} : { workContract }),
    ...(forkOf === undefined ? {} : { forkOf }),
    ...(Object.keys(budget).length === 0 ? {} : { budget }),
    ...(tools === undefined ? {} : { tools: tools.split(',').map((name) => name.trim()) }),
    ...(file === undefined ? {} : { history: [...(await readJsonLines(file, context.cwd, HISTORY))] }),
  };
}

function texts(text: Given['text'], names: readonly string[]): Readonly<Record<string, string>> {
  const given = names.flatMap((name) => {
    const value = text(name);
    return value === undefined ? [] : [[name, value]];
  });
  return Object.fromEntries(given);
}

function named(policy: string): Policy {
  const known = POLICIES.find((name) => name === policy);
  if (known !== undefined) return known;
  throw new UsageError(`--policy is "${policy}"; allowed is ${POLICIES.join(', ')}.`);
}
