/** Cards that cannot be shown, or were shown, or should have been. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type ChecksStack,
  lastOf,
  market,
  openChecks,
  SOUND,
  SOURCE,
  slips,
  stubborn,
  wholeOf,
} from './checks-stack.ts';

const FILES = {
  'stores.md': '# Stores\n\nThe zinc price at Tarvo is 4127 marks.\n',
  'form.md':
    'A card is written so:\n\n```card\n{"type":"metric","title":"Zi\n```\n\nThe clerk is called Osk.\n',
};
const FOG = 'Show the fog depth at Melrin as a metric card.';
const NOW = 'What is the current zinc price at Tarvo?';
const SHOW = 'Show the zinc price in stores.md as a metric card.';
const RESEARCH = 'Show the current zinc price at Tarvo as a research card.';
const CARD = 'emit_metric_card';
const FOUND = `The zinc price at Tarvo is 4127 marks, says ${SOURCE} today.`;

describe('cards', () => {
  let checks: ChecksStack;
  beforeAll(async () => {
    checks = await openChecks([market().tool], FILES);
  });
  afterAll(() => checks.close());

  it('CHK-04 F32 an old card is kept from being made after a look-up of something else, and the redo answers', async () => {
    const seen = await checks.see(slips('oldCard'), ['look_up', CARD], [FOG, NOW]);
    expect(seen).toMatchObject({ outcome: 'completed', reason: 'answered', cards: [] });
    expect(seen.fired).toEqual([{ step: 2, check: 'topic-mismatch', verdict: 'withheld' }]);
    expect(seen.results.map(({ name, status }) => [name, status])).toEqual([
      ['look_up', 'ok'],
      [CARD, 'withheld'],
    ]);
    expect(lastOf(seen.requests[2])).toMatch(
      /^\[topic-mismatch\] Not shown: .* Make it from those results\.$/u,
    );
    expect(seen.answer).toBe(FOUND);
  });

  it('CHK-04 F32 an old card made again ends the turn, and what was found is quoted as it came', async () => {
    const seen = await checks.see(stubborn('oldCard'), ['look_up', CARD], [FOG, NOW]);
    expect(seen).toMatchObject({ outcome: 'degraded', reason: 'topic_mismatch_refused', cards: [] });
    expect(seen.fired.map(({ step, check, verdict }) => [step, check, verdict])).toEqual([
      [2, 'topic-mismatch', 'withheld'],
      [3, 'topic-mismatch', 'refused'],
    ]);
    expect(seen.answer).toBe(
      `No card could be made that fits the request. What was found:\nlook_up (e1): ${FOUND}`,
    );
    expect(seen.answer).not.toMatch(/fog|88/u);
  });

  it('CHK-04 F32 a card of what was looked up is shown, and one that nothing was looked up for', async () => {
    const found = await checks.see(
      SOUND.name,
      ['look_up', CARD],
      [FOG, 'Show the current zinc price at Tarvo as a metric card.'],
    );
    expect(found).toMatchObject({ outcome: 'completed', fired: [] });
    expect(found.cards).toMatchObject([{ payload: { value: 4127 } }]);
    const own = await checks.see(
      SOUND.name,
      ['read', CARD],
      [NOW.replace('current ', ''), 'Show as a metric card: the keel of the Wigeon measures 31 yards.'],
    );
    expect(own).toMatchObject({ outcome: 'completed', fired: [] });
    expect(own.cards).toHaveLength(1);
  });

  it('CHK-04 F37 a card with an invented address is kept from being made, and the redo names what was found', async () => {
    const seen = await checks.see(slips('inventsSource'), ['look_up', 'emit_research_card'], [RESEARCH]);
    expect(seen).toMatchObject({ outcome: 'completed', reason: 'answered' });
    const [invented] = (seen.fired[0]?.reasons ?? []) as readonly string[];
    expect(invented).toMatch(/^https:\/\/www\.example\.org\/\d+$/u);
    expect(seen.fired).toEqual([
      { step: 2, check: 'uncited-source', verdict: 'withheld', reasons: [invented] },
    ]);
    expect(lastOf(seen.requests[2])).toBe(
      `[uncited-source] Not shown: nothing that was found names ${invented}. Name only sources that the results hold.`,
    );
    expect(seen.cards).toHaveLength(1);
    expect(JSON.stringify(seen.cards)).toContain(SOURCE);
    expect(JSON.stringify(seen.cards)).not.toContain('example.org');
  });

  it('CHK-04 F37 a second invented address ends the turn, and stands nowhere in its answer', async () => {
    const seen = await checks.see(stubborn('inventsSource'), ['look_up', 'emit_research_card'], [RESEARCH]);
    expect(seen).toMatchObject({ outcome: 'degraded', reason: 'uncited_source_refused', cards: [] });
    expect(seen.fired.map(({ step, check, verdict }) => [step, check, verdict])).toEqual([
      [2, 'uncited-source', 'withheld'],
      [3, 'uncited-source', 'refused'],
    ]);
    expect(seen.answer).toBe(
      `No card could be made whose sources were found. What was found:\nlook_up (e1): ${FOUND}`,
    );
  });

  it('CHK-04 F37 an address that was found may be shown', async () => {
    const seen = await checks.see(SOUND.name, ['look_up', 'emit_research_card'], [RESEARCH]);
    expect(seen).toMatchObject({ outcome: 'completed', fired: [] });
    expect(JSON.stringify(seen.cards)).toContain(SOURCE);
  });

  it('CHK-02 a card shown again is acknowledged and not made again', async () => {
    const seen = await checks.see(slips('repeatsCard'), ['read', CARD], [SHOW]);
    expect(seen).toMatchObject({ outcome: 'completed', reason: 'answered', steps: 4 });
    expect(seen.results.map(({ name, status }) => [name, status])).toEqual([
      ['read', 'ok'],
      [CARD, 'ok'],
      [CARD, 'ok'],
    ]);
    expect(JSON.parse(lastOf(seen.requests[3]))).toEqual({ ok: true, presentation: 'p1', repeated: true });
    expect(seen.cards).toHaveLength(1);
  });

  it('CHK-02 three batches that show nothing new end the turn on the card', async () => {
    const seen = await checks.see(stubborn('repeatsCard'), ['read', CARD], [SHOW]);
    expect(seen).toMatchObject({ outcome: 'completed', reason: 'card_repeated', steps: 5, answer: null });
    const noted = { check: 'repeated-card', verdict: 'noted' };
    expect(seen.fired).toEqual([3, 4, 5].map((step) => ({ step, ...noted })));
    expect(seen.cards).toMatchObject([{ payload: { value: 4127 } }]);
  });

  it('CHK-02 the same card is shown again where a later turn asks for it', async () => {
    const seen = await checks.see(SOUND.name, ['read', CARD], [SHOW, SHOW]);
    expect(seen).toMatchObject({ outcome: 'completed', reason: 'answered', fired: [] });
    expect(seen.cards).toHaveLength(1);
  });

  it('CHK-06 text in the place of a card that was asked for goes back with the name of its tool', async () => {
    const seen = await checks.see(slips('plansOnly'), ['read', CARD], [SHOW]);
    expect(seen).toMatchObject({ outcome: 'completed', reason: 'answered' });
    expect(seen.fired).toEqual([{ step: 1, check: 'presentation', verdict: 'redo' }]);
    expect(seen.nudges).toEqual([{ step: 1, check: 'presentation', tools: [CARD] }]);
    expect(lastOf(seen.requests[1])).toMatch(/^\[presentation-check\] .* made by emit_metric_card\./u);
    expect(seen.cards).toHaveLength(1);
  });

  it('CHK-06 a model that declines the card is not asked for it again', async () => {
    const seen = await checks.see(stubborn('plansOnly'), ['read', CARD], [SHOW]);
    expect(seen.fired.map(({ check }) => check)).toEqual(['presentation', 'stop-gate', 'stop-gate']);
    expect(seen).toMatchObject({ outcome: 'completed', reason: 'answered', cards: [] });
  });

  it('CHK-06 the tool that the nudge names is at hand where tools are loaded as they are needed', async () => {
    const session = await checks.session(slips('plansOnly'), null);
    const seen = await checks.ask(session, 'Show me the zinc price in stores.md as a metric card.');
    expect(seen.fired.map(({ check }) => check)).toEqual(['presentation']);
    for (const { tools } of seen.requests) expect(tools.map(({ name }) => name)).toContain(CARD);
    expect(seen.cards).toHaveLength(1);
    await checks.isSound(session);
  });

  it('CHK-06 a cut fence goes back once with its fault, and the redo shows the card', async () => {
    const seen = await checks.see(slips('brokenFence'), ['read', CARD], [SHOW]);
    expect(seen).toMatchObject({ outcome: 'completed', reason: 'answered' });
    const reasons = ['A card fence does not hold one JSON object. Correct it and write the answer again.'];
    expect(seen.fired).toEqual([{ step: 2, check: 'malformed-fence', verdict: 'redo', reasons }]);
    expect(lastOf(seen.requests[2])).toBe(
      `[card-check] A card in your answer cannot be shown. ${reasons[0]}`,
    );
    expect(wholeOf(seen.requests[2])).not.toContain('```card');
    expect(seen.cards).toMatchObject([{ payload: { value: 4127 } }]);
  });

  it('CHK-06 F36 a cut fence that is written again takes nothing from the text around it', async () => {
    const seen = await checks.see(stubborn('brokenFence'), ['read', CARD], [SHOW]);
    expect(seen).toMatchObject({ outcome: 'completed', reason: 'answered', cards: [] });
    expect(seen.fired.map(({ check, verdict }) => [check, verdict])).toEqual([
      ['malformed-fence', 'redo'],
      ['presentation', 'redo'],
    ]);
    expect(seen.answer).toMatch(/^Here it is:/u);
  });

  it.each([
    ['a card that was asked for and made', SHOW],
    ['an answer about a card', 'In form.md, what is the clerk called that writes a card?'],
    ['a file with a cut fence', 'In form.md, how is a card written?'],
    ['a request that refuses a card', 'What is the zinc price in stores.md? Do not make a metric card.'],
  ])('CHK-06 %s is not sent back', async (_, asked) => {
    const seen = await checks.see(SOUND.name, ['read', CARD], [asked]);
    expect(seen).toMatchObject({ outcome: 'completed', reason: 'answered', fired: [], nudges: [] });
  });
});
