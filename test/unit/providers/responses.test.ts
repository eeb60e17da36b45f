import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ChatMessage, ChatRequest } from '../../../src/context/request.ts';
import type { ThinkingBlock, ToolCallBlock, ToolResultBlock } from '../../../src/ledger/blocks.ts';
import { renderResponses } from '../../../src/providers/responses/render.ts';

const OPENAI = { kind: 'openai-responses', model: 'm', maxTokens: 50, stored: false } as const;
const OPENROUTER = { ...OPENAI, kind: 'openrouter-responses' } as const;
const KEPT = { ...OPENAI, stored: true } as const;

const call = (id: string, fields: Partial<ToolCallBlock> = {}): ToolCallBlock => ({
  type: 'tool_call',
  id,
  name: 'read',
  args: { path: 'a' },
  ...fields,
});
const result = (callId: string, content = 'A'): ToolResultBlock => ({
  type: 'tool_result',
  callId,
  name: 'read',
  content,
  isError: false,
});
const thought = (id: string, signedBy = 'openai-responses'): ThinkingBlock => ({
  type: 'thinking',
  text: 'hm',
  signature: JSON.stringify({ summary: [], id, encrypted_content: `secret ${id}` }),
  signedBy,
});

function request(fields: Partial<ChatRequest>): ChatRequest {
  return { system: '', tools: [], messages: [], maxTokens: 50, ...fields };
}

describe('the Responses request', () => {
  it('PRO-03 states instructions, flat tools that keep their schema, and what the user shows', () => {
    const body = renderResponses(
      request({
        system: 'Be brief.',
        tools: [{ name: 'read', description: 'Reads.', inputSchema: { type: 'object', properties: {} } }],
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: 'What is this?' },
              { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' },
            ],
          },
        ],
      }),
      KEPT,
    );
    expect(body).toEqual({
      model: 'm',
      stream: true,
      store: true,
      instructions: 'Be brief.',
      tools: [
        {
          type: 'function',
          name: 'read',
          description: 'Reads.',
          parameters: { type: 'object', properties: {} },
          strict: false,
        },
      ],
      max_output_tokens: 50,
      input: [
        {
          type: 'message',
          role: 'user',
          content: [
            { type: 'input_text', text: 'What is this?' },
            { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'auto' },
          ],
        },
      ],
    });
  });

  it('PRO-03 leaves out what the request does not have', () => {
    expect(renderResponses(request({}), OPENAI)).toEqual({
      model: 'm',
      stream: true,
      store: false,
      max_output_tokens: 50,
      input: [],
    });
  });

  const CONVERSATION: readonly ChatMessage[] = [
    {
      role: 'assistant',
      content: [
        thought('rs_1'),
        { type: 'text', text: 'One.' },
        call('c1'),
        call('c2', { args: null, raw: '{"p' }),
      ],
    },
    { role: 'user', content: [{ type: 'text', text: 'Hurry.' }, result('c1'), result('c2', 'E')] },
  ];

  it('PRO-03 answers each call by an output of its id, before what the user says', () => {
    expect(renderResponses(request({ messages: CONVERSATION }), OPENAI).input).toEqual([
      { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'secret rs_1' },
      {
        type: 'message',
        role: 'assistant',
        content: [{ type: 'output_text', text: 'One.', annotations: [] }],
      },
      { type: 'function_call', call_id: 'c1', name: 'read', arguments: '{"path":"a"}' },
      { type: 'function_call', call_id: 'c2', name: 'read', arguments: '{"invalid_arguments":"{\\"p"}' },
      { type: 'function_call_output', call_id: 'c1', output: 'A' },
      { type: 'function_call_output', call_id: 'c2', output: 'E' },
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hurry.' }] },
    ]);
  });

  it('PRO-06 gives what the model said the ids OpenRouter wants, and leaves foreign reasoning out', () => {
    expect(renderResponses(request({ messages: CONVERSATION }), OPENROUTER).input).toMatchObject([
      { type: 'message', role: 'assistant', id: 'msg_0', status: 'completed' },
      { type: 'function_call', id: 'fc_1', call_id: 'c1' },
      { type: 'function_call', id: 'fc_2', call_id: 'c2' },
      { type: 'function_call_output', call_id: 'c1' },
      { type: 'function_call_output', call_id: 'c2' },
      { type: 'message', role: 'user' },
    ]);
  });

  it.each([
    ['unsigned', { type: 'thinking', text: 'hm' }],
    ['signed by another kind', thought('rs_1', 'anthropic')],
    ['signed by nobody named', { type: 'thinking', text: 'hm', signature: thought('rs_1').signature }],
    ['signed with no item', { ...thought('rs_1'), signature: 'EqQBCgIYAhIM' }],
  ] as const)('PRO-03 leaves thinking out that is %s', (_name, block) => {
    const messages: ChatMessage[] = [
      { role: 'assistant', content: [block as ThinkingBlock, { type: 'text', text: 'One.' }] },
    ];
    expect(renderResponses(request({ messages }), OPENAI).input).toMatchObject([{ role: 'assistant' }]);
  });

  it('PRO-03 leaves reasoning out that nothing of its reply follows', () => {
    const messages: ChatMessage[] = [
      { role: 'assistant', content: [{ type: 'text', text: 'One.' }, thought('rs_1')] },
      { role: 'assistant', content: [thought('rs_2')] },
      { role: 'assistant', content: [thought('rs_3'), { type: 'native', by: 'anthropic', data: {} }] },
    ];
    expect(renderResponses(request({ messages }), OPENAI).input).toMatchObject([{ role: 'assistant' }]);
  });

  it.each([
    [1, 16],
    [16, 16],
    [17, 17],
  ])('PRO-03 asks for a reply of %i tokens as one of %i', (maxTokens, stated) => {
    expect(renderResponses(request({}), { ...OPENAI, maxTokens }).max_output_tokens).toBe(stated);
  });

  it('PRO-03 PRO-06 ASM-04 names the prefix to OpenAI, and the session to OpenRouter too', () => {
    const cached = request({ cache: { key: 'prefix-1', breakpoints: [-1] } });
    expect(renderResponses(cached, OPENAI)).toMatchObject({ prompt_cache_key: 'prefix-1' });
    expect(renderResponses(cached, OPENAI)).not.toHaveProperty('session_id');
    expect(renderResponses(cached, OPENROUTER)).toMatchObject({
      prompt_cache_key: 'prefix-1',
      session_id: 'prefix-1',
    });
  });
});

