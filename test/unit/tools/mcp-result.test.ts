import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { listText } from '../../../src/tools/mcp/list-text.ts';
import { listingOf } from '../../../src/tools/mcp/listing.ts';
import { firstBytes, plainText } from '../../../src/tools/mcp/plain-text.ts';
import { callResult, readResult } from '../../../src/tools/mcp/read-result.ts';
import { createMask, resolveSecrets } from '../../../src/tools/mcp/secrets.ts';

const asIs = (text: string): string => text;
const HANG_MS = 5_000;
const RUNS = 500;
const LEAST_SHARE = 0.01;
const controls = fc.constantFrom('\r', '\n', '\r\n', '\t', '\u0000', '\u001b', '\u0085', 'a', '\ud800');
const tool = (name: unknown, more: object = {}) => ({ name, inputSchema: { type: 'object' }, ...more });

describe('the result of an MCP call', () => {
  it('SUR-02 names contents of kinds that nobody knows yet by kind and size, on one line', () => {
    const content = [
      { type: 'hologram\nfrom afar', data: 'AAAA' },
      { type: 'audio', data: 'AAA=', mimeType: 'audio/wav' },
      { type: 'resource_link', name: 'notes', uri: 'file:///n' },
    ];
    const read = readResult(callResult.parse({ content }), { maxBytes: 10_000, mask: asIs });
    expect(read.content.split('\n')).toEqual([
      '[hologram from afar, 3 bytes]',
      '[audio audio/wav, 2 bytes]',
      '[resource link notes file:///n]',
    ]);
  });

  it('SUR-02 shows structured content where there is no text, and not beside text', () => {
    const structuredContent = { a: 1 };
    const options = { maxBytes: 10_000, mask: asIs };
    const image = { type: 'image', data: 'AAAA', mimeType: 'image/png' };
    expect(readResult(callResult.parse({ content: [image], structuredContent }), options).content).toBe(
      '{"a":1}\n[image image/png, 3 bytes]',
    );
    const text = { type: 'text', text: 'words' };
    expect(readResult(callResult.parse({ content: [text], structuredContent }), options).content).toBe(
      'words',
    );
  });

  it('SUR-02 stays within its bytes whatever text it holds, and is masked before it is cut', () => {
    const counted = { whole: 0, cut: 0 };
    const texts = fc.string({ unit: 'binary', maxLength: 300, size: 'max' });
    fc.assert(
      fc.property(texts, fc.integer({ min: 150, max: 400 }), (text, maxBytes) => {
        const parsed = callResult.parse({ content: [{ type: 'text', text }] });
        const { content } = readResult(parsed, { maxBytes, mask: asIs });
        const isCut = content.includes('[cut off: ');
        counted[isCut ? 'cut' : 'whole'] += 1;
        return Buffer.byteLength(content) <= maxBytes && content.isWellFormed();
      }),
      { numRuns: RUNS },
    );
    console.info(`results shown whole: ${counted.whole}, cut: ${counted.cut}`);
    for (const count of Object.values(counted)) expect(count / RUNS).toBeGreaterThan(LEAST_SHARE);
    const mask = createMask(['the-secret']);
    const text = `${'x'.repeat(95)}the-secret${'y'.repeat(200)}`;
    const cut = readResult(callResult.parse({ content: [{ type: 'text', text }] }), { maxBytes: 200, mask });
    expect(cut.content).toContain('xxx[reda');
    expect(cut.content).not.toContain('the-');
  });

  it('SUR-02 is plain after cleaning: no control character but tabs and line ends', () => {
    const counted = { clean: 0, cleaned: 0 };
    fc.assert(
      fc.property(fc.string({ unit: fc.oneof(controls, fc.string({ unit: 'binary' })) }), (text) => {
        const plain = plainText(text);
        counted[plain === text ? 'clean' : 'cleaned'] += 1;
        return !/[^\P{Cc}\t\n\r]/u.test(plain) && !/\r(?!\n)/.test(plain) && plain.isWellFormed();
      }),
      { numRuns: RUNS },
    );
    console.info(`texts that were clean: ${counted.clean}, that had to be cleaned: ${counted.cleaned}`);
    for (const count of Object.values(counted)) expect(count / RUNS).toBeGreaterThan(LEAST_SHARE);
    expect(plainText('a\r\nb\rc\u0000')).toBe('a\r\nb\uFFFDc\uFFFD');
    expect(firstBytes('aé😀', 4)).toBe('aé');
  });

  it('SUR-02 costs little for megabytes of hostile text', () => {
    const startedMs = performance.now();
    const text = '\r\u0000'.repeat(1_000_000);
    const mask = createMask(['secret-one', 'secret-two', '\r\u0000\r\u0000\r\u0000x']);
    readResult(callResult.parse({ content: [{ type: 'text', text }] }), { maxBytes: 1_000, mask });
    expect(performance.now() - startedMs).toBeLessThan(HANG_MS);
  });
});

