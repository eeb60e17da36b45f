import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compileSearch, type LineSearch } from '../../../../src/runtime/transcript/line-search.ts';
import { requiredLiteral } from '../../../../src/runtime/transcript/required-literal.ts';
import { Tally } from '../../ledger/sample.ts';

function searchFor(pattern: string, prefilter = true): LineSearch {
  const compiled = compileSearch(pattern, { prefilter });
  if (!compiled.ok) throw new Error(compiled.message);
  return compiled.search;
}
const found = (pattern: string, text: string) => [...searchFor(pattern).matching(text)];
const refusal = (pattern: string): string => {
  const compiled = compileSearch(pattern);
  if (compiled.ok) throw new Error('the pattern was taken');
  return compiled.message;
};

/** What every match holds, or null: every form that may be misread stands here once. */
const LITERALS: readonly (readonly [string, string | null])[] = [
  ['needle', 'needle'],
  ['a needle\\.', 'a needle.'],
  ['x+aab?c*', 'aa'],
  ['\\bfoo\\d+barbar', 'barbar'],
  ['(opt)?needle', 'needle'],
  ['one{2}two', 'two'],
  ['one{0}', 'on'],
  ['😀{0,2}é+', 'é'],
  ['one|two', null],
  ['(one|two)', null],
  ['(?i)needle', null],
  ['(?:needle)', null],
  ['\\Qneedle', null],
  ['\\x41bcd', null],
  ['a{,2}', null],
  ['[abc]needle', 'needle'],
  ['[]abc]x', 'x'],
  ['[^]abc]x', 'x'],
  ['[]abc[x]yz', null],
  ['[^]abc[x]yz', null],
  ['[[:alpha:]]needle', null],
  ['needle\\', null],
  ['\ud800needle', null],
  ['.*', null],
  ['', null],
];

const ATOMS =
  'a b ab . ^ $ * + ? | ( ) (?: (?i) {2} {0} {0,1} {1,} {,2} { } [ ] [] [^] []a] [^]abc[x] []abc[x] [a-c] [^a] [[:alpha:]] [\\]a] \\. \\d \\b \\_ \\- \\Qa* \\E \\x61 \\pL \\ 😀 é \\é -'.split(
    ' ',
  );
const LINES = [
  'a',
  'b',
  'ab',
  'aab',
  '\n',
  '\r\n',
  '\r',
  '😀',
  '\ud83d',
  '.',
  'é',
  '_',
  '-',
  '[',
  'x',
  ']',
  'abc',
  '{2}',
  '1',
];
const pattern = fc
  .array(fc.constantFrom(...ATOMS, '\n', '\r'), { minLength: 1, maxLength: 7 })
  .map((atoms) => atoms.join(''));
const texts = fc.array(
  fc.array(fc.constantFrom(...LINES), { maxLength: 20 }).map((parts) => parts.join('')),
  { minLength: 3, maxLength: 6 },
);

describe('a search of lines', () => {
  it('DOR-02 gives the lines that match, with their numbers, in order', () => {
    expect(found('b.$', 'abc\nb\r\nxbx\nabc')).toEqual([
      { number: 1, text: 'abc' },
      { number: 3, text: 'xbx' },
      { number: 4, text: 'abc' },
    ]);
    expect(found('needle', '\nneedle needle\n\nneedle')).toEqual([
      { number: 2, text: 'needle needle' },
      { number: 4, text: 'needle' },
    ]);
    expect(found('^$', 'a\n\nb\n')).toEqual([{ number: 2, text: '' }]);
  });

  it('DOR-02 a match never spans lines, whatever the pattern says', () => {
    for (const spanning of ['a\nb', 'a\\nb', '(?s)a.b', '(?m)a$\nb', 'a\r'])
      expect(found(spanning, 'a\r\nb\na\nb')).toEqual([]);
  });

  it('DOR-02 refuses a pattern in the engine’s own words', () => {
    expect(refusal('(')).toBe('error parsing regexp: missing closing ): `(`');
    expect(refusal('a**')).toBe('error parsing regexp: invalid nested repetition operator: `**`');
    expect(refusal('(?=a)')).toBe('error parsing regexp: invalid or unsupported Perl syntax: `(?=`');
    expect(refusal('(a)\\1')).toContain('invalid escape sequence');
  });

  it('DOR-02 refuses a pattern that is long, or that unfolds to a long program, at once', () => {
    const startedMs = performance.now();
    expect(refusal('x'.repeat(5_000_000))).toContain('5000000 characters; at most 1000');
    expect(refusal('(ab){600}')).toContain('instructions; at most 1000');
    expect(refusal('((a{10}){10}){10}{10}')).toContain('error parsing regexp');
    expect(found(`${'('.repeat(400)}a${')'.repeat(400)}`, 'b\na')).toHaveLength(1);
    expect(performance.now() - startedMs).toBeLessThan(5_000);
  });

  it.each([
    '(a+)+$',
    '(a|a)*[bc]',
    '(.*)(.*)(.*)(.*)(.*)[0-9]',
    '(a?){50}a{50}b?$',
    '(?i)a*a*a*a*[bB]',
    '([a-z]+)*[A-Z]',
    'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab',
  ])('DOR-02 asks a line of 1 MB and 100,000 short ones of a hostile pattern in seconds: %s', (hostile) => {
    const startedMs = performance.now();
    const search = searchFor(hostile);
    for (const text of ['a'.repeat(1_000_000), 'aaaaaaaaa\n'.repeat(100_000)])
      expect([...search.matching(text)].length).toBeLessThanOrEqual(100_000);
    expect(performance.now() - startedMs).toBeLessThan(10_000);
  });
});

describe('the text that stands in every match', () => {
  it.each(LITERALS)('DOR-02 of %j is %j', (expression, literal) => {
    expect(requiredLiteral(expression)).toBe(literal);
  });

  it('DOR-02 is at most 32 characters, and found of a long pattern at once', () => {
    const startedMs = performance.now();
    expect(requiredLiteral('x'.repeat(1_000_000))).toBe('x'.repeat(32));
    for (const part of ['[', '[a', '{1', '\\', '(', 'a{2}', '[^]', ')'])
      expect(requiredLiteral(part.repeat(500_000))?.length ?? 0).toBeLessThanOrEqual(32);
    expect(performance.now() - startedMs).toBeLessThan(10_000);
  });

  it('DOR-02 changes nothing of what is found', () => {
    const tally = new Tally();
    fc.assert(
      fc.property(pattern, texts, (expression, searched) => {
        const [quick, plain] = [true, false].map((prefilter) => compileSearch(expression, { prefilter }));
        expect(quick?.ok).toBe(plain?.ok);
        const literal = requiredLiteral(expression);
        let hits = 0;
        if (quick?.ok === true && plain?.ok === true)
          for (const text of searched) {
            const expected = [...plain.search.matching(text)];
            hits += expected.length;
            expect([...quick.search.matching(text)]).toEqual(expected);
          }
        tally.count({
          refused: quick?.ok === false,
          'with a literal, found': literal !== null && hits > 0,
          'with a literal, not found': quick?.ok === true && literal !== null && hits === 0,
          'without, found': literal === null && hits > 0,
        });
      }),
      {
        numRuns: 8_000,
        examples: [
          ['[^]abc[x]a', ['-a']],
          ['[]abc[x]', ['b']],
        ],
      },
    );
    tally.report('patterns');
  });
});
