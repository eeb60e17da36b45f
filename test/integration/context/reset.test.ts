import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sessionMemory } from '../../../src/runtime/memory.ts';
import { RequestBuilder } from '../../../src/runtime/request.ts';
import type { SimModel } from '../../../src/sim/index.ts';
import { openTestStack, type TestStack } from '../../support/stack.ts';
import { sayingTool } from '../../support/tools.ts';
import { sentRequests } from './sent-requests.ts';

const MODEL: SimModel = {
  name: 'tight',
  window: 3_000,
  horizon: 3_000,
  tokensPerByte: 0.25,
  maxOutputTokens: 256,
  prefillTokensPerSecond: 5_000,
  decodeTokensPerSecond: 200,
  quantisation: 'Q4',
  supportsImages: false,
};
const RESULT_CHARS = 14_000;
const DIRECTIVE = 'Is the hull of the Wigeon sound?';

/** One fact at the beginning, and so many characters in all. */
function longReport(): string {
  const fact = 'The hull of the Wigeon is sound.\n';
  const filler = 'A plank was looked at and found as it was the year before.\n';
  return (fact + filler.repeat(RESULT_CHARS / filler.length + 1)).slice(0, RESULT_CHARS);
}

describe('a turn that outgrows its model', () => {
  let stack: TestStack;
  beforeAll(async () => {
    stack = await openTestStack({
      backend: 'postgres',
      models: [MODEL],
      tools: [
        sayingTool('survey', 'Says whether the hull of a boat such as the Wigeon is sound.', longReport()),
        sayingTool('tide', 'Says how high the tide is.', 'The tide is 3 m high.'),
      ],
    });
    await stack.worker();
  });
  afterAll(() => stack.close());

  it('PLN-04 makes three calls, a step, a handoff and a step, and the last carries the handoff and the directive without a result', async () => {
    const session = await stack.session({ model: MODEL.name, tools: ['survey', 'tide'] });
    // A ratio that was measured is what lets a turn be told too long before it is sent.
    await stack.ask(session, 'Call the tide tool and say how high the tide is.');
    const before = stack.sim.calls().length;
    const end = await stack.ask(session, DIRECTIVE);
    expect(end).toMatchObject({ outcome: 'completed', reason: 'answered' });
    const records = await stack.records(session, end.turn);
    const receipts = records.filter(({ kind }) => kind === 'work-receipt');
    expect(receipts.map(({ data }) => data.purpose)).toEqual(['step', 'summary', 'step']);
    expect(stack.sim.calls().length - before).toBe(3);

    const result = records.find(({ kind }) => kind === 'tool-result');
    expect([...String(result?.data.content)].length).toBe(RESULT_CHARS);
    const reset = records.find(({ kind }) => kind === 'reset');
    expect(reset?.data).toMatchObject({ behind: 1, throughStep: 1, quality: 'model' });

    const { store, planning, turns } = stack.producer;
    const head = (await store.loadSession(session, null))?.session.liveHead ?? '';
    const sent = await sentRequests({ store, requests: new RequestBuilder(planning, turns) }, session, head);
    const last = JSON.stringify(sent.at(-1)?.request.messages);
    expect(last).toContain('<handoff>');
    expect(last).toContain(DIRECTIVE);
    expect(last).not.toContain('tool_result');
    expect(last).not.toContain('The tide is 3 m high.');
    expect(await stack.verify(session)).toMatchObject({ ok: true });
  });

  it('PLN-04 what is behind a reset is planned no more, and recall still returns it', async () => {
    const session = await stack.session({ model: MODEL.name, tools: ['survey', 'tide', 'recall'] });
    await stack.ask(session, 'Call the tide tool and say how high the tide is.');
    await stack.ask(session, DIRECTIVE);
    const end = await stack.ask(session, 'Good morning to you.');
    const records = await stack.records(session, end.turn);
    const plan = records.find(({ kind }) => kind === 'context-plan');
    expect(plan?.data.reset).not.toBeNull();
    expect(plan?.data.runs).toEqual([{ from: 2, to: 2, fidelity: 'full' }]);
    const { store, engine } = stack.producer;
    const loaded = await store.load({ ...session, actor: end.turn });
    if (loaded === null) throw new Error('the turn is not there');
    const memory = sessionMemory(
      { store, indexes: engine.indexes, turns: stack.producer.turns, clock: engine.clock },
      loaded,
    );
    expect(await memory.turn({ number: 1 })).toMatchObject({ kind: 'closed' });
    expect(await memory.evidence('e1')).toBe('The tide is 3 m high.');
  });
});
