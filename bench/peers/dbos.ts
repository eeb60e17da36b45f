/** The standard turn as a DBOS workflow: every model call and every tool call is a step. */
import { DBOS } from '@dbos-inc/dbos-sdk';
import { ANSWER_CHARS, DIRECTIVE, RESULT_CHARS, TOOL_STEPS, text } from '../content.ts';
import { servePeer } from './serve.ts';

type Reply = { call: { name: string; part: number } } | { answer: string };

async function callModel(messages: readonly unknown[]): Promise<Reply> {
  const step = messages.length >> 1;
  return step < TOOL_STEPS ? { call: { name: 'lookup', part: step } } : { answer: text(ANSWER_CHARS) };
}

async function lookup(): Promise<string> {
  return text(RESULT_CHARS);
}

async function turn(directive: string): Promise<string> {
  const messages: unknown[] = [directive];
  for (;;) {
    const reply = await DBOS.runStep(() => callModel(messages), { name: 'model' });
    if ('answer' in reply) return reply.answer;
    messages.push(reply, await DBOS.runStep(lookup, { name: reply.call.name }));
  }
}

const standardTurn = DBOS.registerWorkflow(turn, { name: 'standardTurn' });
DBOS.setConfig({ name: 'bench', systemDatabaseUrl: process.argv[2] ?? '', logLevel: 'error' });
await DBOS.launch();

servePeer({
  packages: ['@dbos-inc/dbos-sdk'],
  settings: 'in its own process, no queue; defaults; 5 steps a workflow; keeps no history of the session',
  turn: async () => {
    const answer = await standardTurn(DIRECTIVE);
    if (answer.length !== ANSWER_CHARS) throw new Error('the workflow did not answer');
  },
  close: () => DBOS.shutdown(),
});
