import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AssistantBlock } from '../../../src/ledger/blocks.ts';
import { openConversation } from '../../support/conversation.ts';
import { memoryParts, openProcess, type Scripted } from '../../support/one-process.ts';
import { openTestStack, type TestStack } from '../../support/stack.ts';
import { sayingTool } from '../../support/tools.ts';

const TENANT = '01890000-0000-7000-8000-0000000000cd';
const OFFERED = ['survey', 'emit_metric_card', 'recall'];
const DRAUGHT = { title: 'Draught of the Wigeon', value: 2.4, unit: 'm' };

const call = (name: string, args: typeof DRAUGHT | Record<string, never>): AssistantBlock => ({
  type: 'tool_call',
  id: 'given',
  name,
  args,
});
const said = (text: string): AssistantBlock => ({ type: 'text', text });
const fence = (payload: typeof DRAUGHT): string =>
  `\`\`\`card\n${JSON.stringify({ type: 'metric', ...payload })}\n\`\`\``;

/** A session whose model gives these replies, one a step. */
async function scripted(replies: readonly Scripted[]) {
  const parts = memoryParts();
  const process = openProcess({
    ...parts,
    tools: [sayingTool('survey', 'Looks at the hull.', 'The Wigeon draws 2.4 m.')],
    reply: (_, n) => replies[n - 1] ?? [said('Nothing else.')],
  });
  const conversation = await openConversation(process.engine, TENANT, { tools: OFFERED });
  return { process, ...conversation, store: parts.store };
}

describe('cards, as records', () => {
  it('EVI-04 a card call beside a tool call is answered when the batch settles, derived from the result before it', async () => {
    const { process, ref } = await scripted([
      [call('survey', {}), call('emit_metric_card', DRAUGHT), call('survey', {})],
      [said('As the card shows.')],
    ]);
    const view = await process.ask(ref, 'What does the Wigeon draw?');
    expect(process.errors).toEqual([]);
    expect(view.presentations).toHaveLength(1);
    expect(view.presentations[0]).toMatchObject({
      presentation: 'p1',
      type: 'metric',
      title: DRAUGHT.title,
      payload: DRAUGHT,
      source: { kind: 'tool-call', step: 1, index: 1 },
      derivedFrom: ['e1'],
    });
    const results = [...(view.steps[0]?.results.values() ?? [])].toSorted((a, b) => a.index - b.index);
    expect(results.map(({ name, evidence }) => [name, evidence])).toEqual([
      ['survey', 'e1'],
      ['emit_metric_card', null],
      ['survey', 'e2'],
    ]);
    expect(JSON.parse(results[1]?.content ?? '')).toEqual({ ok: true, presentation: 'p1' });
  });

  it('EVI-04 a batch of cards alone needs no job of its own', async () => {
    const { process, ref } = await scripted([[call('emit_metric_card', DRAUGHT)], [said('There.')]]);
    await process.accept(ref, 'Show it.');
    await process.run(({ ref: job }) => job.child !== 'step-1');
    expect(process.waiting.map(({ ref: job }) => job.child)).toEqual(['step-2']);
  });

  it('EVI-04 the same card again adds nothing, by a call or by a fence, and a fence that repeats it is no longer shown', async () => {
    const { process, ref, store } = await scripted([
      [call('emit_metric_card', DRAUGHT)],
      [call('emit_metric_card', { unit: 'm', value: 2.4, title: DRAUGHT.title })],
      [said(`It draws so much:\n\n${fence(DRAUGHT)}\n\n${fence(DRAUGHT)}\n`)],
      [said('It was shown.')],
    ]);
    const view = await process.ask(ref, 'What does the Wigeon draw?');
    expect(view.presentations).toHaveLength(1);
    expect(view.presentations[0]?.source).toMatchObject({ kind: 'tool-call', step: 1 });
    const repeat = view.steps[1]?.results.get(0)?.content ?? '';
    expect(JSON.parse(repeat)).toEqual({ ok: true, presentation: 'p1', repeated: true });
    expect(await store.presentation(ref, 2)).toBeNull();
    await process.ask(ref, 'And again, what was it?');
    const later = JSON.stringify(process.sent.at(-1)?.messages);
    expect(later).toContain('It draws so much:');
    expect(later).not.toContain('```card');
  });

  it('EVI-04 CHK-06 a fence in the accepted answer becomes a presentation, one in a discarded draft or a broken one does not', async () => {
    const answer = said(
      `${fence(DRAUGHT)}\n\n\`\`\`card\n{"type":"metric"}\n\`\`\`\n\n\`\`\`card\nnot json\n\`\`\``,
    );
    const { process, ref } = await scripted([
      // Sent back once for what cannot be shown, and given again as it was.
      [answer],
      [answer],
    ]);
    const view = await process.ask(ref, 'What does the Wigeon draw?');
    expect(view.steps.map(({ nudge }) => nudge?.check ?? null)).toEqual(['malformed-fence', null]);
    expect(view.presentations.map(({ source, payload }) => [source.kind, payload])).toEqual([
      ['fence', DRAUGHT],
    ]);
    expect(view.closed?.card?.presentations.map(({ id, derivedFrom }) => [id, derivedFrom])).toEqual([
      ['p1', []],
    ]);
  });

  it('EVI-04 a card that does not fit its schema is refused with what to repair, and presents nothing', async () => {
    const { process, ref } = await scripted([
      [call('emit_metric_card', {})],
      [call('emit_metric_card', DRAUGHT)],
      [said('There.')],
    ]);
    const view = await process.ask(ref, 'Show it.');
    expect(view.steps[0]?.results.get(0)).toMatchObject({ status: 'invalid_args', evidence: null });
    expect(view.steps[0]?.results.get(0)?.content).toMatch(/title/u);
    expect(view.presentations.map(({ presentation }) => presentation)).toEqual(['p1']);
  });
});

describe('cards, through the whole stack', () => {
  let stack: TestStack;
  beforeAll(async () => {
    stack = await openTestStack({
      backend: 'postgres',
      files: { 'wigeon.md': 'The draught of the Wigeon is 2.4 m.\n' },
    });
    await stack.worker();
  });
  afterAll(() => stack.close());

  it('EVI-04 TRN-02 a model reads, shows a card and answers; the card line of the turn names both, and recall returns the card', async () => {
    const session = await stack.session({ tools: ['read', 'emit_metric_card', 'recall'] });
    const end = await stack.ask(session, 'Show the draught in wigeon.md as a metric.');
    expect(end.outcome).toBe('completed');
    const records = await stack.records(session, end.turn);
    const made = records.find(({ kind }) => kind === 'presentation');
    expect(made?.data).toMatchObject({ presentation: 'p1', type: 'metric', derivedFrom: ['e1'] });
    const rows = await stack.sql('SELECT ordinal, type FROM turnwright.presentations WHERE session_id = $1', [
      session.session,
    ]);
    expect(rows).toEqual([{ ordinal: 1, type: 'metric' }]);
    const jobs = stack.admitted.filter(({ actor }) => actor === end.turn).map(({ child }) => child);
    expect(jobs).toEqual(['step-1', 'tool-1-0', 'step-2', 'step-3']);
    const closed = records.find(({ kind }) => kind === 'turn-closed');
    expect(closed?.data.card).toMatchObject({ presentations: [{ id: 'p1', derivedFrom: ['e1'] }] });
    expect(await stack.verify(session)).toMatchObject({ ok: true });
  });
});
