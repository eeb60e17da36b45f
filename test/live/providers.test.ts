/** Against the real providers. Each runs where its key, or its server, is there; nothing else runs it. */
import { describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../src/context/request.ts';
import type { Leg } from '../../src/providers/contract.ts';
import { createProvider } from '../../src/providers/index.ts';

const TIMEOUT_MS = 60_000;

const LEGS: readonly (Leg & { readonly ready: boolean })[] = [
  {
    name: 'openai',
    provider: 'openai',
    model: process.env.OPENAI_MODEL ?? 'gpt-4o-mini',
    apiKeyEnv: 'OPENAI_API_KEY',
    timeoutMs: TIMEOUT_MS,
    ready: process.env.OPENAI_API_KEY !== undefined,
  },
  {
    name: 'anthropic',
    provider: 'anthropic',
    model: process.env.ANTHROPIC_MODEL ?? 'claude-haiku-4-5',
    apiKeyEnv: 'ANTHROPIC_API_KEY',
    timeoutMs: TIMEOUT_MS,
    ready: process.env.ANTHROPIC_API_KEY !== undefined,
  },
  {
    name: 'ollama',
    provider: 'ollama',
    model: process.env.OLLAMA_MODEL ?? '',
    timeoutMs: TIMEOUT_MS,
    ready: process.env.OLLAMA_MODEL !== undefined,
  },
];

const request: ChatRequest = {
  system: 'You use the tool you are given.',
  tools: [
    {
      name: 'lookup',
      description: 'Looks a word up.',
      inputSchema: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
    },
  ],
  messages: [{ role: 'user', content: [{ type: 'text', text: 'Look up the word "ledger" with the tool.' }] }],
  maxTokens: 200,
};

for (const { ready, ...leg } of LEGS) {
  describe.skipIf(!ready)(`${leg.name}, live`, () => {
    it('calls a tool and reports what it cost', { timeout: TIMEOUT_MS }, async () => {
      const provider = createProvider(leg, (name) => process.env[name]);
      const outcome = await provider.call(request, {
        signal: new AbortController().signal,
        timeoutMs: TIMEOUT_MS,
      });
      if (!outcome.ok) throw new Error(outcome.failure.message);
      expect(
        outcome.reply.content.some((block) => block.type === 'tool_call' && block.name === 'lookup'),
      ).toBe(true);
      expect(outcome.reply.usage?.outputTokens).toBeGreaterThan(0);
    });
  });
}
