import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { buildPrefix } from '../../../src/context/assemble/prefix.ts';
import { weighMessages } from '../../../src/context/assemble/weigh.ts';
import { prefixRequest, prefixTokens } from '../../../src/context/capacity/prefix-rung.ts';

const TOOL = {
  name: 'lookup',
  description: 'Looks up pages about a subject.',
  inputSchema: { type: 'object', properties: { query: { type: 'string' } } },
};

describe('the rung that counts a prefix', () => {
  it('CAP-09 sends the system text and tools of the session, one short message, and wants one token', () => {
    const prefix = buildPrefix('Speak plainly.', [TOOL]);
    const { request, requestBytes } = prefixRequest(prefix);
    expect(request).toMatchObject({ system: prefix.system, tools: [TOOL], maxTokens: 1 });
    expect(request.messages).toHaveLength(1);
    expect(requestBytes).toBe(prefix.bytes + weighMessages(request.messages));
    expect(requestBytes - prefix.bytes).toBeLessThan(0.05 * prefix.bytes);
  });

  it('CAP-09 gives the prefix its share of what was counted, at any ratio within a token', () => {
    const size = fc.record({
      letters: fc.integer({ min: 0, max: 20_000 }),
      tokensPerByte: fc.double({ min: 0.1, max: 0.6, noNaN: true }),
    });
    fc.assert(
      fc.property(size, ({ letters, tokensPerByte }) => {
        const prefix = buildPrefix('x'.repeat(letters), [TOOL]);
        const asked = prefixRequest(prefix);
        const counted = Math.round(asked.requestBytes * tokensPerByte);
        expect(
          Math.abs(prefixTokens(prefix, asked, counted) - prefix.bytes * tokensPerByte),
        ).toBeLessThanOrEqual(1);
      }),
    );
  });
});
