/** What is asked as of now, and what a model answers from before: over a real wire, with a real ledger behind it. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type ChecksStack,
  lastOf,
  market,
  openChecks,
  type Seen,
  SOUND,
  slips,
  stubborn,
  times,
  wholeOf,
} from './checks-stack.ts';

const FILES = {
  'stores.md': '# Stores\n\nThe zinc price at Tarvo is 4127 marks.\n',
  'lead.md': 'The lead price at Tarvo is 6611 marks.\n',
};
const ZINC = 'In stores.md, what is the zinc price at Tarvo?';
const LEAD = 'In lead.md, what is the lead price at Tarvo?';
const NOW = 'What is the current zinc price at Tarvo?';
const ON_RECORD = 'In stores.md: The zinc price at Tarvo is 4127 marks.';
const DRAFT = 'The zinc price at Tarvo is 4127 marks.';
const LEAD_ON_RECORD = 'In lead.md: The lead price at Tarvo is 6611 marks.';
const CARD = 'emit_metric_card';

describe('an old figure in the place of a current one', () => {
  const world = market();
  const other = market('ask_wire');
  let checks: ChecksStack;

  beforeAll(async () => {
    world.price = 5230;
    checks = await openChecks([world.tool, other.tool], FILES);
  });
  afterAll(() => checks.close());

  /** Two figures are on record before the current one is asked for. */
  async function askNow(model: string, tools: readonly string[]) {
    const session = await checks.session(model, tools);
    const zinc = await checks.ask(session, ZINC);
    await checks.ask(session, LEAD);
    const now = await checks.ask(session, NOW);
    return { session, zinc, now };
  }

  const refusal = ({ utc }: Seen): string =>
    `No current value was retrieved for this request. The last one on record, of ${utc}, reads: ${ON_RECORD} It may have changed since.`;

  it('CHK-03 F29 in prose goes back once, and the redo looks up what stands now', async () => {
    const { session, now } = await askNow(slips('staleFigure'), ['read', 'look_up']);
    expect(now).toMatchObject({ outcome: 'completed', reason: 'answered', steps: 3 });
    expect(now.fired).toEqual([{ step: 1, check: 'freshness', verdict: 'redo' }]);
    expect(now.nudges).toEqual([{ step: 1, check: 'freshness', tools: ['look_up'] }]);
    expect(now.said[0]).toBe(DRAFT);
    const [first, second, third] = now.requests;
    expect(lastOf(second)).toBe(
      '[freshness-check] A value is asked for as it stands now, and nothing was looked up in this turn. Call look_up first, then answer from the result.',
    );
    // The draft stands in what the first turn found, too: it is carried no second time.
    expect(times(wholeOf(second), DRAFT)).toBe(times(wholeOf(first), DRAFT));
    expect(lastOf(third)).toContain('5230');
    expect(now.answer).toContain('5230');
    expect(now.answer).not.toContain('4127');
    await checks.isSound(session);
  });

  it('CHK-03 F29 in prose twice ends the turn: the last figure of what was asked, with its time, and nothing of the drafts', async () => {
    const { session, zinc, now } = await askNow(stubborn('staleFigure'), ['read', 'look_up']);
    expect(now).toMatchObject({ outcome: 'degraded', reason: 'stale_data_refused', steps: 2 });
    expect(now.fired).toEqual([
      { step: 1, check: 'freshness', verdict: 'redo' },
      { step: 2, check: 'freshness', verdict: 'refused' },
    ]);
    // The repair brought another text: as stale as the first.
    expect(now.said).toEqual([DRAFT, ON_RECORD]);
    expect(zinc.utc).toMatch(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/u);
    expect(now.answer).toBe(refusal(zinc));
    expect(now.results).toEqual([]);
    await checks.isSound(session);
  });

  it('CHK-03 as a card is kept from being made, and the redo looks up what stands now', async () => {
    const { session, now } = await askNow(slips('staleFigure'), ['read', 'look_up', CARD]);
    expect(now).toMatchObject({ outcome: 'completed', reason: 'answered' });
    expect(now.fired).toEqual([{ step: 1, check: 'freshness', verdict: 'withheld' }]);
    expect(now.results.map(({ name, status }) => [name, status])).toEqual([
      [CARD, 'withheld'],
      ['look_up', 'ok'],
    ]);
    expect(lastOf(now.requests[1])).toBe(
      '[freshness-check] Not shown: the card states a value as it stands now, and nothing was looked up in this turn. Call look_up first, then answer from the result.',
    );
    expect(now.cards).toEqual([]);
    expect(now.answer).toContain('5230');
    await checks.isSound(session);
  });

  it('CHK-03 F29 as another stale card ends the turn on the words of the system, and no card is made', async () => {
    const { session, zinc, now } = await askNow(stubborn('staleFigure'), ['read', 'look_up', CARD]);
    expect(now).toMatchObject({ outcome: 'degraded', reason: 'stale_data_refused', steps: 2 });
    expect(now.fired).toEqual([
      { step: 1, check: 'freshness', verdict: 'withheld' },
      { step: 2, check: 'freshness', verdict: 'refused' },
    ]);
    expect(now.cards).toEqual([]);
    expect(now.answer).toBe(refusal(zinc));
    await checks.isSound(session);
  });

  it('CHK-03 the figure on record is of what was asked, however often it was refused before', async () => {
    const { session, zinc } = await askNow(stubborn('staleFigure'), ['read', 'look_up']);
    const again = await checks.ask(session, 'So what is the zinc price at Tarvo right now?');
    expect(again).toMatchObject({ reason: 'stale_data_refused', answer: refusal(zinc) });
    const unknown = await checks.ask(session, 'What is the current height of the Ombra glacier?');
    expect(unknown).toMatchObject({
      reason: 'stale_data_refused',
      answer: 'No current value was retrieved for this request.',
    });
    expect(unknown.said.every((draft) => /\d{4}/u.test(draft))).toBe(true);
    await checks.isSound(session);
  });

  it('CHK-03 a refusal is what later turns see as the answer, and the drafts stand nowhere', async () => {
    const { session, now } = await askNow(stubborn('staleFigure'), ['read', 'look_up']);
    const later = await checks.ask(session, 'Was the zinc price at Tarvo given to me?');
    const [request] = later.requests;
    const answers = (request?.messages ?? []).flatMap(({ role, content }) =>
      role === 'assistant' ? content.flatMap((block) => (block.type === 'text' ? [block.text] : [])) : [],
    );
    expect(answers).toEqual([ON_RECORD, LEAD_ON_RECORD, now.answer]);
    expect(wholeOf(request)).not.toContain('[freshness-check]');
    await checks.isSound(session);
  });

  it('F31 names only tools that the session may call and that look outside', async () => {
    const session = await checks.session(slips('staleFigure'), ['read', 'grep', 'recall', 'ask_wire']);
    await checks.ask(session, ZINC);
    const now = await checks.ask(session, NOW);
    expect(now.nudges).toEqual([{ step: 1, check: 'freshness', tools: ['ask_wire'] }]);
    expect(lastOf(now.requests[1])).toContain('Call ask_wire first');
    for (const request of now.requests) expect(wholeOf(request)).not.toContain('look_up');
    expect(now.answer).toContain('marks');
    await checks.isSound(session);
  });

  it('F31 names none where the session has none, and an honest word then stands', async () => {
    const session = await checks.session(slips('staleFigure'), ['read', 'recall']);
    await checks.ask(session, ZINC);
    const now = await checks.ask(session, NOW);
    expect(now.nudges).toEqual([{ step: 1, check: 'freshness', tools: [] }]);
    expect(lastOf(now.requests[1])).toContain('No tool here can look it up');
    expect(now).toMatchObject({ outcome: 'completed', reason: 'answered' });
    expect(now.answer).not.toMatch(/\d/u);
    await checks.isSound(session);
  });

  it.each([
    ['looks up before it answers', NOW],
    ['is asked of the past', 'What was the zinc price at Tarvo yesterday?'],
    ['is asked of what is at hand', 'Which files in the current directory speak of zinc?'],
    ['is asked what it reported', 'What did you report of the zinc price at Tarvo in the latest answer?'],
    ['has to say that there is none', 'What is the current height of the Ombra glacier?'],
  ])('CHK-03 F30 a sound model that %s is not sent back', async (_, asked) => {
    const session = await checks.session(SOUND.name, ['read', 'grep', 'glob', 'look_up', CARD]);
    await checks.ask(session, ZINC);
    const seen = await checks.ask(session, asked);
    expect(seen).toMatchObject({ outcome: 'completed', reason: 'answered', fired: [], nudges: [] });
  });

  it('CHK-03 F30 an earlier figure stands where the past is asked for, even of a model that likes to give one', async () => {
    const session = await checks.session(stubborn('staleFigure'), ['read', 'recall']);
    await checks.ask(session, ZINC);
    const seen = await checks.ask(session, 'What was the zinc price at Tarvo in stores.md?');
    expect(seen).toMatchObject({ outcome: 'completed', fired: [] });
    expect(seen.answer).toContain('4127');
  });
});
