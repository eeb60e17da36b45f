import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Config } from '../../../src/app/config.ts';
import { createLogger, createRedactor, secretsOf } from '../../../src/app/logger.ts';

function logged(
  secrets: readonly string[],
  write: (logger: ReturnType<typeof createLogger>) => void,
): string {
  const lines: string[] = [];
  const destination = { write: (line: string) => void lines.push(line) };
  write(createLogger({ level: 'info', secrets, destination }));
  return lines.join('');
}

describe('the log', () => {
  it('is one JSON object a line, with the message, the fields and the time in UTC', () => {
    const line = logged([], (logger) => logger.info({ turn: 'T1', tokens: 12 }, 'a step ended'));
    expect(line.endsWith('\n')).toBe(true);
    expect(JSON.parse(line)).toMatchObject({
      level: 30,
      msg: 'a step ended',
      turn: 'T1',
      tokens: 12,
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    });
  });

  it('leaves out what is below its level', () => {
    expect(logged([], (logger) => logger.debug('quiet'))).toBe('');
  });

  const shapes: readonly [string, (secret: string) => { fields: object; message?: string }][] = [
    ['a message', (secret) => ({ fields: {}, message: `calling with ${secret}` })],
    ['a nested field', (secret) => ({ fields: { a: { b: [secret] } } })],
    ['an error and its stack', (secret) => ({ fields: { err: new Error(`refused ${secret}`) } })],
    [
      'the cause of an error',
      (secret) => ({ fields: { err: new Error('outer', { cause: new Error(secret) }) } }),
    ],
    ['JSON that stands as text', (secret) => ({ fields: { body: JSON.stringify({ k: secret }) } })],
    ['a URL', (secret) => ({ fields: { url: `https://h/?k=${encodeURIComponent(secret)}` } })],
    ['base64', (secret) => ({ fields: { header: Buffer.from(secret).toString('base64') } })],
  ];
  it.each(shapes)('never holds a known secret in %s', (_, shape) => {
    const secret = 'p"w\\d/é-0123456789';
    const { fields, message } = shape(secret);
    const line = logged([secret], (logger) => logger.info(fields, message ?? 'x'));
    expect(line).toContain('[redacted]');
    expect(line).not.toContain('0123456789');
    expect(() => JSON.parse(line)).not.toThrow();
  });

  it.each([
    [{ headers: { authorization: 'Bearer abcdef0123456789' } }],
    [{ headers: { Authorization: 'Basic abcdef0123456789' } }],
    [{ headers: { 'x-api-key': 'ab"cdef0123456789' } }],
    [{ headers: { 'set-cookie': ['sid=abcdef0123456789'] } }],
    [{ apiKey: 'abcdef0123456789', password: 'abcdef0123456789' }],
    [{ body: JSON.stringify({ api_key: 'abcdef0123456789' }) }],
    [{ note: 'sent Authorization: Bearer abcdef0123456789' }],
    [{ note: 'the key sk-proj-abcdef0123456789 was refused' }],
    [{ url: 'postgres://app:abcdef0123456789@db/tw' }],
    [{ url: 'redis://:abcdef0123456789@cache:6379' }],
    [{ url: 'postgres://app:with/slash@abcdef0123456789@db/tw' }],
  ])('never holds the credential in %j', (fields) => {
    const line = logged([], (logger) => logger.info(fields, 'x'));
    expect(line).not.toContain('0123456789');
    expect(() => JSON.parse(line)).not.toThrow();
  });

  it('keeps counts and plain words that only look like secret names', () => {
    const fields = { tokens: 5, outputTokens: 7, note: 'the token budget is spent', url: 'http://host:80/a' };
    expect(JSON.parse(logged(['abc'], (logger) => logger.info(fields, 'abc')))).toMatchObject({
      ...fields,
      msg: 'abc',
    });
  });
});

describe('redaction', () => {
  it('removes every secret of six characters or more from any line, and the line stays JSON', () => {
    const secret = fc
      .string({ minLength: 6, maxLength: 40 })
      .filter((text) => !'"[redacted]'.includes(text) && /^[\w"\\/+=é-]{6,}$/.test(text));
    fc.assert(
      fc.property(secret, fc.string({ unit: 'binary-ascii' }), (known, around) => {
        const line = JSON.stringify({ zz: `${around}|${known}|` });
        const masked = createRedactor([known])(line);
        expect(masked).not.toContain(JSON.stringify(known).slice(1, -1));
        expect(() => JSON.parse(masked)).not.toThrow();
      }),
    );
  });

  it('masks the longer of two secrets where one holds the other', () => {
    expect(createRedactor(['secret', 'secret-and-more'])('a secret-and-more b')).toBe('a [redacted] b');
  });
});

describe('the secrets of a configuration', () => {
  it('are the keys of its legs and the passwords of its URLs, plain and decoded', () => {
    const config = {
      databaseUrl: 'postgres://a:p%40ss-one@h/d',
      redisUrl: 'redis://:pass-two@h',
      legs: [
        {
          name: 'a',
          provider: 'openai',
          model: 'm',
          timeoutMs: 1,
          apiKeyEnv: 'A_KEY',
          baseUrl: 'https://u:pass-three@h/v1',
        },
        { name: 'b', provider: 'openai', model: 'm', timeoutMs: 1, apiKeyEnv: 'UNSET_KEY' },
      ],
    } as unknown as Config;
    expect([...secretsOf(config, { A_KEY: 'key-one', OTHER: 'no' })].sort()).toEqual(
      ['key-one', 'p%40ss-one', 'p@ss-one', 'pass-two', 'pass-two', 'pass-three', 'pass-three'].sort(),
    );
  });
});
