/** Which addresses of a card were made up: they stand in nothing the turn was given or found. */
import type { Json } from '../ledger/json.ts';
import { addressesIn, addressOf, urlsIn, withoutScheme } from './addresses.ts';
import { textsOf } from './json-texts.ts';

/** `isGiven` gets each address without its fragment and trailing signs, then without its scheme and `www.` too. */
export function uncitedSources(args: Json, isGiven: (url: string) => boolean): readonly string[] {
  const cited = new Set<string>();
  for (const { text } of textsOf(args)) for (const url of urlsIn(text)) cited.add(url);
  return [...cited].filter((url) => !isGiven(url) && !isGiven(withoutScheme(url)));
}

/**
 * Reads whole texts once. Scheme, `www.` and case are no difference; an address is given where it stands with a
 * query more, and a host where any page of it stands.
 */
export function givenIn(texts: Iterable<string>): (url: string) => boolean {
  const given: ReadonlySet<string>[] = [];
  for (const text of texts) given.push(addressesIn(text));
  return (url) => given.some((addresses) => addresses.has(addressOf(url)));
}