/** Replies and what answers them, with ids that meet again, that wires refuse, or that are none. */
const turn = fc
  .record({
    said: fc.string(),
    thinks: fc.boolean(),
    asked: fc.option(fc.string(), { nil: null }),
    ids: fc.uniqueArray(fc.constantFrom('call_0', 'call_1', 'toolu_01', 'f:0', 'x'.repeat(60), ''), {
      maxLength: 3,
    }),
  })
  .map(({ said, thinks, asked, ids }): ChatMessage[] => [
    {
      role: 'assistant',
      content: [
        ...(thinks ? [thought('rs_1')] : []),
        { type: 'text', text: said },
        ...ids.map((id) => call(id)),
      ],
    },
    {
      role: 'user',
      content: [
        ...(asked === null ? [] : [{ type: 'text' as const, text: asked }]),
        ...ids.map((id) => result(id)),
      ],
    },
  ]);
const conversation = fc.array(turn, { maxLength: 5 }).map((turns) => turns.flat());
const target = fc.constantFrom(OPENAI, OPENROUTER, KEPT);

describe('the items of any conversation', () => {
  it('PRO-03 PRO-06 put each output after the one call of its id, and answer every call', () => {
    fc.assert(
      fc.property(conversation, target, (messages, wire) => {
        const open = new Set<string>();
        const seen = new Set<string>();
        for (const item of itemsOf(messages, wire)) {
          if (item.type === 'function_call') {
            expect(seen).not.toContain(item.call_id);
            seen.add(String(item.call_id));
            open.add(String(item.call_id));
          }
          if (item.type === 'function_call_output') expect(open.delete(String(item.call_id))).toBe(true);
        }
        expect(open).toEqual(new Set());
      }),
    );
  });

  it('PRO-03 PRO-06 begin with the items of the conversation it grew from', () => {
    fc.assert(
      fc.property(conversation, conversation, target, (before, more, wire) => {
        const short = itemsOf(before, wire);
        expect(itemsOf([...before, ...more], wire).slice(0, short.length)).toEqual(short);
      }),
    );
  });

  it('PRO-10 a continued request sends only what is new, and the whole request otherwise', () => {
    fc.assert(
      fc.property(conversation, conversation, target, (before, more, wire) => {
        const whole = request({ system: 'Be brief.', messages: [...before, ...more] });
        const continued = { ...whole, continues: { responseId: 'resp_1', from: before.length, callIds: {} } };
        const body = renderResponses(whole, wire);
        expect(renderResponses(continued, wire)).toEqual(
          wire.stored
            ? {
                ...body,
                previous_response_id: 'resp_1',
                input: itemsOf(whole.messages, wire).slice(itemsOf(before, wire).length),
              }
            : body,
        );
      }),
    );
  });
});

function itemsOf(
  messages: readonly ChatMessage[],
  wire: typeof OPENAI | typeof OPENROUTER | typeof KEPT,
): readonly Readonly<Record<string, unknown>>[] {
  return renderResponses(request({ messages }), wire).input as never;
}
