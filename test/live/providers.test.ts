/** Against the real providers. Each runs where its key, or its server, is there; nothing else runs it. */
import { describe, expect, it } from 'vitest';
import type { ChatRequest } from '../../src/context/request.ts';
import type { Leg, ProviderKind } from '../../src/providers/contract.ts';
import { createProvider } from '../../src/providers/index.ts';

const TIMEOUT_MS = 60_000;

interface LiveLeg extends Leg {
  readonly ready: boolean;
}

/** `model` is what `modelEnv` overrides; an empty one has to be named there. */
function hosted(provider: ProviderKind, model: string, modelEnv: string, apiKeyEnv: string): LiveLeg {
  const chosen = process.env[modelEnv] ?? model;
  const ready = process.env[apiKeyEnv] !== undefined && chosen !== '';
  return { name: provider, provider, model: chosen, apiKeyEnv, timeoutMs: TIMEOUT_MS, ready };
}

/** A server that only this machine's environment knows. */
function named(leg: LiveLeg, baseUrlEnv: string): LiveLeg {
  const baseUrl = process.env[baseUrlEnv];
  return baseUrl === undefined ? { ...leg, ready: false } : { ...leg, baseUrl };
}

const OPENROUTER = ['~anthropic/claude-haiku-latest', 'OPENROUTER_MODEL', 'OPENROUTER_API_KEY'] as const;

const LEGS: readonly LiveLeg[] = [
  hosted('openai', 'gpt-4o-mini', 'OPENAI_MODEL', 'OPENAI_API_KEY'),
  hosted('openai-responses', 'gpt-4o-mini', 'OPENAI_MODEL', 'OPENAI_API_KEY'),
  hosted('anthropic', 'claude-haiku-4-5', 'ANTHROPIC_MODEL', 'ANTHROPIC_API_KEY'),
  hosted('google', 'gemini-flash-latest', 'GEMINI_MODEL', 'GEMINI_API_KEY'),
  hosted('openrouter', ...OPENROUTER),
  hosted('openrouter-responses', ...OPENROUTER),
  named(hosted('bedrock', '', 'BEDROCK_MODEL', 'AWS_BEARER_TOKEN_BEDROCK'), 'BEDROCK_BASE_URL'),
  named(hosted('compatible', '', 'COMPATIBLE_MODEL', 'COMPATIBLE_API_KEY'), 'COMPATIBLE_BASE_URL'),
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
  maxTokens: 1_000,
  cache: { key: 'turnwright-live', breakpoints: [-1] },
};

for (const { ready, ...leg } of LEGS) {
  describe.skipIf(!ready)(`${leg.name}, live`, () => {
    it('calls a tool, takes its result and reports what it cost', { timeout: 2 * TIMEOUT_MS }, async () => {
      const provider = createProvider(leg, (name) => process.env[name]);
      const options = { signal: new AbortController().signal, timeoutMs: TIMEOUT_MS };
      const asked = await provider.call(request, options);
      if (!asked.ok) throw new Error(asked.failure.message);
      const calls = asked.reply.content.flatMap((block) => (block.type === 'tool_call' ? [block] : []));
      expect(calls.map(({ name }) => name)).toContain('lookup');
      expect(asked.reply.usage?.outputTokens).toBeGreaterThan(0);
      const results = calls.map(({ id, name }) => ({
        type: 'tool_result' as const,
        callId: id,
        name,
        content: 'A book of accounts.',
        isError: false,
      }));
      const answered = await provider.call(
        {
          ...request,
          messages: [
            ...request.messages,
            { role: 'assistant', content: asked.reply.content },
            { role: 'user', content: results },
          ],
        },
        options,
      );
      if (!answered.ok) throw new Error(answered.failure.message);
      expect(answered.reply.content.length).toBeGreaterThan(0);
    });
  });
}
