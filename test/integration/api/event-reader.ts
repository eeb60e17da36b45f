/** Reads a turn's event stream as a client does: one event after the other, with a bound on every wait. */
import { type ClientRequest, get, type IncomingMessage } from 'node:http';

/** JSON as it came: tests read its members and fail where one is missing. */
export type Parsed = ReturnType<typeof JSON.parse>;

export interface SeenEvent {
  readonly id: string | null;
  readonly type: string;
  readonly data: Parsed;
}

export interface EventReader {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  /** Everything received so far, comments left out. */
  readonly seen: readonly SeenEvent[];
  readonly comments: readonly string[];
  /** The first event that `matches`, received already or yet to come. */
  next(matches: (event: SeenEvent) => boolean): Promise<SeenEvent>;
  /** All events, when the server has ended the stream. */
  all(): Promise<readonly SeenEvent[]>;
  close(): void;
}

const LIMIT_MS = 20_000;

export async function readEvents(
  url: string,
  turn: string,
  key: string,
  lastEventId?: string,
): Promise<EventReader> {
  const headers = {
    authorization: `Bearer ${key}`,
    ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
  };
  const { request, response } = await open(`${url}/v1/turns/${turn}/events`, headers);
  const seen: SeenEvent[] = [];
  const comments: string[] = [];
  const waiters = new Set<() => void>();
  let text = '';
  let ended = false;
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => {
    text += chunk;
    for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
      const block = text.slice(0, end);
      text = text.slice(end + 2);
      if (block.startsWith(':')) comments.push(block);
      else if (!block.startsWith('retry:')) seen.push(parse(block));
    }
    for (const waiter of waiters) waiter();
  });
  const finish = () => {
    ended = true;
    for (const waiter of waiters) waiter();
  };
  response.on('close', finish);
  response.on('error', finish);
  const waitFor = <T>(what: string, probe: () => T | undefined): Promise<T> =>
    new Promise((resolve, reject) => {
      const check = () => {
        const value = probe();
        if (value === undefined && !ended) return;
        clearTimeout(timer);
        waiters.delete(check);
        if (value === undefined)
          reject(new Error(`the stream ended before ${what}: ${JSON.stringify(seen)}`));
        else resolve(value);
      };
      const timer = setTimeout(() => {
        waiters.delete(check);
        reject(new Error(`no ${what} within ${LIMIT_MS} ms: ${JSON.stringify(seen)}`));
      }, LIMIT_MS);
      waiters.add(check);
      check();
    });
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    seen,
    comments,
    next: (matches) => waitFor('such event', () => seen.find(matches)),
    all: () => waitFor('end', () => (ended ? seen : undefined)),
    close: () => request.destroy(),
  };
}

function open(
  url: string,
  headers: Record<string, string>,
): Promise<{ request: ClientRequest; response: IncomingMessage }> {
  return new Promise((resolve, reject) => {
    const request = get(url, { headers, agent: false }, (response) => resolve({ request, response }));
    request.on('error', reject);
  });
}

function parse(block: string): SeenEvent {
  const fields = new Map(
    block.split('\n').map((line) => {
      const at = line.indexOf(': ');
      return [line.slice(0, at), line.slice(at + 2)] as const;
    }),
  );
  return {
    id: fields.get('id') ?? null,
    type: fields.get('event') ?? 'message',
    data: JSON.parse(fields.get('data') ?? 'null'),
  };
}

export const isDurable = (event: SeenEvent): boolean => event.id !== null && /^\d+$/u.test(event.id);
