import { describe, expect, it } from 'vitest';
import { isHonestNoData, isStale } from '../../../src/checks/freshness.ts';
import { checkLexiconFor } from '../../../src/checks/lexicon/index.ts';
import type { Reading } from '../../../src/ledger/reading.ts';

const lexicon = checkLexiconFor(null);
const live: Reading = { source: 'lexical', version: 1, act: 'answer', domains: ['live-data'], confidence: 1 };
const plain: Reading = { ...live, domains: ['filesystem'] };
const stale = 'It is 28°C in Noida.';

describe('freshness', () => {
  it('CHK-03 F29 a figure stated as current without an observation is stale', () => {
    expect(isStale({ reading: live, observed: false, text: stale }, lexicon)).toBe(true);
  });

  it('CHK-03 F29 a different figure is as stale: another figure repairs nothing', () => {
    expect(isStale({ reading: live, observed: false, text: 'Copper is at 4.10 USD.' }, lexicon)).toBe(true);
    expect(isStale({ reading: live, observed: false, text: null }, lexicon)).toBe(true);
  });

  it('CHK-03 an observation makes every reply fresh', () => {
    for (const text of [stale, null])
      expect(isStale({ reading: live, observed: true, text }, lexicon)).toBe(false);
  });

  it('CHK-03 only a reading of live data asks for an observation', () => {
    expect(isStale({ reading: plain, observed: false, text: stale }, lexicon)).toBe(false);
    expect(isStale({ reading: null, observed: false, text: null }, lexicon)).toBe(false);
  });

  it('CHK-03 an honest admission excuses a text', () => {
    const text = "I don't have access to live weather data.";
    expect(isStale({ reading: live, observed: false, text }, lexicon)).toBe(false);
  });

  it('CHK-03 a text that only asks back states nothing, unless it holds a figure', () => {
    const asks = (text: string) => isStale({ reading: live, observed: false, text }, lexicon);
    expect(asks('Which city do you mean?')).toBe(false);
    expect(asks('It is sunny. Anything else?')).toBe(true);
    expect(asks('It is 28 degrees, is it not?')).toBe(true);
    expect(asks(' \n')).toBe(false);
  });
});

describe('honest wording', () => {
  it.each([
    "I don't have access to live data.",
    'I do not have today’s figure.',
    'I couldn’t find a current price.',
    'Unable to retrieve the forecast.',
    'The latest price could not be retrieved.',
    'There is no live data for that.',
    'There is no up-to-date information on this.',
    'Live prices are not available to me.',
    "Sorry, I can't check that right now.",
    'I cannot currently access the internet.',
    'I searched the web, but could not find it.',
    'I do not know the current price.',
    'I do not have the latest on that.',
    'My search returned no results.',
    'I was not able to verify the score.',
    'We have no access to that feed.',
  ])('CHK-03 passes: %s', (text) => {
    expect(isHonestNoData(text, lexicon)).toBe(true);
  });

  it.each([
    stale,
    "The market couldn't hold its gains: copper is at 4.10.",
    "You don't have to bring a coat: it is 28 degrees.",
    "I don't have to look up live data: it is 28.",
    "I don't have any doubt: it is 28.",
    "I couldn't agree more, it is 28.",
    'Analysts could not find a reason; it is 4.10.',
    'The shop is not available on Sundays. It is 28.',
    "I can't wait to check the match. It stands 2-1.",
    'No doubt the latest data says 28.',
    'Police cannot locate the suspect, and it is 28 outside.',
    '',
  ])('CHK-03 is no admission: %s', (text) => {
    expect(isHonestNoData(text, lexicon)).toBe(false);
  });
});
