/** A leg of another kind is told the same turns: what is said, called and returned, in the same order. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChatMessage, ChatRequest } from '../../../src/context/request.ts';
import type { Leg, ProviderKind } from '../../../src/providers/contract.ts';
import { PROVIDER_KINDS } from '../../../src/providers/contract.ts';
import { createProvider } from '../../../src/providers/index.ts';
import { WireServer } from '../../support/wire-server.ts';

const TIMEOUT_MS = 10_000;
const RUNS = 15;

/** Each text is found again by its number, wherever a wire puts it. */
interface Told {
  readonly request: ChatRequest;
  readonly marks: readonly string[];
  readonly signatures: readonly string[];
}

type Step = { readonly calls: number; readonly signedBy: ProviderKind; readonly answers: boolean };

const step: fc.Arbitrary<Step> = fc.record({
  calls: fc.integer({ min: 0, max: 3 }),
  signedBy: fc.constantFrom(...PROVIDER_KINDS),
  answers: fc.boolean(),
});

function conversation(steps: readonly Step[]): Told {
  const marks: string[] = [];
  const signatures: string[] = [];
  const mark = (kind: string): string => {
    const made = `${kind}-${marks.length}-end`;
    marks.push(made);
    return made;
  };
  const messages: ChatMessage[] = [{ role: 'user', content: [{ type: 'text', text: mark('asked') }] }];
  for (const { calls, signedBy, answers } of steps) {
    const signature = `signed-by-${signedBy}-${signatures.length}`;
    signatures.push(signature);
    const ids = Array.from({ length: calls }, (_, index) => `call_${messages.length}_${index}`);
    messages.push({
      role: 'assistant',
      content: [
        { type: 'thinking', text: 'hidden', signature, signedBy },
        ...(answers || calls === 0 ? [{ type: 'text' as const, text: mark('said') }] : []),
        ...ids.map((id) => ({ type: 'tool_call' as const, id, name: 'look', args: { at: mark('called') } })),
      ],
    });
    messages.push({
      role: 'user',
      content: [
        ...ids.map((callId) => ({
          type: 'tool_result' as const,
          callId,
          name: 'look',
          content: mark('returned'),
          isError: false,
        })),
        { type: 'text', text: mark('asked') },
      ],
    });
  }
  const look = { name: 'look', description: 'Looks.', inputSchema: { type: 'object' } };
  return { request: { system: 'Be brief.', tools: [look], messages, maxTokens: 64 }, marks, signatures };
}

async function bodyAt(kind: ProviderKind, request: ChatRequest): Promise<string> {
  const server = await WireServer.start();
  try {
    const leg: Leg = {
      name: kind,
      provider: kind,
      model: 'some/model',
      baseUrl: server.url,
      timeoutMs: TIMEOUT_MS,
    };
    server.script({ status: 400 });
    const options = { signal: new AbortController().signal, timeoutMs: TIMEOUT_MS };
    await createProvider(leg, () => undefined).call(request, options);
    return JSON.stringify(server.last().body);
  } finally {
    await server.close();
  }
}

describe('a request rendered for a fallback leg of another kind', () => {
  it.each(PROVIDER_KINDS)(
    'PRO-10 carries the same turns to %s, and no signature it did not make',
    async (kind) => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 4 }), async (steps) => {
          const { request, marks, signatures } = conversation(steps);
          const body = await bodyAt(kind, request);
          expect(body.match(/(?:asked|said|called|returned)-\d+-end/g)).toEqual(marks);
          const own = `signed-by-${kind}-`;
          for (const signature of signatures) {
            if (!signature.startsWith(own)) expect(body).not.toContain(signature);
          }
        }),
        { numRuns: RUNS },
      );
    },
  );
});
