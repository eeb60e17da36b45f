/** Addresses of the web as texts write them, in a form in which two writings of one address are equal. */

/** One class behind the scheme, so that every address is read once. */
const URL = /https?:\/\/[^\s<>"'`{}|\\^]+/giu;
const SCHEME = /https?:\/\//iu;
const LEADING = /^(?:https?:\/\/)?(?:www\.)?/iu;
const BETWEEN = /[\s<>"'`{}|\\^]+/u;
/** A chunk without a scheme that may be an address: `example.com/page`. */
const BARE = /^[^/?#]*\.\p{L}{2}/u;
/** What markup puts right behind an address. */
const CLOSERS = /[)\],;]/u;
const TRAILING = '.,;:!?*_~)]/';

/** As written, without the fragment and what trails; each once, in order. */
export function urlsIn(text: string): readonly string[] {
  return [...new Set([...withoutJsonEscapes(text).matchAll(URL)].map(([url]) => trimmed(url)))];
}

/** Without scheme, `www.`, fragment and trailing signs, in lower case. */
export function addressOf(url: string): string {
  return withoutScheme(trimmed(url)).toLowerCase();
}

export function withoutScheme(url: string): string {
  return url.replace(LEADING, '');
}

/** `host` of an `addressOf`, without user and port. */
export function hostOf(address: string): string {
  const authority = upTo(address, /[/?]/u);
  return upTo(authority.slice(authority.lastIndexOf('@') + 1), /:/u);
}

/** Every address of the text, each also without its query and as its host alone. */
export function addressesIn(text: string): ReadonlySet<string> {
  const addresses = new Set<string>();
  for (const chunk of withoutJsonEscapes(text).split(BETWEEN)) {
    if (!chunk.includes('.') && !SCHEME.test(chunk)) continue;
    // An address may hold another, or stand right behind one.
    const [bare = '', ...urls] = chunk.split(SCHEME);
    const bares = bare.split(/[()[\],;]+/u).filter((part) => BARE.test(part));
    const written = [...(chunk.match(URL) ?? []), ...urls, ...bares];
    for (const url of written)
      for (const form of [url, upTo(url, CLOSERS)]) {
        const address = addressOf(form);
        addresses
          .add(address)
          .add(addressOf(upTo(address, /\?/u)))
          .add(hostOf(address));
      }
  }
  return addresses;
}

function trimmed(url: string): string {
  const whole = upTo(url, /#/u);
  let end = whole.length;
  while (end > 0 && TRAILING.includes(whole.charAt(end - 1))) end -= 1;
  return whole.slice(0, end);
}

function upTo(text: string, sign: RegExp): string {
  const at = text.search(sign);
  return at === -1 ? text : text.slice(0, at);
}

function withoutJsonEscapes(text: string): string {
  return text.replaceAll('\\/', '/').replaceAll('\\u0026', '&').replaceAll('&amp;', '&');
}
