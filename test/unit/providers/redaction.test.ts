import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { safeMessage } from '../../../src/providers/redaction.ts';

describe('safeMessage', () => {
  it('masks the credential wherever and however often it stands', () => {
    fc.assert(
      fc.property(
        fc.stringMatching(/^[!-~]{8,40}$/).filter((secret) => !'[redacted]…'.includes(secret)),
        fc.array(fc.string(), { maxLength: 5 }),
        (secret, parts) => {
          const message = safeMessage(`${parts.join(secret)} ${secret}`, secret);
          expect(message).not.toContain(secret);
        },
      ),
    );
  });

  it('masks a credential that is escaped for a URL, for JSON or as base64', () => {
    const secret = 'a+b/"c"=planted';
    const spelled = [
      encodeURIComponent(secret),
      JSON.stringify(secret),
      Buffer.from(secret).toString('base64'),
    ].join(' , ');
    const message = safeMessage(spelled, secret);
    expect(message).not.toContain('planted');
    expect(message).not.toContain(Buffer.from(secret).toString('base64'));
  });

  it.each([
    'Incorrect API key provided: sk-proj-abcdef123456.',
    'Header was Bearer abcdef123456',
    'sk-ab***********456 is not valid',
  ])('masks what looks like a credential of someone else: %s', (text) => {
    const message = safeMessage(text, undefined);
    expect(message).toContain('[redacted]');
    expect(message).not.toContain('456');
  });

  it('is one line of at most 500 characters for any message', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 3_000, size: 'max' }), (text) => {
        const message = safeMessage(text, undefined);
        expect(Array.from(message).length).toBeLessThanOrEqual(500);
        expect(message).not.toMatch(/[\r\n]/);
      }),
    );
  });

  it('leaves an ordinary message as it is', () => {
    expect(safeMessage('The model does not exist.', 'other-secret')).toBe('The model does not exist.');
  });
});
