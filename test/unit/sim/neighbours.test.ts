/**
 * Messages of one speaker in a row, as residues and prompts stand in a request. Anthropic makes one turn of them
 * (`MessageCreateParams.messages` of its SDK); the others keep them as they came.
 */
import { describe, expect, it } from 'vitest';
import { residueText } from '../../../src/context/evict/residue.ts';
import { think } from '../../../src/sim/mind/mind.ts';
import { DEFAULT_SIM_MODELS } from '../../../src/sim/models.ts';
import { promptTokens, segmentsOf } from '../../../src/sim/prompt.ts';
import { anthropicWire } from '../../../src/sim/wires/anthropic.ts';
import type { Wire, WireRequest } from '../../../src/sim/wires/contract.ts';
import { ollamaWire } from '../../../src/sim/wires/ollama.ts';
import { openaiWire } from '../../../src/sim/wires/openai.ts';
import { responsesWire } from '../../../src/sim/wires/responses.ts';

const [MODEL] = DEFAULT_SIM_MODELS;
const COUNT = 300;
const TEXTS = [
  ...Array.from({ length: COUNT }, (_, at) =>
    residueText({ from: 2 * at, to: 2 * at + 1, note: `crate ${at} weighs ${at + 1_000}` }),
  ),
  'What does crate 77 weigh?',
];

interface Case {
  readonly wire: Wire;
  readonly messages: number;
  readonly body: (texts: readonly string[]) => { readonly [name: string]: unknown };
}

const chat = (texts: readonly string[]) => texts.map((content) => ({ role: 'user', content }));
const CASES: readonly Case[] = [
  { wire: openaiWire, messages: TEXTS.length, body: (texts) => ({ messages: chat(texts) }) },
  { wire: responsesWire(1), messages: TEXTS.length, body: (texts) => ({ input: chat(texts) }) },
  { wire: anthropicWire(1), messages: 1, body: (texts) => ({ max_tokens: 100, messages: chat(texts) }) },
  { wire: ollamaWire, messages: TEXTS.length, body: (texts) => ({ messages: chat(texts), truncate: false }) },
];

function parsed({ wire, body }: Case, texts: readonly string[]): WireRequest {
  return wire.parse({ model: 'sim-small', ...body(texts) });
}

describe('hundreds of user messages in a row', () => {
  it.each(CASES)('are taken by the $wire.name wire, whole and in order', (one) => {
    const { messages } = parsed(one, TEXTS).prompt;
    expect(messages).toHaveLength(one.messages);
    const texts = messages.flatMap(({ content }) =>
      content.map((block) => (block.type === 'text' ? block.text : null)),
    );
    expect(texts).toEqual(TEXTS);
  });

  it.each(CASES)('hold one directive on the $wire.name wire, answered from the note that tells', (one) => {
    const { prompt } = parsed(one, TEXTS);
    const reply = think({
      prompt,
      key: 'k',
      seed: 1,
      beyondHorizon: false,
      toolChoice: { kind: 'auto' },
      parallelCalls: true,
      thinksAloud: false,
      habits: {},
    });
    expect(reply.text).toContain('1077');
  });

  it.each(CASES)('are refused past the window on the $wire.name wire', (one) => {
    if (MODEL === undefined) throw new Error('no model is served');
    const request = parsed(one, TEXTS);
    const tokens = promptTokens(segmentsOf(request.prompt), MODEL);
    expect(tokens).toBeGreaterThan(MODEL.window);
    expect(one.wire.overLength(request, tokens, MODEL)).not.toBeNull();
    expect(one.wire.overLength(request, 100, MODEL)).toBeNull();
  });
});

describe('a text beside results on the Anthropic wire', () => {
  const call = { role: 'assistant', content: [{ type: 'tool_use', id: 'c1', name: 'read', input: {} }] };
  const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'found' }] };
  const note = { role: 'user', content: residueText({ from: 1, to: 2, note: null }) };
  const parse = (messages: readonly unknown[]) =>
    anthropicWire(1).parse({ model: 'sim-small', max_tokens: 100, messages });

  it('is taken behind them and refused before them', () => {
    const { messages } = parse([note, { role: 'user', content: 'Go on.' }, call, result, note]).prompt;
    expect(messages.map(({ content }) => content.map(({ type }) => type))).toEqual([
      ['text', 'text'],
      ['tool_call'],
      ['tool_result', 'text'],
    ]);
    expect(() => parse([note, call, note, result])).toThrow(/immediately after/u);
  });
});
