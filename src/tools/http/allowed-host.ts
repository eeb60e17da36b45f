/** Hosts that may be reached wherever they are: `host` on every port, or `host:port`. Exact names, no patterns. */

/** Nothing of a URL but its host and port, and no pattern. */
const OTHER_PARTS = /[\s/?#@\\*]|:$/;
const PORT = /:(\d{1,5})$/;
const DEFAULT_PORTS: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };

interface AllowedHost {
  /** As URL spells it. */
  readonly hostname: string;
  readonly port: string | null;
}

export function isAllowedHostForm(text: string): boolean {
  return readHost(text) !== null;
}

export function isAllowedHost(allow: readonly string[], { protocol, hostname, port }: URL): boolean {
  const effective = port === '' ? DEFAULT_PORTS[protocol] : port;
  return allow.some((text) => {
    const host = readHost(text);
    return host !== null && host.hostname === hostname && (host.port === null || host.port === effective);
  });
}

function readHost(text: string): AllowedHost | null {
  const address = `http://${text}`;
  if (OTHER_PARTS.test(text) || !URL.canParse(address)) return null;
  const port = PORT.exec(text)?.[1];
  return { hostname: new URL(address).hostname, port: port === undefined ? null : String(Number(port)) };
}
