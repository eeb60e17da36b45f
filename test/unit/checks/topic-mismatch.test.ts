import { describe, expect, it } from 'vitest';
import { checkLexiconFor } from '../../../src/checks/lexicon/index.ts';
import { isOffTopic } from '../../../src/checks/topic-mismatch.ts';
import type { Json } from '../../../src/ledger/json.ts';

const lexicon = checkLexiconFor(null);
const directive = 'what is the current top news in AI';
const news = JSON.stringify({
  results: [{ title: 'OpenAI announces GPT-6', unit: 'n/a', content: 'The new model reasons for longer.' }],
});

function offTopic(
  args: Json,
  asked: string,
  evidence: readonly string[],
  tool = 'emit_metric_card',
): boolean {
  return isOffTopic({ card: { tool, args }, directive: asked, evidence }, lexicon);
}

describe('topic mismatch', () => {
  const oldCard = { title: 'Noida Weather', value: '28°C', unit: 'celsius' };

  it('CHK-04 F32 an old weather card for a question about AI news is off topic', () => {
    expect(offTopic(oldCard, directive, [news])).toBe(true);
  });

  it('CHK-04 F32 a card titled from what was found is on topic, though the directive shares no word', () => {
    expect(offTopic({ title: 'OpenAI announces GPT-6' }, directive, [news])).toBe(false);
  });

  it('CHK-04 a word shared with the directive alone is enough', () => {
    expect(offTopic(oldCard, 'weather in Noida', [news])).toBe(false);
  });

  it('CHK-04 F32 a sparse skeleton passes where the turn has no words', () => {
    const skeleton = { title: 'Chart', kind: 'line', labels: [], series: [] };
    expect(offTopic(skeleton, '?', [], 'emit_chart_card')).toBe(false);
    expect(offTopic(skeleton, 'what is it now', ['1 2 3'], 'emit_chart_card')).toBe(false);
  });

  it('CHK-04 a card of bare figures says nothing of its topic', () => {
    expect(offTopic({ value: 12345, labels: [] }, directive, [news])).toBe(false);
  });

  it('CHK-04 F33 words far into the results and in the second result count', () => {
    const far = `${'filler words here '.repeat(1_000)} Noida`;
    expect(far.indexOf('Noida')).toBeGreaterThan(2_000);
    expect(offTopic(oldCard, directive, [far])).toBe(false);
    expect(offTopic(oldCard, directive, [news, 'A report from Noida'])).toBe(false);
    expect(offTopic(oldCard, directive, [far.replace('Noida', 'Oslo')])).toBe(true);
  });

  it('CHK-04 stopwords and words of two letters are no topic', () => {
    expect(offTopic({ title: 'The latest on AI: robots' }, 'tell me the latest on AI markets', [])).toBe(
      true,
    );
    expect(offTopic({ title: 'Latest robotics' }, 'robotics, please', [])).toBe(false);
  });

  it('CHK-04 members that every card has are no topic, members that name one are', () => {
    expect(offTopic({ title: 'Noida' }, directive, ['{"title": "OpenAI"}'])).toBe(true);
    expect(offTopic({ temperature: 'mild' }, 'what temperature is it', [])).toBe(false);
  });

  it('CHK-04 the name of the card tool counts', () => {
    expect(offTopic({ title: 'Noida' }, 'a forecast', [], 'emit_forecast_card')).toBe(false);
  });

  it('CHK-04 scripts without spaces are compared by pairs of characters, marks are kept', () => {
    expect(offTopic({ title: '東京の天気' }, '明日の天気は', [])).toBe(false);
    expect(offTopic({ title: '東京の株価' }, '明日の予定は何', [])).toBe(true);
    expect(offTopic({ title: 'हिंदी समाचार' }, 'आज के समाचार', [])).toBe(false);
  });

  it('CHK-04 words behind JSON escapes are read', () => {
    expect(offTopic({ title: 'Zürich' }, directive, ['{"city":"Z\\u00fcrich"}'])).toBe(false);
    expect(offTopic({ title: 'Noida' }, directive, ['{"text":"News.\\nNoida"}'])).toBe(false);
  });
});
