/** The standard turn as a LangGraph agent: a model node and a tool node, checkpointed to Postgres. */
import { AIMessage, type BaseMessage, HumanMessage } from '@langchain/core/messages';
import { tool } from '@langchain/core/tools';
import { MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { ToolNode, toolsCondition } from '@langchain/langgraph/prebuilt';
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres';
import { z } from 'zod';
import { ANSWER_CHARS, DIRECTIVE, RESULT_CHARS, TOOL_STEPS, text } from '../content.ts';
import { servePeer } from './serve.ts';

const lookup = tool(async () => text(RESULT_CHARS), {
  name: 'lookup',
  description: 'Looks one part up.',
  schema: z.object({ part: z.number() }),
});

function reply(messages: readonly BaseMessage[]): AIMessage {
  const directive = messages.findLastIndex((message) => message.getType() === 'human');
  const step = (messages.length - directive) >> 1;
  if (step >= TOOL_STEPS) return new AIMessage(text(ANSWER_CHARS));
  const call = { id: `call-${messages.length}`, name: lookup.name, args: { part: step } };
  return new AIMessage({ content: '', tool_calls: [call] });
}

const checkpointer = PostgresSaver.fromConnString(process.argv[2] ?? '');
await checkpointer.setup();
const graph = new StateGraph(MessagesAnnotation)
  .addNode('model', async ({ messages }) => ({ messages: [reply(messages)] }))
  .addNode('tools', new ToolNode([lookup]))
  .addEdge(START, 'model')
  .addConditionalEdges('model', toolsCondition)
  .addEdge('tools', 'model')
  .compile({ checkpointer });

servePeer({
  packages: ['@langchain/langgraph', '@langchain/langgraph-checkpoint-postgres', '@langchain/core'],
  settings:
    'in its own process, no queue; durability "sync"; one thread a session, its messages in the state',
  turn: async (session) => {
    const { messages } = await graph.invoke(
      { messages: [new HumanMessage(DIRECTIVE)] },
      { configurable: { thread_id: session }, durability: 'sync' },
    );
    if (messages.at(-1)?.text.length !== ANSWER_CHARS) throw new Error('the graph did not answer');
  },
  close: () => checkpointer.end(),
});
