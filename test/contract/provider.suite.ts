/** What every provider adapter does, whatever its wire. A subject brings its own scripted server. */
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../src/context/request.ts';
import type { CallOutcome, Delta, Provider, ProviderFailure } from '../../src/providers/contract.ts';

export interface SuiteCall {
  readonly id: string | null;
  readonly name: string;
  readonly args: string;
}

export interface SuiteUsage {
  readonly fresh: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
  readonly output: number;
}

/** A refusal of a prompt that is too long, in the words of one provider; not every one states the limit. */
export interface SuiteOverLength {
  readonly status: number;
  readonly body: unknown;
  readonly limitTokens?: number;
}

/** Each control sets what the next request is answered with. */
export interface ProviderSubject {
  readonly provider: Provider;
  /** The credential the provider was made with. */
  readonly secret: string;
  /** False for a wire that reports one prompt count only. */
  readonly hasCacheTiers: boolean;
  /** OpenAI's words where left out. */
  readonly overLength?: SuiteOverLength;
  /** Returns the number of bytes that must arrive before the reply is complete. */
  replyText(pieces: readonly string[], usage?: SuiteUsage): number;
  replyThinking(thought: string, answer: string): void;
  replyToolCalls(calls: readonly SuiteCall[]): void;
  replyFinish(reason: string): void;
  /** A stream that begins well and then reports trouble of the server's own. */
  failInStream(piece: string): void;
  fail(status: number, body: string, headers?: Readonly<Record<string, string>>): void;
  /** 200, then these bytes whatever they are. */
  replyBytes(bytes: Buffer): void;
  /** Text events without end until about this many bytes were sent. */
  replyEndlessly(bytes: number): void;
  /** Cuts the reply set before after so many bytes, by ending the body or resetting the connection. */
  cutAfter(bytes: number, how: 'clean' | 'reset'): void;
  /** Accepts the request and never answers, or answers its first text and then no more. */
  hang(after?: string): void;
  /** Resolves once the last request arrived. */
  arrived(): Promise<void>;
  /** Resolves once the server saw the last request's connection close. */
  disconnected(): Promise<void>;
  requestCount(): number;
  close(): Promise<void>;
}

/** Bounds a hang of the code under test; no assertion depends on its length. */
const PATIENCE_MS = 30_000;

const OPENAI_OVER_LENGTH: SuiteOverLength = {
  status: 400,
  body: {
    error: {
      message:
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000 tokens.",
      type: 'invalid_request_error',
      param: 'messages',
      code: 'context_length_exceeded',
    },
  },
  limitTokens: 128_000,
};

const REQUEST: ChatRequest = {
  system: 'You answer briefly.',
  tools: [],
  messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello?' }] }],
  maxTokens: 100,
};

/** `requirement` is the id the subject's tests carry, when its wire is one. */
export function providerConformance(
  name: string,
  makeSubject: () => Promise<ProviderSubject>,
  requirement?: string,
): void {
  const title: Title = (behaviour) => (requirement === undefined ? behaviour : `${requirement} ${behaviour}`);
  describe(`${name} as a provider`, () => {
    let subject: ProviderSubject;
    beforeEach(async () => {
      subject = await makeSubject();
    });
    afterEach(async () => {
      await subject.close();
    });

    const call = (options: Partial<Parameters<Provider['call']>[1]> = {}): Promise<CallOutcome> =>
      subject.provider.call(REQUEST, {
        signal: new AbortController().signal,
        timeoutMs: PATIENCE_MS,
        ...options,
      });

    replyCases(title, () => subject, call);
    callCases(title, () => subject, call);
    failureCases(title, () => subject, call);
    brokenStreamCases(title, () => subject, call);
    endingCases(title, () => subject, call);
  });
}

type Title = (behaviour: string) => string;
type Call = (options?: Partial<Parameters<Provider['call']>[1]>) => Promise<CallOutcome>;

