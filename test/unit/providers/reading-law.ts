/** The law every reader obeys: whatever a server sends is a storable reply or a malformed one, never a crash. */
import fc from 'fast-check';
import { expect } from 'vitest';
import { z } from 'zod';
import type { ChatReply } from '../../../src/context/request.ts';
import { assistantBlock } from '../../../src/ledger/blocks.ts';
import { canonicalJson } from '../../../src/ledger/json.ts';
import type { Wire } from '../../../src/providers/exchange.ts';
import { MalformedReply } from '../../../src/providers/malformed-reply.ts';

const count = z.int().nonnegative();
const storable = z.object({
  content: z.array(assistantBlock),
  finish: z.enum(['stop', 'tool_calls', 'length', 'content_filter', 'other']),
  usage: z
    .object({
      inputTokens: count,
      cacheReadTokens: count,
      cacheWriteTokens: count,
      outputTokens: count,
      reasoningTokens: count.exactOptional(),
    })
    .nullable(),
  model: z.string().min(1),
});

export function silentWire(): Wire {
  return {
    fetch: () => Promise.reject(new Error('a reader sends nothing')),
    sdkTimeoutMs: 1,
    elapsedMs: () => 5,
    deliver: () => {},
  };
}

/** Feeds events made of the wire's own words in the wrong places, with values of every type. */
export function readsAnything(
  types: readonly string[],
  fields: readonly string[],
  read: (events: readonly unknown[]) => ChatReply | null,
): void {
  let replies = 0;
  let malformed = 0;
  const { node: value } = fc.letrec((tie) => ({
    node: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      fc.constantFrom<unknown>(
        0,
        1,
        null,
        true,
        1e308,
        -1,
        0.5,
        '',
        '{"a":1}',
        'stop',
        'constructor',
        ...types,
        ...fields,
      ),
      fc.array(tie('node'), { maxLength: 2 }),
      fc.dictionary(fc.constantFrom('toString', '__proto__', ...fields), tie('node'), { maxKeys: 5 }),
    ),
  }));
  const event = fc
    .tuple(fc.constantFrom(...types), fc.dictionary(fc.constantFrom(...fields), value, { maxKeys: 6 }))
    .map(([type, members]): unknown => ({ ...members, type }));
  fc.assert(
    fc.property(fc.array(fc.oneof({ weight: 9, arbitrary: event }, value), { maxLength: 6 }), (events) => {
      try {
        const reply = read(events);
        if (reply === null) return;
        replies += 1;
        storable.parse(reply);
        for (const block of reply.content) canonicalJson(block);
      } catch (error) {
        if (!(error instanceof MalformedReply)) throw error;
        malformed += 1;
      }
    }),
    { numRuns: 1_000 },
  );
  // Both ends of the law were met, or the generator is at fault.
  expect(replies).toBeGreaterThan(10);
  expect(malformed).toBeGreaterThan(10);
}
