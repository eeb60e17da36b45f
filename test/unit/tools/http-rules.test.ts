import { describe, expect, it } from 'vitest';
import { isAllowedHost, isAllowedHostForm } from '../../../src/tools/http/allowed-host.ts';
import { maskOf } from '../../../src/tools/http/mask.ts';
import { nextHop } from '../../../src/tools/http/redirect.ts';
import { signatureOf, verifySignature } from '../../../src/tools/http/signature.ts';

const allowed = (allow: string, address: string): boolean => isAllowedHost([allow], new URL(address));

describe('hosts allowed by name', () => {
  it.each([
    ['depot.internal', 'http://depot.internal/a', true],
    ['depot.internal', 'https://depot.internal:8443/a', true],
    ['DEPOT.internal', 'http://depot.INTERNAL/', true],
    ['depot.internal:8080', 'http://depot.internal:8080/', true],
    ['depot.internal:8080', 'http://depot.internal/', false],
    ['depot.internal:80', 'http://depot.internal/', true],
    ['depot.internal:443', 'https://depot.internal/', true],
    ['depot.internal:80', 'https://depot.internal/', false],
    ['depot.internal', 'http://a.depot.internal/', false],
    ['depot.internal', 'http://depot.internal.example.com/', false],
    ['depot.internal', 'http://xdepot.internal/', false],
    ['127.0.0.1:9000', 'http://2130706433:9000/', true],
    ['[::1]:9000', 'http://[0:0:0:0:0:0:0:1]:9000/', true],
    ['[::1]', 'http://[::1]:9000/', true],
  ])('%s allows %s: %s', (allow, address, expected) => {
    expect(allowed(allow, address)).toBe(expected);
  });

  it.each(['depot', 'depot.internal:1', '10.0.0.1', '[fd00::1]', '[fd00::1]:80', '127.0.0.1:65535'])(
    'takes %s as an exact host',
    (text) => {
      expect(isAllowedHostForm(text)).toBe(true);
    },
  );

  it.each([
    '',
    ' ',
    'a b',
    '*',
    '*.internal',
    'http://depot',
    'depot/path',
    'user@depot',
    'depot?x',
    'depot#x',
    'depot:',
    'depot:99999',
    'depot:port',
    'fd00::1',
    'a\\b',
    'depot\n',
  ])('refuses %j, which is no exact host', (text) => {
    expect(isAllowedHostForm(text)).toBe(false);
  });
});

const GET = { method: 'GET', status: 302, hop: 0 } as const;
const POST = { method: 'POST', status: 307, hop: 0 } as const;
const from = new URL('https://depot.example/a/b');

describe('which redirects are followed', () => {
  it('resolves a relative address against the one that redirected', () => {
    expect(nextHop(from, { ...GET, location: '../c?d=1' })).toEqual({
      kind: 'follow',
      url: new URL('https://depot.example/c?d=1'),
    });
  });

  it.each([301, 302, 303])('a POST does not follow %i, which would drop its body', (status) => {
    const next = nextHop(from, { ...POST, status, location: '/c' });
    expect(next).toEqual({
      kind: 'refuse',
      reason: `it answered ${status}, a redirect that is not followed for POST`,
    });
  });

  it.each([307, 308])('a POST follows %i', (status) => {
    expect(nextHop(from, { ...POST, status, location: '/c' })).toMatchObject({ kind: 'follow' });
  });

  it.each(['http://depot.example/', 'ftp://depot.example/', 'file:///etc/passwd', 'data:text/plain,x'])(
    'https is never left for %s',
    (location) => {
      expect(nextHop(from, { ...GET, location })).toMatchObject({ kind: 'refuse' });
    },
  );

  it('follows three redirects and no fourth', () => {
    expect(nextHop(from, { ...GET, hop: 2, location: '/c' })).toMatchObject({ kind: 'follow' });
    expect(nextHop(from, { ...GET, hop: 3, location: '/c' })).toMatchObject({ kind: 'refuse' });
  });

  it.each([undefined, 'http://', 'https://[::zz]/'])('refuses the address %s', (location) => {
    expect(nextHop(from, { ...GET, location })).toMatchObject({ kind: 'refuse' });
  });
});