function replyCases(title: Title, subject: () => ProviderSubject, call: Call): void {
  it(title('streams text as deltas that together are the reply'), async () => {
    subject().replyText(['Hel', 'lo, ', 'wörld 🌍']);
    const deltas: Delta[] = [];
    const reply = replyOf(await call({ onDelta: (delta) => deltas.push(delta) }));
    expect(deltas).toEqual([
      { type: 'text', text: 'Hel' },
      { type: 'text', text: 'lo, ' },
      { type: 'text', text: 'wörld 🌍' },
    ]);
    expect(reply.content).toEqual([{ type: 'text', text: 'Hello, wörld 🌍' }]);
    expect(reply.finish).toBe('stop');
    expect(reply.model).toBe('served-model');
  });

  it(title('sends one HTTP request for a call'), async () => {
    subject().replyText(['a']);
    await call();
    expect(subject().requestCount()).toBe(1);
  });

  it(title('reports the prompt by cache tier, and all of it where the wire has no tiers'), async () => {
    subject().replyText(['a'], { fresh: 100, cacheRead: 2_000, cacheWrite: 300, output: 7 });
    const { usage } = replyOf(await call());
    expect(usage).toEqual(
      subject().hasCacheTiers
        ? { inputTokens: 100, cacheReadTokens: 2_000, cacheWriteTokens: 300, outputTokens: 7 }
        : { inputTokens: 2_400, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens: 7 },
    );
  });

  it(title('measures the first token before the end'), async () => {
    subject().replyText(['a', 'b']);
    const { firstTokenMs, totalMs } = replyOf(await call());
    expect(firstTokenMs).not.toBeNull();
    expect(firstTokenMs).toBeLessThanOrEqual(totalMs);
  });

  it(title('keeps thinking apart from text'), async () => {
    subject().replyThinking('Let me see.', 'Done.');
    const deltas: Delta[] = [];
    const { content } = replyOf(await call({ onDelta: (delta) => deltas.push(delta) }));
    expect(content).toMatchObject([
      { type: 'thinking', text: 'Let me see.' },
      { type: 'text', text: 'Done.' },
    ]);
    expect(deltas.map((delta) => delta.type)).toEqual(['thinking', 'text']);
  });

  it(title('hands on a reply of thinking alone, which is no answer, as just that'), async () => {
    subject().replyThinking('Let me see.', '');
    const { content, finish } = replyOf(await call());
    expect(content).toMatchObject([{ type: 'thinking', text: 'Let me see.' }]);
    expect(content).toHaveLength(1);
    expect(finish).toBe('stop');
  });

  it(title('reads an unknown finish reason as other'), async () => {
    subject().replyFinish('a reason nobody has heard of');
    expect(replyOf(await call()).finish).toBe('other');
  });
}

/** What servers do to the calls of a reply. */
function callCases(title: Title, subject: () => ProviderSubject, call: Call): void {
  it(title('returns tool calls in order with parsed arguments'), async () => {
    subject().replyToolCalls([
      { id: 'one', name: 'read_file', args: '{"path":"a.txt","lines":[1,2]}' },
      { id: 'two', name: 'list_files', args: '' },
    ]);
    const { content, finish } = replyOf(await call());
    expect(content).toEqual([
      { type: 'tool_call', id: 'one', name: 'read_file', args: { path: 'a.txt', lines: [1, 2] } },
      { type: 'tool_call', id: 'two', name: 'list_files', args: {} },
    ]);
    expect(finish).toBe('tool_calls');
  });

  it.each([
    ['cut short', '{"path": "a'],
    ['an array', '[1]'],
    ['a string', '"text"'],
    ['a number no JSON can hold', '{"n":1e999}'],
    ['nested 500 deep', `${'{"a":'.repeat(500)}1${'}'.repeat(500)}`],
  ])(title('keeps arguments that are no storable JSON object as raw text: %s'), async (_name, args) => {
    subject().replyToolCalls([{ id: 'one', name: 'read_file', args }]);
    expect(replyOf(await call()).content).toEqual([
      { type: 'tool_call', id: 'one', name: 'read_file', args: null, raw: args },
    ]);
  });

  it(title('gives calls with a missing or repeated id one of their own'), async () => {
    subject().replyToolCalls([
      { id: 'same', name: 'a', args: '{}' },
      { id: 'same', name: 'b', args: '{}' },
      { id: null, name: 'c', args: '{}' },
    ]);
    const { content } = replyOf(await call());
    expect(content.map((block) => (block.type === 'tool_call' ? [block.id, block.name] : null))).toEqual([
      ['same', 'a'],
      ['call_1', 'b'],
      ['call_2', 'c'],
    ]);
  });

  it(title('gives every call an id of its own, whichever of them are missing or repeated'), async () => {
    const id = fc.constantFrom(null, 'a', 'b', 'call_0', 'call_1');
    await fc.assert(
      fc.asyncProperty(fc.array(id, { minLength: 1, maxLength: 5 }), async (ids) => {
        subject().replyToolCalls(
          ids.map((given, index) => ({ id: given, name: `tool_${index}`, args: '{}' })),
        );
        const { content } = replyOf(await call());
        const calls = content.flatMap((block) => (block.type === 'tool_call' ? [block] : []));
        expect(calls.map(({ name }) => name)).toEqual(ids.map((_, index) => `tool_${index}`));
        expect(new Set(calls.map((made) => made.id)).size).toBe(ids.length);
      }),
      { numRuns: 20 },
    );
  });
}

