import { describe, expect, it } from 'vitest';
import type { ChatReply } from '../../../src/context/request.ts';
import { type AssistantBlock, assistantBlock } from '../../../src/ledger/blocks.ts';
import type { Delta, ProviderKind } from '../../../src/providers/contract.ts';
import { ResponsesReply } from '../../../src/providers/responses/read.ts';
import { renderResponses } from '../../../src/providers/responses/render.ts';
import { readsAnything, silentWire } from './reading-law.ts';

const ORIGIN = { kind: 'openai-responses', stored: true } as const;

function read(
  events: readonly unknown[],
  origin: { readonly kind: ProviderKind; readonly stored: boolean } = ORIGIN,
  deliver: (delta: Delta) => void = () => {},
): ChatReply {
  const reply = new ResponsesReply({ ...silentWire(), deliver }, origin);
  if (!events.some((event) => reply.take(event))) throw new Error('the stream did not end');
  return reply.finish('asked-model');
}

const EMPTY_DELTA = {
  message: 'output_text',
  function_call: 'function_call_arguments',
  reasoning: 'reasoning_summary_text',
} as const;

const added = (output_index: number, item: object) => ({
  type: 'response.output_item.added',
  output_index,
  item,
});
const done = (output_index: number, item: object) => ({
  type: 'response.output_item.done',
  output_index,
  item,
});
const delta = (kind: string, output_index: number, piece: unknown, fields: object = {}) => ({
  type: `response.${kind}.delta`,
  output_index,
  delta: piece,
  ...fields,
});
const completed = (fields: object = {}) => ({
  type: 'response.completed',
  response: { id: 'resp_1', model: 'served', status: 'completed', ...fields },
});
const incomplete = (reason: unknown) => ({
  type: 'response.incomplete',
  response: { id: 'resp_1', incomplete_details: { reason } },
});
const reasoning = (fields: object = {}) => ({
  type: 'reasoning' as const,
  id: 'rs_1',
  summary: [{ type: 'summary_text', text: 'hm' }],
  encrypted_content: 'gAAA',
  ...fields,
});
const functionCall = (fields: object = {}) => ({
  type: 'function_call' as const,
  id: 'fc_1',
  call_id: 'c1',
  name: 'read',
  ...fields,
});

describe('the content of a Responses reply', () => {
  it('PRO-03 keeps the order of items whose deltas are interleaved', () => {
    const { content, finish } = read([
      added(0, functionCall({ arguments: '' })),
      added(1, functionCall({ call_id: 'c2', arguments: '' })),
      delta('function_call_arguments', 1, '{}'),
      delta('function_call_arguments', 0, '{"n"'),
      delta('function_call_arguments', 0, ':1}'),
      completed(),
    ]);
    expect(content).toEqual([
      { type: 'tool_call', id: 'c1', name: 'read', args: { n: 1 } },
      { type: 'tool_call', id: 'c2', name: 'read', args: {} },
    ]);
    expect(finish).toBe('tool_calls');
  });

  it('PRO-03 reads a refusal as text, and the parts of a message as blocks of their own', () => {
    const { content } = read([
      delta('output_text', 0, 'One.', { content_index: 0 }),
      delta('refusal', 0, 'I cannot.', { content_index: 1 }),
      completed(),
    ]);
    expect(content).toEqual([
      { type: 'text', text: 'One.' },
      { type: 'text', text: 'I cannot.' },
    ]);
  });

  it.each([
    [
      'a message',
      { type: 'message', content: [{ type: 'output_text', text: 'One.' }] },
      { type: 'text', text: 'One.' },
    ],
    [
      'a refusal',
      { type: 'message', content: [{ type: 'refusal', refusal: 'No.' }] },
      { type: 'text', text: 'No.' },
    ],
    [
      'a call',
      functionCall({ arguments: '{"n":1}' }),
      { type: 'tool_call', id: 'c1', name: 'read', args: { n: 1 } },
    ],
    ['a summary', reasoning({ encrypted_content: null }), { type: 'thinking', text: 'hm' }],
  ] as const)('PRO-03 takes %s from its finished item, where no delta came', (_name, item, block) => {
    expect(read([done(0, item), completed()]).content).toEqual([block]);
    const opened = { ...item, content: [], arguments: '' };
    const empty = delta(EMPTY_DELTA[item.type], 0, '');
    expect(read([added(0, opened), empty, done(0, item), completed()]).content).toEqual([block]);
  });

  it('PRO-03 says nothing twice that came as deltas and again in its finished item', () => {
    const deltas: string[] = [];
    const { content } = read(
      [
        delta('reasoning_summary_text', 0, 'hm'),
        done(0, reasoning({ encrypted_content: null })),
        delta('output_text', 1, 'One.', { content_index: 0 }),
        done(1, { type: 'message', content: [{ type: 'output_text', text: 'One.' }] }),
        added(2, functionCall()),
        delta('function_call_arguments', 2, '{}'),
        done(2, functionCall({ arguments: '{}' })),
        completed(),
      ],
      ORIGIN,
      ({ text }) => deltas.push(text),
    );
    expect(content).toEqual([
      { type: 'thinking', text: 'hm' },
      { type: 'text', text: 'One.' },
      { type: 'tool_call', id: 'c1', name: 'read', args: {} },
    ]);
    expect(deltas).toEqual(['hm', 'One.']);
  });

  it('PRO-03 sets the parts of a summary apart', () => {
    const part = (summary_index: number) => ({
      type: 'response.reasoning_summary_part.added',
      output_index: 0,
      summary_index,
    });
    const events = [part(0), delta('reasoning_summary_text', 0, 'One.')];
    const { content } = read([...events, part(1), delta('reasoning_summary_text', 0, 'Two.'), completed()]);
    expect(content).toEqual([{ type: 'thinking', text: 'One.\n\nTwo.' }]);
  });
});

