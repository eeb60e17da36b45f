/** `delegate`: has a directive done by a turn in a session of its own, and returns its answer. */
import { z } from 'zod';
import type { Delegated, ToolOutput } from '../contract.ts';
import { defineTool } from '../define.ts';
import { DELEGATE } from '../surface.ts';
import { tolerateBlanks } from './blanks.ts';

export const delegateTool = tolerateBlanks(
  defineTool({
    name: DELEGATE,
    description:
      'Has a task done apart from this conversation, with the same means, and returns its answer. Only the answer comes back.',
    input: z.strictObject({
      directive: z.string().describe('The task, whole: it is all that is known of it there.'),
      inherit: z
        .boolean()
        .optional()
        .describe('true: the earlier turns of this conversation are known there, too. false unless given.'),
    }),
    deferred: true,
    effect: 'idempotent',
    run: async ({ directive, inherit }, { delegation }) => {
      if (delegation === undefined) return failure(`${DELEGATE} is only for a turn that runs.`);
      if (directive.trim() === '') return failure(`${DELEGATE} needs a directive. For example: ${EXAMPLE}`);
      return answered(await delegation.ask(directive, inherit ?? false));
    },
  }),
  ['inherit'],
);

const EXAMPLE = 'delegate({"directive":"Read the notes and list the names in them."})';

function answered(delegated: Delegated): ToolOutput {
  switch (delegated.kind) {
    case 'pending': {
      const { session, delayMs } = delegated;
      return {
        content: `the answer of session ${session}`,
        isError: false,
        againAfterMs: delayMs,
      };
    }
    case 'refused':
      return failure(`Not delegated. ${delegated.reason} Do the task here.`);
    case 'ended':
      return ended(delegated);
  }
}

function ended({ session, outcome, reason, answer }: Extract<Delegated, { kind: 'ended' }>): ToolOutput {
  if (outcome === 'completed')
    return { content: answer ?? `Session ${session} completed the task, and said nothing.`, isError: false };
  const said = answer === null ? '' : `\nIt said: ${answer}`;
  return failure(
    `The task ended ${outcome} (${reason}), not completed. Session ${session} holds what was done.${said}`,
  );
}

function failure(content: string): ToolOutput {
  return { content, isError: true };
}
