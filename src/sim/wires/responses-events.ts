/** OpenAI Responses: a reply as a stream. https://platform.openai.com/docs/api-reference/responses-streaming */
import type {
  Response,
  ResponseFunctionToolCall,
  ResponseOutputItem,
  ResponseOutputMessage,
  ResponseReasoningItem,
  ResponseStreamEvent,
} from 'openai/resources/responses/responses';
import { type Frame, pieces } from './contract.ts';

/** `output_text` is the client's own convenience; the server does not send it. */
export type WireResponse = Omit<Response, 'output_text'>;

/** The stream numbers its events itself. */
type Unnumbered<Event> = Event extends { readonly response: Response }
  ? Omit<Event, 'response' | 'sequence_number'> & { readonly response: WireResponse }
  : Omit<Event, 'sequence_number'>;
type StreamEvent = Unnumbered<ResponseStreamEvent>;

/** Events in order, each numbered as it is added. */
export class EventList {
  readonly frames: Frame[] = [];

  add(event: StreamEvent, tokens = 0): void {
    this.#put({ ...event, sequence_number: this.frames.length }, tokens);
  }

  /**
   * An error as the server sends it, which is not as the documentation has it: nested under `error`.
   * https://github.com/anomalyco/opencode/issues/6071
   */
  addError(error: {
    readonly type: string;
    readonly code: string;
    readonly message: string;
    readonly param: string;
  }) {
    const nested = { type: 'error', sequence_number: this.frames.length, error };
    this.#put(nested, 0);
  }

  get text(): string {
    return this.frames.map((frame) => frame.text).join('');
  }

  #put(event: { readonly type: string; readonly sequence_number: number }, tokens: number): void {
    this.frames.push({ text: `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`, tokens });
  }
}

export function addItem(
  events: EventList,
  item: ResponseOutputItem,
  at: number,
  tokensOf: (text: string) => number,
): void {
  if (item.type === 'reasoning') addReasoning(events, item, at, tokensOf);
  else if (item.type === 'message') addMessage(events, item, at, tokensOf);
  else if (item.type === 'function_call') addCall(events, item, at, tokensOf);
}

type Adder<T> = (events: EventList, item: T, at: number, tokensOf: (text: string) => number) => void;

const addReasoning: Adder<ResponseReasoningItem> = (events, item, at, tokensOf) => {
  const { encrypted_content: _sealed, ...opening } = item;
  events.add({
    type: 'response.output_item.added',
    output_index: at,
    item: { ...opening, summary: [] },
  });
  for (const [index, { text }] of item.summary.entries()) {
    const place = { item_id: item.id, output_index: at, summary_index: index };
    const part = { type: 'summary_text' as const, text: '' };
    events.add({ type: 'response.reasoning_summary_part.added', ...place, part });
    for (const delta of pieces(text)) {
      events.add({ type: 'response.reasoning_summary_text.delta', ...place, delta }, tokensOf(delta));
    }
    events.add({ type: 'response.reasoning_summary_text.done', ...place, text });
    events.add({ type: 'response.reasoning_summary_part.done', ...place, part: { ...part, text } });
  }
  events.add({ type: 'response.output_item.done', output_index: at, item });
};

const addMessage: Adder<ResponseOutputMessage> = (events, item, at, tokensOf) => {
  events.add({
    type: 'response.output_item.added',
    output_index: at,
    item: { ...item, status: 'in_progress', content: [] },
  });
  for (const [index, part] of item.content.entries()) {
    if (part.type !== 'output_text') continue;
    const place = { item_id: item.id, output_index: at, content_index: index };
    events.add({ type: 'response.content_part.added', ...place, part: { ...part, text: '' } });
    for (const delta of pieces(part.text)) {
      events.add({ type: 'response.output_text.delta', ...place, delta, logprobs: [] }, tokensOf(delta));
    }
    events.add({ type: 'response.output_text.done', ...place, text: part.text, logprobs: [] });
    events.add({ type: 'response.content_part.done', ...place, part });
  }
  events.add({ type: 'response.output_item.done', output_index: at, item });
};

const addCall: Adder<ResponseFunctionToolCall> = (events, item, at, tokensOf) => {
  const place = { item_id: item.id ?? '', output_index: at };
  events.add({
    type: 'response.output_item.added',
    output_index: at,
    item: { ...item, status: 'in_progress', arguments: '' },
  });
  for (const delta of pieces(item.arguments)) {
    events.add({ type: 'response.function_call_arguments.delta', ...place, delta }, tokensOf(delta));
  }
  const { name, arguments: text } = item;
  events.add({ type: 'response.function_call_arguments.done', ...place, name, arguments: text });
  events.add({ type: 'response.output_item.done', output_index: at, item });
};
