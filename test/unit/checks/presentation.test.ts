import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { checkLexiconFor } from '../../../src/checks/lexicon/index.ts';
import { unmadeCard } from '../../../src/checks/presentation.ts';
import { BUILTIN_CARDS, createCards, defineCard } from '../../../src/context/cards/index.ts';

const cards = createCards(BUILTIN_CARDS);
const base = { text: 'Copper costs 4.10.', forms: [], made: [], cameBackEmpty: false };
const metric = '```json\n{"title":"Copper","value":4.1}\n```';

function unmade(given: Partial<Parameters<typeof unmadeCard>[0]>, known = cards): string | null {
  return unmadeCard({ ...base, ...given }, known, checkLexiconFor(null));
}

describe('cards that were not made', () => {
  it('CHK-06 a card that was asked for and not made is named by its tool', () => {
    expect(unmade({ forms: ['table'] })).toBe('emit_table_card');
    expect(unmade({ forms: ['table', 'chart'], made: ['table'] })).toBe('emit_chart_card');
  });

  it('CHK-06 nothing is missing where nothing was asked for, or all was made', () => {
    expect(unmade({})).toBeNull();
    expect(unmade({ forms: ['table'], made: ['table'] })).toBeNull();
    expect(unmade({ forms: ['gauge'] })).toBeNull();
  });

  it('CHK-06 a retrieval that brought nothing, an admission or a question back excuses', () => {
    expect(unmade({ forms: ['table'], cameBackEmpty: true })).toBeNull();
    expect(unmade({ forms: ['table'], text: 'I could not find any figures.' })).toBeNull();
    expect(unmade({ forms: ['table'], text: 'Which columns do you want?' })).toBeNull();
    expect(unmade({ text: metric, cameBackEmpty: true })).toBeNull();
  });

  it.each([
    ['in a block', metric],
    ['in a block without a language', '```\n{"title":"Copper","value":4.1}\n```'],
    ['bare', 'Here it is:\n{"title":"Copper",\n "value":4.1}\nDone.'],
    ['with its type', '```json\n{"type":"metric","title":"Copper","value":4.1}\n```'],
  ])('CHK-06 a payload that stands %s names its card', (_, text) => {
    expect(unmade({ text })).toBe('emit_metric_card');
  });

  it.each([
    ['that fits no card', '```json\n{"copper":4.1}\n```'],
    ['that fits two cards', '{"title":"List","items":[]}'],
    ['in another language', '```js\n{"title":"Copper","value":4.1}\n```'],
    ['within a line', 'It sends {"title":"Copper","value":4.1} every hour.'],
    ['that is broken', '{"title":"Copper","value":'],
    ['of a list', '[{"title":"Copper","value":4.1}]'],
  ])('CHK-06 JSON %s names none', (_, text) => {
    expect(unmade({ text })).toBeNull();
  });

  it('CHK-06 a payload whose card was made, and one that was asked for as data, name none', () => {
    expect(unmade({ text: metric, made: ['metric'] })).toBeNull();
    expect(unmade({ text: metric, directive: 'Give me the price as JSON.' })).toBeNull();
    expect(unmade({ text: metric, directive: 'Give me the price.' })).toBe('emit_metric_card');
  });

  it('CHK-06 a card that takes anything is not fitted by chance', () => {
    const anything = defineCard({
      type: 'anything',
      description: 'Shows anything.',
      schemaVersion: 1,
      schema: z.looseObject({ title: z.string().optional() }),
      title: () => 'x',
      identity: () => 'x',
    });
    expect(unmade({ text: '{"a":1,"b":2}' }, createCards([anything]))).toBeNull();
  });
});
