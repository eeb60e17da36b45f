import { describe, expect, it } from 'vitest';
import { formsAsked } from '../../../src/intent/forms.ts';
import { lexiconFor } from '../../../src/intent/lexicon/index.ts';

const TYPES = ['metric', 'table', 'chart', 'entity', 'checklist', 'timeline', 'research', 'seating-plan'];
const asked = (text: string, types: readonly string[] = TYPES): readonly string[] =>
  formsAsked(text, types, lexiconFor(null));

describe('the forms a request asks its result to take', () => {
  it.each([
    ['list the planets as a table', ['table']],
    ['Give me the totals in a table, please.', ['table']],
    ['plot the revenue by month', ['chart']],
    ['a chart of sales by region', ['chart']],
    ['chart of sales by region', ['chart']],
    ['could you draw a quick bar chart of the votes?', ['chart']],
    ['make a checklist for the move', ['checklist']],
    ['write it up as a to-do list', ['checklist']],
    ['show the events as a timeline', ['timeline']],
    ['I want a timeline of the war', ['timeline']],
    ['show it as a metric card', ['metric']],
    ['show the total as a single metric', ['metric']],
    ['present Ada Lovelace as an entity card', ['entity']],
    ['collect the findings as a research card', ['research']],
    ['arrange the guests as a seating plan', ['seating-plan']],
    ['what are the prices, as a table?', ['table']],
    ['can I get a table of the prices?', ['table']],
    ['make a chart of the sales and a table of the costs', ['table', 'chart']],
    ['tabulate the results', ['table']],
    ['the results in tabular form', ['table']],
  ])('CHK-06 INT-01 hears it in "%s"', (text, forms) => {
    expect(asked(text)).toEqual(forms);
  });

  it.each([
    'set the table',
    'fix the table in the README',
    'the table in the README',
    'review the chart component',
    "don't make a table",
    'do not show it as a table',
    'answer without a table',
    'tell me the prices, not as a table',
    'book a table for two',
    'create a table in the database',
    'how do I make a table in HTML?',
    'what is a timeline?',
    'why would I make a chart of it?',
    'what counts as a table?',
    'explain the plot of the film',
    'write a table of contents',
    'make a chart component',
    'rename the checklist function',
    'The data is stored as a table.',
    'what does "as a table" mean',
    'the vegetable stall',
    'a notable charting library',
  ])('CHK-06 INT-01 does not hear it in "%s"', (text) => {
    expect(asked(text)).toEqual([]);
  });

  it('INT-01 asks for none that is not among the types', () => {
    expect(asked('show it as a table', ['chart'])).toEqual([]);
    expect(asked('show it as a table', [])).toEqual([]);
    expect(asked('show it as a flow diagram', ['flow-diagram'])).toEqual(['flow-diagram']);
  });

  it('INT-01 answers in the order of the types, each once', () => {
    expect(asked('plot it as a chart, and make a chart and a table of it')).toEqual(['table', 'chart']);
  });

  it('INT-01 comes to an end on a long text of such words', () => {
    const began = performance.now();
    for (const word of ['as a ', 'in the form of a ', 'make a ', 'not ', '"', "'", '/', '- ', ',1'])
      asked(word.repeat(1_000_000));
    expect(performance.now() - began).toBeLessThan(10_000);
  });
});
