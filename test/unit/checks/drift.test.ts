import { describe, expect, it } from 'vitest';
import { isRepeatOf } from '../../../src/checks/drift.ts';

const answer = 'The market closed higher on Monday.';
const given = { text: answer, directive: 'What did bonds do?' };
const earlier = { answer, asked: 'How did the market close?', sameThread: false };

describe('drift', () => {
  it('CHK-05 an earlier answer word for word is a repeat, outer white space aside', () => {
    expect(isRepeatOf(given, earlier)).toBe(true);
    expect(isRepeatOf({ ...given, text: `\n ${answer}  ` }, { ...earlier, answer: `${answer}\n` })).toBe(
      true,
    );
  });

  it('CHK-05 F34 a related follow-up with an answer of its own is none', () => {
    expect(isRepeatOf({ ...given, text: `${answer} Bonds fell.` }, earlier)).toBe(false);
    expect(isRepeatOf({ ...given, text: answer.toLowerCase() }, earlier)).toBe(false);
  });

  it('CHK-05 an answer within the thread may be repeated', () => {
    expect(isRepeatOf(given, { ...earlier, sameThread: true })).toBe(false);
  });

  it('CHK-05 F34 the same directive asked twice gets the same answer, however it is typed', () => {
    expect(isRepeatOf({ ...given, directive: earlier.asked }, earlier)).toBe(false);
    expect(isRepeatOf({ ...given, directive: '  how did the MARKET close ' }, earlier)).toBe(false);
    expect(isRepeatOf({ ...given, directive: 'How did the market close today?' }, earlier)).toBe(true);
    expect(isRepeatOf({ ...given, directive: 'How did the market' }, earlier)).toBe(true);
  });

  it('CHK-05 an answer of fewer than five words is repeated in good faith', () => {
    const short = (text: string) => isRepeatOf({ ...given, text }, { ...earlier, answer: text });
    expect(short('Yes, that is right.')).toBe(false);
    expect(short('Yes, that is quite right.')).toBe(true);
    expect(short('今天的市场收盘上涨了。')).toBe(true);
  });

  it('CHK-05 an honest admission is repeated in good faith', () => {
    const text = 'I could not find any data on that.';
    expect(isRepeatOf({ ...given, text }, { ...earlier, answer: text })).toBe(false);
  });
});