describe('the reasoning of a Responses reply', () => {
  const blocksOf = (item: object, kind: ProviderKind = 'openai-responses'): readonly AssistantBlock[] =>
    read([done(0, item), delta('output_text', 1, 'One.'), completed()], { kind, stored: false }).content;

  it.each([
    ['PRO-03', 'openai-responses', reasoning()],
    ['PRO-03', 'openai-responses', reasoning({ summary: [] })],
    ['PRO-06', 'openrouter-responses', reasoning()],
    [
      'PRO-06',
      'openrouter-responses',
      {
        type: 'reasoning',
        id: 'rs_2',
        summary: [],
        content: [{ type: 'reasoning_text', text: 'hm' }],
        signature: 'EqQB',
        format: 'anthropic-claude-v1',
      },
    ],
  ] as const)('%s goes back to %s as the item it was', (_id, kind, item) => {
    const content = blocksOf(item, kind);
    const stored = content.map((block) => assistantBlock.parse(block));
    const { input } = renderResponses(
      { system: '', tools: [], messages: [{ role: 'assistant', content: stored }], maxTokens: 50 },
      { kind, model: 'm', maxTokens: 50, stored: false },
    );
    expect(input?.[0]).toEqual(item);
    expect(content[0]).toMatchObject({ type: 'thinking', signedBy: kind });
  });

  it('PRO-03 goes back without its status and without an empty content, which requests may not state', () => {
    const [block] = blocksOf(reasoning({ status: 'completed', content: [], other: 1 }));
    expect(block).toEqual({
      type: 'thinking',
      text: 'hm',
      signedBy: 'openai-responses',
      signature: '{"summary":[{"type":"summary_text","text":"hm"}],"id":"rs_1","encrypted_content":"gAAA"}',
    });
  });

  it.each([
    ['has no id', { id: undefined }],
    ['has nothing to read again', { encrypted_content: null }],
    ['was cut', { status: 'incomplete' }],
  ])('PRO-03 is unsigned when it %s', (_name, fields) => {
    expect(blocksOf(reasoning(fields))[0]).toEqual({ type: 'thinking', text: 'hm' });
  });
});

describe('the end of a Responses reply', () => {
  it.each([
    ['max_output_tokens', 'length'],
    ['content_filter', 'content_filter'],
    ['constructor', 'other'],
    [17, 'other'],
  ])('PRO-03 reads an incomplete reply for reason %s as %s', (reason, finish) => {
    expect(read([delta('output_text', 0, 'a'), incomplete(reason)]).finish).toBe(finish);
  });

  it('PRO-10 names a reply that the provider keeps whole, and no other', () => {
    expect(read([completed()]).responseId).toBe('resp_1');
    expect(read([completed({ store: true })]).responseId).toBe('resp_1');
    expect(read([completed({ store: false })])).not.toHaveProperty('responseId');
    expect(read([incomplete('max_output_tokens')])).not.toHaveProperty('responseId');
    expect(read([completed()], { ...ORIGIN, stored: false })).not.toHaveProperty('responseId');
  });

  it('PRO-03 counts cached tokens once, never below zero, and reasoning as part of the output', () => {
    const usage = {
      input_tokens: 10,
      input_tokens_details: { cached_tokens: 4, cache_write_tokens: 99 },
      output_tokens: 3,
      output_tokens_details: { reasoning_tokens: 2 },
    };
    expect(read([completed({ usage })]).usage).toEqual({
      inputTokens: 0,
      cacheReadTokens: 4,
      cacheWriteTokens: 6,
      outputTokens: 3,
      reasoningTokens: 2,
    });
    expect(read([completed({ usage: { input_tokens: 10, output_tokens: 3 } })]).usage).toEqual({
      inputTokens: 10,
      cacheReadTokens: 0,
      cacheWriteTokens: 0,
      outputTokens: 3,
    });
    expect(read([completed({ usage: { input_tokens: 10 } })]).usage).toBeNull();
  });

  it('PRO-03 passes over events and items of types unknown today', () => {
    const { content, model } = read([
      { type: 'response.web_search_call.searching', output_index: 0 },
      added(0, { type: 'web_search_call' }),
      done(0, { type: 'web_search_call' }),
      delta('output_text', 1, 'a'),
      completed(),
    ]);
    expect(content).toEqual([{ type: 'text', text: 'a' }]);
    expect(model).toBe('served');
  });

  it.each([
    ['without a type', {}],
    ['that is no object', 17],
    ['without its item', { type: 'response.output_text.delta', delta: 'a' }],
    ['whose text is no text', delta('output_text', 0, 17)],
    ['of arguments for no call', delta('function_call_arguments', 0, '{}')],
  ])('PRO-03 refuses an event %s', (_name, event) => {
    expect(() => read([event, completed()])).toThrow(expect.objectContaining({ name: 'MalformedReply' }));
  });

  it('PRO-03 takes any sequence of events for a storable reply or a malformed one', () => {
    readsAnything(
      [
        'response.output_item.added',
        'response.output_item.done',
        'response.output_text.delta',
        'response.reasoning_summary_text.delta',
        'response.reasoning_summary_part.added',
        'response.function_call_arguments.delta',
        'response.incomplete',
        'message',
        'reasoning',
        'function_call',
      ],
      [
        'output_index',
        'content_index',
        'item',
        'delta',
        'id',
        'call_id',
        'arguments',
        'summary',
        'content',
        'encrypted_content',
        'text',
        'response',
        'usage',
        'incomplete_details',
        'reason',
      ],
      (events) => read([...events, completed()]),
    );
  });
});
