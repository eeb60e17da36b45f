/** Server-sent events, cut out of bytes as they arrive. https://html.spec.whatwg.org/multipage/server-sent-events.html */

export interface ServerEvent {
  /** The event's own; '' when it has none. */
  readonly id: string;
  readonly type: string;
  readonly data: string;
}

/** The server sends a comment every 15 s; three missed ones mean that nobody is there. */
const SILENCE_MS = 45_000;
/** One event of the server's is far smaller: a longer one is no event stream. */
const MAX_EVENT_CHARS = 16 * 1024 * 1024;

/** Ends with the stream. @throws Error when the stream breaks or falls silent. */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  silenceMs = SILENCE_MS,
): AsyncGenerator<ServerEvent, void, void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const parser = new EventParser();
  try {
    for (;;) {
      const { done, value } = await readWithin(reader, silenceMs);
      if (done) return;
      yield* parser.push(decoder.decode(value, { stream: true }));
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

/** An event ends with an empty line; what follows the last one is no event yet. */
export class EventParser {
  #rest = '';
  #id = '';
  #type = '';
  #data: string[] = [];

  push(text: string): readonly ServerEvent[] {
    this.#rest += text;
    if (this.#rest.length > MAX_EVENT_CHARS)
      throw new Error('the event stream holds an event without an end');
    const lines = this.#rest.split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? '';
    return lines.flatMap((line) => this.#take(line));
  }

  #take(line: string): readonly ServerEvent[] {
    if (line === '') return this.#finish();
    const colon = line.indexOf(':');
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (field === 'data') this.#data.push(value);
    else if (field === 'event') this.#type = value;
    else if (field === 'id' && !value.includes('\0')) this.#id = value;
    return [];
  }

  #finish(): readonly ServerEvent[] {
    const data = this.#data;
    const type = this.#type === '' ? 'message' : this.#type;
    const id = this.#id;
    this.#data = [];
    this.#type = '';
    this.#id = '';
    return data.length === 0 ? [] : [{ id, type, data: data.join('\n') }];
  }
}

async function readWithin(reader: ReadableStreamDefaultReader<Uint8Array>, silenceMs: number) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`the server was silent for ${silenceMs} ms`)), silenceMs);
  });
  try {
    return await Promise.race([reader.read(), silence]);
  } finally {
    clearTimeout(timer);
  }
}