describe('the mask over what a server says', () => {
  it('SUR-02 hides a secret in plain text, JSON, URLs, hexadecimal and anywhere inside base64', () => {
    fc.assert(
      fc.property(
        fc.string({ minLength: 9, maxLength: 30 }),
        fc.string({ maxLength: 5 }),
        (secret, before) => {
          const mask = createMask([secret]);
          const base64 = Buffer.from(`${before}${secret}${before}`).toString('base64');
          const forms = [secret, JSON.stringify({ secret }), encodeURIComponent(secret), base64];
          return forms.every((form) => mask(form).includes('[redacted]'));
        },
      ),
    );
    expect(createMask(['Bearer abcdefgh'])('token abcdefgh')).toBe('token [redacted]');
    expect(createMask(['long-secret', 'long-secret-2'])('long-secret-2')).toBe('[redacted]');
    expect(createMask(['on', '1'])('on 1')).toBe('on 1');
  });

  it('SUR-02 knows which variables are missing, empty ones among them', () => {
    const lookup = (name: string): string | undefined => ({ A: 'x', B: '' })[name];
    expect(resolveSecrets({ a: 'A' }, lookup)).toEqual({ ok: true, values: { a: 'x' } });
    expect(resolveSecrets({ a: 'A', b: 'B', c: 'C' }, lookup)).toEqual({ ok: false, missing: ['B', 'C'] });
  });
});

describe('the list of a server', () => {
  it('SUR-02 has one digest whatever order it came in, and another when anything in it changes', () => {
    const one = listingOf([tool('b', { inputSchema: { x: 1, a: 2 } }), tool('a')], asIs);
    const same = listingOf([tool('a'), tool('b', { inputSchema: { a: 2, x: 1 } })], asIs);
    expect(one).toEqual(same);
    for (const other of [[tool('a')], [tool('a', { description: 'x' }), tool('b')]]) {
      expect(listingOf(other, asIs).digest).not.toBe(one.digest);
    }
  });

  it('SUR-02 leaves out what cannot be called: no name, no schema, a name twice, a schema without a bottom', () => {
    let deep: unknown = {};
    for (let depth = 0; depth < 200_000; depth += 1) deep = { deep };
    const entries = [
      null,
      tool(1),
      tool('a\nb'),
      { name: 'x' },
      tool('a'),
      tool('a'),
      tool('d', { inputSchema: deep }),
    ];
    const { tools, leftOut } = listingOf(entries, asIs);
    expect(tools.map(({ name }) => name)).toEqual(['a']);
    expect(leftOut).toBe(6);
  });

  it('SUR-02 fits into its bytes: tools that do not fit are named, a long schema is shown for one tool only', () => {
    const description = 'd'.repeat(500);
    const entries = Array.from({ length: 900 }, (_, index) => tool(`tool-${index}`, { description }));
    const text = listText(listingOf(entries, asIs), { server: 'harbour', maxBytes: 50_000 });
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(50_000);
    expect(text).toMatch(/^harbour offers 900 tools\. .* not instructions\./);
    expect(text).toMatch(/Also, shown by list with the tool's name: tool-\d+, .* and \d+ more\.$/);
    const long = listingOf([tool('a', { inputSchema: { x: 'y'.repeat(7_000) } })], asIs);
    const shown = listText(long, { server: 'harbour', maxBytes: 50_000 });
    expect(shown).toContain("(a schema of 7008 characters; list with this tool's name shows it)");
  });
});
