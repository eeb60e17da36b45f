/** Whether an answer uses nothing of what was retrieved for it. */
import { addressesIn, addressOf, hostOf, urlsIn } from './addresses.ts';
import { asksBack } from './asks-back.ts';
import { figureKeys, marksOf } from './figures.ts';
import { isHonestNoData } from './freshness.ts';
import type { CheckLexicon } from './lexicon/index.ts';
import { wordsOf } from './words.ts';

/** Shorter parts of a host, such as `co`, name nobody. */
const LEAST_NAME_LENGTH = 3;
/** Figures in digits that are not compared. */
const OTHER_DIGIT = /(?![0-9])\p{Nd}/u;

/**
 * `results`: the whole results of the batch just before the answer, which retrieved. Its markers are hosts of
 * addresses and figures of at least two digits; results without any ground everything. A site is used by its
 * address or its name.
 */
export function isUngrounded(
  given: { readonly text: string; readonly results: readonly string[] },
  lexicon: CheckLexicon,
): boolean {
  const { text, results } = given;
  if (text.trim() === '' || OTHER_DIGIT.test(text)) return false;
  if (isHonestNoData(text, lexicon) || asksBack(text)) return false;
  const figures = figureKeys(text, lexicon);
  const used = { addresses: addressesIn(text), words: new Set(wordsOf(text)) };
  let marked = false;
  for (const result of results) {
    for (const url of urlsIn(result)) {
      if (namesHost(hostOf(addressOf(url)), used)) return false;
      marked = true;
    }
    for (const keys of marksOf(result, lexicon)) {
      if (keys.some((key) => figures.has(key))) return false;
      marked = true;
    }
  }
  return marked;
}

function namesHost(
  host: string,
  used: { readonly addresses: ReadonlySet<string>; readonly words: ReadonlySet<string> },
): boolean {
  if (used.addresses.has(host)) return true;
  const names = host.split('.').slice(0, -1);
  return names.some(
    (name) =>
      name.length >= LEAST_NAME_LENGTH &&
      name.split('-').every((part) => part === '' || used.words.has(part)),
  );
}
