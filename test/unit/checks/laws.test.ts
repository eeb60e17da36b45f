import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { givenIn, uncitedSources } from '../../../src/checks/cited-source.ts';
import { isHonestNoData } from '../../../src/checks/freshness.ts';
import { isUngrounded } from '../../../src/checks/grounding.ts';
import { checkLexiconFor } from '../../../src/checks/lexicon/index.ts';
import { isOffTopic } from '../../../src/checks/topic-mismatch.ts';
import type { Json } from '../../../src/ledger/json.ts';
import { Tally } from '../ledger/sample.ts';
import { askAll } from './ask-all.ts';

const lexicon = checkLexiconFor(null);
const word = fc.constantFrom(
  ...[
    'copper',
    'price',
    'Zürich',
    '東京',
    'समाचार',
    'of',
    'the',
    '28.6',
    '1,234',
    '12',
    '2024-05-01',
    '7',
    '0.42',
  ],
  ...['https://a.example/x', 'https://www.reuters.com/', '"title":', '\\n', 'report', 'now', '10 500'],
);
const sentence = fc.array(word, { minLength: 1, maxLength: 12 });
const fragment = fc.constantFrom(
  ...[
    'I have ',
    "I couldn't find it.\n",
    "couldn't ",
    'let me ',
    '```',
    '```card\n',
    '\n',
    '{',
    '}',
    '"name":"grep"',
    '"arguments":',
    '{}',
  ],
  ...['grep(', 'https://', '"', '\\', '1', ',', '.', '\ud800', ' find ', 'updated src/a.ts', '?', '|', '漢'],
);

describe('laws of the checks', () => {
  it('CHK-04 a card made of words of the evidence is never off topic', () => {
    const tally = new Tally();
    fc.assert(
      fc.property(
        sentence,
        fc.array(fc.nat(11), { minLength: 1, maxLength: 4 }),
        fc.boolean(),
        (words, picks, nested) => {
          const title = picks.map((pick) => words[pick % words.length]).join(' ');
          const args: Json = nested ? { items: [{ label: title }] } : { title };
          const off = isOffTopic(
            { card: { tool: 'emit_x_card', args }, directive: '', evidence: ['', words.join(' ')] },
            lexicon,
          );
          expect(off).toBe(false);
          const other = { title: 'unrelated matter' };
          const strange = isOffTopic(
            { card: { tool: 't', args: other }, directive: '', evidence: [words.join(' ')] },
            lexicon,
          );
          tally.count({
            nested,
            'another card is off topic': strange,
            'another card is not judged': !strange,
          });
        },
      ),
      { numRuns: 1_000 },
    );
    tally.report('cards of the evidence');
  });

  it('CHK-06 a text equal to the evidence is never ungrounded', () => {
    const tally = new Tally();
    fc.assert(
      fc.property(fc.array(sentence, { minLength: 1, maxLength: 3 }), (lists) => {
        const results = lists.map((words) => words.join(' '));
        expect(isUngrounded({ text: results.join('\n'), results }, lexicon)).toBe(false);
        for (const result of results)
          expect(isUngrounded({ text: result, results: [result] }, lexicon)).toBe(false);
        const marked = isUngrounded({ text: 'Nothing of it matters.', results }, lexicon);
        tally.count({ marked, unmarked: !marked, several: results.length > 1 });
      }),
      { numRuns: 1_000 },
    );
    tally.report('texts of the evidence');
  });

  it('CHK-04 an address that stands in a text is never uncited', () => {
    const tally = new Tally();
    const url = fc.webUrl({ withFragments: true, withQueryParameters: true });
    const around = fc.constantFrom('$', '($)', 'see $.', '[x]($)', '<$>', '"$",', '$/');
    fc.assert(
      fc.property(url, around, (written, frame) => {
        const text = frame.replace('$', () => written);
        expect(uncitedSources({ url: written }, givenIn([text]))).toEqual([]);
        const invented = uncitedSources({ url: `${written.split(/[?#]/u)[0]}/zq` }, givenIn([text]));
        tally.count({
          framed: frame !== '$',
          query: written.includes('?'),
          fragment: written.includes('#'),
          invented: invented.length === 1,
        });
      }),
      { numRuns: 1_000 },
    );
    tally.report('addresses');
  });

  it('CHK-03 CHK-04 CHK-05 CHK-06 CHK-07 no predicate throws, whatever a model writes', () => {
    const tally = new Tally();
    const texts = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 200 }),
      fc.array(fragment, { maxLength: 40 }).map((parts) => parts.join('')),
    );
    fc.assert(
      fc.property(texts, fc.jsonValue(), (text, args) => {
        askAll(text, args as Json);
        tally.count({
          honest: isHonestNoData(text, lexicon),
          fenced: text.includes('```card'),
          call: text.includes('grep'),
          surrogate: !text.isWellFormed(),
          object: typeof args === 'object' && args !== null,
        });
      }),
      { numRuns: 1_500 },
    );
    tally.report('anything');
  });

  it('CHK-04 arguments of any depth are read', () => {
    let deep: Json = 'https://deep.example/x';
    for (let depth = 0; depth < 100_000; depth++) deep = depth % 2 === 0 ? [deep] : { member: deep };
    expect(uncitedSources(deep, () => false)).toEqual(['https://deep.example/x']);
    expect(isOffTopic({ card: { tool: 't', args: deep }, directive: 'deep', evidence: [] }, lexicon)).toBe(
      false,
    );
  });
});