function failureCases(title: Title, subject: () => ProviderSubject, call: Call): void {
  const body = (message: string): string => JSON.stringify({ error: { message } });

  it.each([
    [429, 'rate_limited'],
    [503, 'overloaded'],
    [529, 'overloaded'],
    [500, 'server_error'],
    [502, 'server_error'],
    [504, 'server_error'],
    [408, 'server_error'],
    [409, 'server_error'],
  ])(title('calls status %i retryable as %s'), async (status, code) => {
    subject().fail(status, body('busy'));
    expect(failureOf(await call())).toMatchObject({ kind: 'retryable', code, status, message: 'busy' });
    expect(subject().requestCount()).toBe(1);
  });

  it.each([
    [401, 'auth'],
    [403, 'auth'],
    [400, 'bad_request'],
    [404, 'bad_request'],
    [422, 'bad_request'],
  ])(title('calls status %i %s'), async (status, kind) => {
    subject().fail(status, body('no'));
    expect(failureOf(await call())).toMatchObject({ kind, status });
  });

  it(title('follows no redirect'), async () => {
    subject().fail(307, '', { location: 'http://127.0.0.1:1/elsewhere' });
    expect(failureOf(await call())).toMatchObject({ kind: 'bad_request', status: 307 });
    expect(subject().requestCount()).toBe(1);
  });

  it(title('takes the wait from Retry-After'), async () => {
    subject().fail(429, body('busy'), { 'retry-after': '7' });
    expect(failureOf(await call())).toMatchObject({ code: 'rate_limited', retryAfterMs: 7_000 });
    subject().fail(529, body('busy'), { 'retry-after': '3' });
    expect(failureOf(await call())).toMatchObject({ code: 'overloaded', retryAfterMs: 3_000 });
  });

  it.each([429, 503, 529])(title('makes up no wait for a status %i that states none'), async (status) => {
    subject().fail(status, body('busy'));
    expect(failureOf(await call())).not.toHaveProperty('retryAfterMs');
  });

  it(
    title('recognises an over-long prompt in its own words, and the limit where they state it'),
    async () => {
      const { status, body: said, limitTokens } = subject().overLength ?? OPENAI_OVER_LENGTH;
      subject().fail(status, JSON.stringify(said));
      const failure = failureOf(await call());
      expect(failure).toMatchObject({ kind: 'over_length', status });
      expect(failure.kind === 'over_length' && failure.limitTokens).toBe(limitTokens);
    },
  );

  it(title('never shows the credential, and keeps messages short'), async () => {
    subject().fail(401, body(`Incorrect key: ${subject().secret}. ${'More. '.repeat(500)}`));
    const failure = failureOf(await call());
    expect(failure.kind).toBe('auth');
    expect(JSON.stringify(failure)).not.toContain(subject().secret);
    expect(failure.message).toContain('Incorrect key: [redacted]');
    expect(failure.message.length).toBeLessThanOrEqual(500);
  });

  it(title('answers an error body of 50 MB with a failure'), async () => {
    subject().fail(500, 'x'.repeat(50_000_000));
    expect(failureOf(await call())).toMatchObject({ code: 'server_error', status: 500 });
  });

  it(title('classifies an error inside a stream like one before it'), async () => {
    subject().failInStream('Hel');
    const failure = failureOf(await call());
    expect(failure).toMatchObject({ kind: 'retryable' });
    expect(failure).not.toMatchObject({ code: 'malformed_reply' });
  });
}

