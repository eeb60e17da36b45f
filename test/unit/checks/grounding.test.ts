import { describe, expect, it } from 'vitest';
import { isUngrounded } from '../../../src/checks/grounding.ts';
import { checkLexiconFor } from '../../../src/checks/lexicon/index.ts';

function ungrounded(text: string, ...results: readonly string[]): boolean {
  return isUngrounded({ text, results }, checkLexiconFor(null));
}

describe('grounding', () => {
  it('CHK-06 an answer that uses no host and no figure of the results is ungrounded', () => {
    expect(ungrounded('It is 31 degrees.', '{"t": 28.6}')).toBe(true);
    expect(ungrounded('It is warm.', 'https://weather.example/city')).toBe(true);
    expect(ungrounded('Copper is at 3.95.', '4.10 USD, see https://metals.example/x')).toBe(true);
  });

  it('CHK-06 one figure or one host used grounds it', () => {
    expect(ungrounded('It is 28.6 degrees.', '{"t": 28.6, "wind": 14}')).toBe(false);
    expect(ungrounded('See https://weather.example/other.', 'https://weather.example/city')).toBe(false);
    expect(ungrounded('Reuters reports a rise.', 'https://www.reuters.com/a')).toBe(false);
    expect(ungrounded('Open-Meteo says mild.', 'https://api.open-meteo.com/v1')).toBe(false);
  });

  it('CHK-06 results without a marker ground everything', () => {
    expect(ungrounded('It is 31 degrees.', 'mild and dry', 'no 5, no 7')).toBe(false);
    expect(ungrounded('It is 31 degrees.')).toBe(false);
  });

  it('CHK-06 F33 markers far into the results and in the second result count', () => {
    const far = `${'words and more '.repeat(1_000)} 4711`;
    expect(ungrounded('It is 4711.', far)).toBe(false);
    expect(ungrounded('It is 4711.', 'page 99', 'room 4711')).toBe(false);
    expect(ungrounded('It is 4712.', far)).toBe(true);
    expect(ungrounded('It is 12.', 'mild', 'room 4711')).toBe(true);
  });

  it('CHK-06 an honest admission and a question back pass', () => {
    expect(ungrounded('I could not find the price.', '4711')).toBe(false);
    expect(ungrounded('Which of the two do you mean?', '4711')).toBe(false);
    expect(ungrounded(' ', '4711')).toBe(false);
  });

  it.each([
    ['thousands with commas', '1,234,567 people', '1234567'],
    ['thousands with points', '1.234.567 Menschen', '1234567'],
    ['thousands with spaces', '1\u202f234\u00a0567', '1,234,567'],
    ['thousands with a plain space', '10 500 users', '10500'],
    ['decimals dropped', 'about 28 degrees', '28.6'],
    ['decimals rounded', 'about 29 degrees', '28.6'],
    ['fewer decimals', '3.14', '3.14159'],
    ['trailing zeros', '4.1', '4.10'],
    ['a decimal comma', '28,6 Grad', '28.6'],
    ['millions in words', 'about 1.3 million', '1,267,000'],
    ['words in digits', '1,200,000', '1.2 million'],
    ['a share in per cent', '42 %', '0.42'],
    ['a part of a date', 'in 2024', '2024-05-01'],
    ['one digit of a longer figure', 'about 7', '7.4'],
  ])('CHK-06 a figure counts as used with %s', (_, text, result) => {
    expect(ungrounded(text, result)).toBe(false);
  });

  it.each([
    ['another figure', '27', '28.6'],
    ['more decimals than were found', '28.4', '28'],
    ['a part of a figure', '234', '1,234,567 or 99'.replace('1,234,567', '1234567')],
    ['another scale', '13', '1,267,000'],
  ])('CHK-06 a figure does not count as used with %s', (_, text, result) => {
    expect(ungrounded(text, result)).toBe(true);
  });

  it('CHK-06 figures in digits of another script are not judged', () => {
    expect(ungrounded('तापमान २८ है', '{"t": 31}')).toBe(false);
  });
});