const SECRET = 'whsec-7f3a9c';
const NOW_MS = 1_790_000_000_500;

describe('signatures', () => {
  const header = signatureOf(SECRET, '{"a":1}', NOW_MS);

  it('names the second and the digest', () => {
    expect(header).toMatch(/^t=1790000000,v1=[0-9a-f]{64}$/u);
  });

  it('hold for the same body, as text and as bytes, within the tolerance', () => {
    expect(verifySignature(SECRET, header, '{"a":1}', NOW_MS)).toBe(true);
    expect(verifySignature(SECRET, header, Buffer.from('{"a":1}'), NOW_MS)).toBe(true);
    expect(verifySignature(SECRET, header, '{"a":1}', NOW_MS + 299_000)).toBe(true);
  });

  it.each([
    ['another secret', 'other', header, '{"a":1}', NOW_MS],
    ['another body', SECRET, header, '{"a":2}', NOW_MS],
    ['another time', SECRET, header.replace('t=1790000000', 't=1790000001'), '{"a":1}', NOW_MS],
    ['a time too long ago', SECRET, header, '{"a":1}', NOW_MS + 301_000],
    ['a time to come', SECRET, header, '{"a":1}', NOW_MS - 301_000],
    ['no digest', SECRET, 't=1790000000', '{"a":1}', NOW_MS],
    ['no time', SECRET, header.replace(/^t=\d+,/u, ''), '{"a":1}', NOW_MS],
    ['a short digest', SECRET, header.slice(0, -2), '{"a":1}', NOW_MS],
    ['nothing', SECRET, '', '{"a":1}', NOW_MS],
  ])('do not hold for %s', (_what, secret, given, body, nowMs) => {
    expect(verifySignature(secret, given, body, nowMs)).toBe(false);
  });

  it('hold while a secret is being changed, when one of several digests fits', () => {
    const [time = '', digest = ''] = header.split(',');
    expect(verifySignature(SECRET, `${time},v1=${'0'.repeat(64)},${digest}`, '{"a":1}', NOW_MS)).toBe(true);
  });

  it('take a header of megabytes for none', () => {
    const hostile = `${'t=1,v1=,'.repeat(600_000)}${header}`;
    expect(verifySignature(SECRET, hostile, '{"a":1}', NOW_MS)).toBe(false);
  });
});

describe('secrets in what a service answers', () => {
  const secret = 'Bearer s3cr3t/+"token"';
  const mask = maskOf([secret, 'short']);

  it.each([
    ['as it is', secret],
    ['without its scheme', 's3cr3t/+"token"'],
    ['in a URL', encodeURIComponent('s3cr3t/+"token"')],
    ['in JSON', JSON.stringify({ authorization: secret })],
    ['in base64', Buffer.from('s3cr3t/+"token"').toString('base64')],
    ['short, whole', 'short'],
  ])('are masked %s', (_where, echoed) => {
    const masked = mask.apply(`before ${echoed} after`);
    expect(masked).toContain('[redacted]');
    expect(masked).not.toContain('s3cr3t');
    expect(masked).toMatch(/^before .* after$/u);
  });

  it('leave everything else alone', () => {
    expect(mask.apply('Bearer of good news, shor t')).toBe('Bearer of good news, shor t');
    expect(maskOf([]).apply('x')).toBe('x');
  });

  it('are found in megabytes within seconds', () => {
    const hostile = 'Bearer s3cr3t/+"toke'.repeat(250_000);
    const beganMs = performance.now();
    expect(mask.apply(hostile)).toBe(hostile);
    expect(performance.now() - beganMs).toBeLessThan(5_000);
  });
});
