/** Whether a request to the board comes from where it may. Pure. */
import type { IncomingHttpHeaders } from 'node:http';

const READS = new Set(['GET', 'HEAD', 'OPTIONS']);
const LOCAL_NAMES = /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d{1,5})?$/iu;

/**
 * Why the request is refused, or null. A change must come from the board's own page; on a loopback listener,
 * where nobody is asked for credentials, the name asked for must be this machine's, or any page whose name
 * resolves here could read the board.
 */
export function boardRefusal(method: string, headers: IncomingHttpHeaders, loopback: boolean): string | null {
  const host = headers.host ?? '';
  if (loopback && !LOCAL_NAMES.test(host))
    return `The board answers to localhost here; found the host "${host.slice(0, 60)}". Open it by localhost.`;
  if (READS.has(method) || isSameOrigin(host, headers)) return null;
  return 'A change must come from the board itself: its Origin or Sec-Fetch-Site must say same-origin.';
}

function isSameOrigin(host: string, headers: IncomingHttpHeaders): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined && site !== 'same-origin') return false;
  const { origin } = headers;
  if (origin === undefined) return site === 'same-origin';
  return URL.canParse(origin) && new URL(origin).host === host && host !== '';
}
