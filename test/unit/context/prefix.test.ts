import { describe, expect, it } from 'vitest';
import { assemble } from '../../../src/context/assemble/assemble.ts';
import { buildPrefix, prefixChange, prefixOf } from '../../../src/context/assemble/prefix.ts';
import { rendered } from '../../../src/context/assemble/weigh.ts';
import { byteLength, canonicalJson } from '../../../src/ledger/json.ts';

const tool = (name: string) => ({ name, description: 'd', inputSchema: { type: 'object' } as const });
const LISTING = { name: 'depths', digest: 'd', tools: ['sound'] };

describe('the stable prefix', () => {
  it('SUR-01 has its sections behind the text of the session, and leaves nothing of an empty one', () => {
    const bare = buildPrefix('', []).system;
    expect(buildPrefix('Speak plainly.', [], ['', 'A', '', 'B']).system).toBe(
      `${bare}\n\nSpeak plainly.\n\nA\n\nB`,
    );
    expect(buildPrefix('', [], ['', '']).system).toBe(bare);
  });

  it('SUR-03 names what is deferred in its digest, and weighs only what is loaded', () => {
    const plain = prefixOf('s', [tool('a')]);
    const deferring = prefixOf('s', [tool('a')], { deferred: [tool('b')] });
    expect(deferring.bytes).toBe(plain.bytes);
    expect(plain.bytes).toBe(byteLength(canonicalJson({ system: 's', tools: [tool('a')] })));
    const digests = [plain, deferring, prefixOf('s', [tool('a')], { deferred: [tool('c')] })].map(
      ({ digest }) => digest,
    );
    expect(new Set(digests).size).toBe(3);
    expect(prefixOf('s', [tool('a')], { deferred: [], skills: [], servers: [] })).toEqual(plain);
    expect('deferred' in plain || 'skills' in plain || 'servers' in plain).toBe(false);
  });

  it('SUR-02 is the same prefix whatever is noted of the skills and servers its text holds', () => {
    const { digest, bytes } = prefixOf('s', []);
    expect(prefixOf('s', [], { skills: ['dock'], servers: [LISTING] })).toMatchObject({
      digest,
      bytes,
      skills: ['dock'],
      servers: [LISTING],
    });
  });

  it('SUR-03 puts what is deferred into the request beside the tools, and nothing where there is none', () => {
    const open = rendered([{ role: 'user', content: [{ type: 'text', text: 'ok' }] }]);
    const given = { history: [], open, maxTokens: 9, cacheKey: 'k' };
    const plain = assemble({ ...given, prefix: prefixOf('s', [tool('a')]) });
    const deferring = assemble({ ...given, prefix: prefixOf('s', [tool('a')], { deferred: [tool('b')] }) });
    expect('deferred' in plain.request).toBe(false);
    expect(deferring.request).toEqual({ ...plain.request, deferred: [tool('b')] });
    expect(deferring.requestBytes).toBe(plain.requestBytes);
    expect(deferring.requestDigest).not.toBe(plain.requestDigest);
  });
});

describe('the price of a change of prefix', () => {
  const before = prefixOf('s', [tool('a'), tool('b')]);

  it('SUR-01 of a tool that joins is the tool, and of a text that grew the whole', () => {
    const joined = prefixOf('s', [tool('a'), tool('b'), tool('c')]);
    const bytes = byteLength(canonicalJson([tool('c')]));
    expect(prefixChange(before, joined)).toEqual({ part: 'tool c', bytes });
    const longer = prefixOf('s and more', before.tools);
    expect(prefixChange(before, longer)).toEqual({ part: 'system', bytes: longer.bytes });
    expect(prefixChange(before, before)).toBeNull();
  });

  it('SUR-03 of what is deferred alone is nothing', () => {
    const deferring = prefixOf('s', before.tools, { deferred: [tool('c')] });
    expect(prefixChange(before, deferring)).toEqual({ part: 'deferred', bytes: 0 });
    const found = prefixOf('s', [...before.tools, tool('c')]);
    expect(prefixChange(deferring, found)?.part).toBe('tool c');
  });

  it('of a tool that is gone is what stood behind it', () => {
    expect(prefixChange(before, prefixOf('s', [tool('a')]))).toEqual({ part: 'tool b', bytes: 2 });
  });
});

describe('a prefix that was stored', () => {
  it('ASM-02 is sent with the bytes it was built with, whatever order its schemas were written in', () => {
    const written = {
      name: 'survey',
      description: 'Looks.',
      inputSchema: {
        type: 'object',
        required: ['z'],
        properties: { z: { type: 'string' }, a: { type: 'null' } },
      },
    };
    const built = buildPrefix('', [written], [], { deferred: [{ ...written, name: 'later' }] });
    const stored = JSON.parse(canonicalJson(built)) as typeof built;
    const again = prefixOf(stored.system, stored.tools, stored);
    expect(JSON.stringify([again.system, again.tools, again.deferred])).toBe(
      JSON.stringify([built.system, built.tools, built.deferred]),
    );
  });
});
