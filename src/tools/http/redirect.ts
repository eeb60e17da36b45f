/** Whether a redirect is followed, and where to. Whether the place may be reached is asked of every hop alike. */

const MAX_REDIRECTS = 3;
/** Those that ask for the same method and body again. */
const SAME_METHOD: ReadonlySet<number> = new Set([307, 308]);
const ANY_METHOD: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

export type NextHop =
  | { readonly kind: 'follow'; readonly url: URL }
  | { readonly kind: 'refuse'; readonly reason: string };

export function isRedirect(status: number): boolean {
  return ANY_METHOD.has(status);
}

/** `location` as the server sent it; `hop` counts redirects followed before. */
export function nextHop(
  from: URL,
  {
    method,
    status,
    location,
    hop,
  }: {
    readonly method: string;
    readonly status: number;
    readonly location: string | undefined;
    readonly hop: number;
  },
): NextHop {
  if (hop >= MAX_REDIRECTS) return refuse(`it redirects more than ${MAX_REDIRECTS} times`);
  if (method !== 'GET' && !SAME_METHOD.has(status))
    return refuse(`it answered ${status}, a redirect that is not followed for ${method}`);
  if (location === undefined || !URL.canParse(location, from.href))
    return refuse('it redirects without a valid address');
  const url = new URL(location, from.href);
  if (from.protocol === 'https:' && url.protocol !== 'https:')
    return refuse('it redirects from https to an address without');
  return { kind: 'follow', url };
}

function refuse(reason: string): NextHop {
  return { kind: 'refuse', reason };
}