function brokenStreamCases(title: Title, subject: () => ProviderSubject, call: Call): void {
  const malformed = { kind: 'retryable', code: 'malformed_reply' };

  it(title('never takes a cut stream for a short success, wherever and however it is cut'), async () => {
    const position = fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true });
    await fc.assert(
      fc.asyncProperty(position, fc.constantFrom('clean' as const, 'reset' as const), async (at, how) => {
        const neededBytes = subject().replyText(['The answer ', 'is no', 't known.']);
        subject().cutAfter(Math.floor(at * neededBytes), how);
        expect(failureOf(await call())).toMatchObject(malformed);
      }),
      { numRuns: 60 },
    );
  });

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['a web page', Buffer.from('<html><body>Sign in</body></html>\n\n')],
    ['text that is no JSON', Buffer.from('event: message_start\ndata: {oops\n\n{oops\n')],
    ['JSON of the wrong type', Buffer.from('event: message_start\ndata: 17\n\n')],
    ['an array', Buffer.from('event: message_start\ndata: [[[]]]\n\n')],
    ['invalid UTF-8', Buffer.from([0x64, 0x61, 0x74, 0x61, 0x3a, 0xff, 0xfe, 0xc3, 0x28, 0x0a, 0x0a])],
  ])(title('answers %s with malformed_reply'), async (_name, bytes) => {
    subject().replyBytes(bytes);
    expect(failureOf(await call())).toMatchObject(malformed);
  });

  it(title('bounds an event that never ends'), async () => {
    subject().replyBytes(Buffer.alloc(50_000_000, 'x'));
    expect(failureOf(await call())).toMatchObject(malformed);
  });

  it(title('bounds the text of a reply'), async () => {
    subject().replyEndlessly(50_000_000);
    expect(failureOf(await call())).toMatchObject(malformed);
  });
}

function endingCases(title: Title, subject: () => ProviderSubject, call: Call): void {
  it(title('ends a call that takes too long as a timeout and closes its connection'), async () => {
    subject().hang();
    expect(failureOf(await call({ timeoutMs: 500 }))).toMatchObject({ kind: 'retryable', code: 'timeout' });
    await subject().disconnected();
  });

  it(title('counts the deadline over the whole call, not to its first byte'), async () => {
    subject().hang('Hel');
    expect(failureOf(await call({ timeoutMs: 500 }))).toMatchObject({ kind: 'retryable', code: 'timeout' });
    await subject().disconnected();
  });

  it(title('ends an aborted call as aborted before an answer, and closes its connection'), async () => {
    subject().hang();
    const controller = new AbortController();
    const outcome = call({ signal: controller.signal });
    await subject().arrived();
    controller.abort();
    expect(failureOf(await outcome)).toMatchObject({ kind: 'aborted' });
    await subject().disconnected();
  });

  it(
    title('ends an aborted call as aborted in the middle of a stream, and delivers nothing more'),
    async () => {
      subject().hang('Hel');
      const controller = new AbortController();
      const deltas: string[] = [];
      const onDelta = (delta: Delta): void => {
        deltas.push(delta.text);
        controller.abort();
      };
      expect(failureOf(await call({ signal: controller.signal, onDelta }))).toMatchObject({
        kind: 'aborted',
      });
      expect(deltas).toEqual(['Hel']);
      await subject().disconnected();
    },
  );

  it(title('sends nothing when the signal is aborted already'), async () => {
    expect(failureOf(await call({ signal: AbortSignal.abort() }))).toMatchObject({ kind: 'aborted' });
    expect(subject().requestCount()).toBe(0);
  });

  it(title('throws what onDelta throws, since that is no failure of the provider'), async () => {
    subject().hang('Hel');
    const onDelta = (): void => {
      throw new RangeError('a defect of the caller');
    };
    await expect(call({ onDelta })).rejects.toThrow(new RangeError('a defect of the caller'));
    await subject().disconnected();
  });

  it(title('ends one call without touching another of the same provider'), async () => {
    subject().hang('first');
    const controller = new AbortController();
    const aborted = call({ signal: controller.signal });
    await subject().arrived();
    subject().replyText(['second']);
    const other = call();
    controller.abort();
    expect(failureOf(await aborted)).toMatchObject({ kind: 'aborted' });
    expect(replyOf(await other).content).toEqual([{ type: 'text', text: 'second' }]);
  });

  it(title('calls a server that is not there a network failure'), async () => {
    await subject().close();
    expect(failureOf(await call())).toMatchObject({ kind: 'retryable', code: 'network' });
  });
}

function replyOf(outcome: CallOutcome): Extract<CallOutcome, { ok: true }>['reply'] {
  if (!outcome.ok) throw new Error(`expected a reply, got ${JSON.stringify(outcome.failure)}`);
  return outcome.reply;
}

function failureOf(outcome: CallOutcome): ProviderFailure {
  if (outcome.ok) throw new Error(`expected a failure, got ${JSON.stringify(outcome.reply).slice(0, 300)}`);
  return outcome.failure;
}
