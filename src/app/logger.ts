/** The process's own log: JSON lines on standard error, in which no credential stands. */
import { type DestinationStream, type Logger, pino } from 'pino';
import type { Config, Environment, LogLevel } from './config.ts';

export type { Logger } from 'pino';

export interface LoggerOptions {
  readonly level: LogLevel;
  /** Texts that must never appear, whatever they stand in. */
  readonly secrets: readonly string[];
  /** Standard error unless given. */
  readonly destination?: DestinationStream;
}

const MASK = '[redacted]';
/** Shorter texts occur by chance, and masking them would garble every line. */
const MIN_SECRET_CHARS = 6;

const SECRET_FIELD =
  '(?:proxy-)?authorization|x-api-key|api[-_]?key|x-goog-api-key|(?:set-)?cookie|password|passwd|secret|client[-_]?secret|(?:access[-_]?|refresh[-_]?)?token|bearer';
/** A field of the line itself: the value is one whole JSON text or list. */
const FIELD = new RegExp(`("(?:${SECRET_FIELD})":)(?:"(?:[^"\\\\]|\\\\.)*"|\\[[^\\]]*\\])`, 'gi');
/** The same inside JSON that stands as text in a line, where quotes are escaped. */
const QUOTED_FIELD = new RegExp(
  `(\\\\+"(?:${SECRET_FIELD})\\\\+"\\s*:\\s*\\\\+")(?:[^"\\\\]|\\\\(?!"))*`,
  'gi',
);
const AUTH_SCHEME = /\b(bearer|basic)\s+[^\s"',;\\]{6,}/gi;
const URL_PASSWORD = /([a-z][a-z0-9+.-]*:\/\/[^\s:@/"\\]*):[^\s"\\]+@/gi;
/** Keys whose shape gives them away, whoever issued them. */
const KEY_SHAPE = /\b(?:sk|pk|rk|gsk|xai)-[\w-]{16,}/g;

export function createLogger(options: LoggerOptions): Logger {
  const destination = options.destination ?? pino.destination({ dest: 2, sync: true });
  const redact = createRedactor(options.secrets);
  return pino(
    { level: options.level, base: { pid: process.pid }, timestamp: pino.stdTimeFunctions.isoTime },
    {
      write: (line) => {
        destination.write(redact(line));
      },
    },
  );
}

/** Masks the given texts, in the forms JSON and URLs give them, and whatever looks like a credential. */
export function createRedactor(secrets: readonly string[]): (text: string) => string {
  const forms = secrets.filter((secret) => secret.length >= MIN_SECRET_CHARS).flatMap(formsOf);
  // The longest first: a secret may hold another.
  const known = [...new Set(forms)].sort((a, b) => b.length - a.length);
  return (text) =>
    known
      .reduce((masked, form) => masked.replaceAll(form, MASK), text)
      .replace(FIELD, `$1"${MASK}"`)
      .replace(QUOTED_FIELD, `$1${MASK}`)
      .replace(AUTH_SCHEME, `$1 ${MASK}`)
      .replace(URL_PASSWORD, `$1:${MASK}@`)
      .replace(KEY_SHAPE, MASK);
}

/** What a configuration makes secret: the keys of its legs and the passwords of its URLs. */
export function secretsOf(config: Config, env: Environment): readonly string[] {
  const keys = config.legs.flatMap((leg) => (leg.apiKeyEnv === undefined ? [] : [env[leg.apiKeyEnv] ?? '']));
  const urls = [
    config.databaseUrl,
    config.redisUrl,
    config.ownerUrl,
    ...config.legs.map((leg) => leg.baseUrl),
  ];
  const servers = Object.values(config.mcp?.servers ?? {}).flatMap(({ endpoint }) =>
    Object.values(endpoint.kind === 'stdio' ? endpoint.environment : endpoint.headers),
  );
  return [...keys, ...servers.map((name) => env[name] ?? ''), ...urls.flatMap(passwordOf)].filter(
    (secret) => secret !== '',
  );
}

function passwordOf(url: string | undefined): string[] {
  if (url === undefined || !URL.canParse(url)) return [];
  const { password } = new URL(url);
  try {
    return [password, decodeURIComponent(password)];
  } catch {
    return [password];
  }
}

function formsOf(secret: string): string[] {
  const inJson = JSON.stringify(secret).slice(1, -1);
  return [
    secret,
    inJson,
    JSON.stringify(inJson).slice(1, -1),
    encodeURIComponent(secret),
    Buffer.from(secret).toString('base64'),
  ];
}
