/** One pass from the events of a Responses stream to a reply. */
import type { ChatReply, FinishReason, Usage } from '../../context/request.ts';
import type { ProviderKind } from '../contract.ts';
import type { Wire } from '../exchange.ts';
import { MalformedReply } from '../malformed-reply.ts';
import { list, lookUp, record, text, tokenCount } from '../reading.ts';
import { ReplyDraft } from '../reply-draft.ts';
import { reasoningText, signatureOf } from './reasoning-item.ts';
import { ReportedError } from './reported-error.ts';

/** https://platform.openai.com/docs/api-reference/responses/object#responses/object-incomplete_details */
const INCOMPLETE: Readonly<Record<string, FinishReason>> = {
  max_output_tokens: 'length',
  content_filter: 'content_filter',
};

type Fields = Readonly<Record<string, unknown>>;

interface Origin {
  readonly kind: ProviderKind;
  /** The request asked the provider to keep the reply. */
  readonly stored: boolean;
}

export class ResponsesReply {
  readonly #draft: ReplyDraft;
  readonly #wire: Wire;
  readonly #origin: Origin;
  /** Parts that came as deltas; of the others the finished item is the only word. */
  readonly #heard = new Set<string>();
  #model: string | null = null;
  #finish: FinishReason = 'other';
  #usage: Usage | null = null;
  #responseId: string | null = null;

  constructor(wire: Wire, origin: Origin) {
    this.#wire = wire;
    this.#origin = origin;
    this.#draft = new ReplyDraft(wire.deliver, wire.elapsedMs);
  }

  /** True at the terminal event. */
  take(event: unknown): boolean {
    const fields = record(event);
    const type = fields?.type;
    if (fields === null || typeof type !== 'string')
      throw new MalformedReply('An event of the stream has no type.');
    switch (type) {
      case 'response.output_item.added':
        this.#open(keyOf(fields), record(fields.item) ?? {});
        return false;
      case 'response.output_text.delta':
      case 'response.refusal.delta':
        this.#write(partKey(keyOf(fields), fields.content_index), 'text', fields.delta);
        return false;
      case 'response.reasoning_summary_part.added':
        if (this.#heard.has(keyOf(fields))) this.#write(keyOf(fields), 'thinking', '\n\n');
        return false;
      case 'response.reasoning_summary_text.delta':
      case 'response.reasoning_text.delta':
        this.#write(keyOf(fields), 'thinking', fields.delta);
        return false;
      case 'response.function_call_arguments.delta':
        this.#args(keyOf(fields), fields.delta);
        return false;
      case 'response.output_item.done':
        this.#close(keyOf(fields), record(fields.item) ?? {});
        return false;
      default:
        return this.#ends(type, fields);
    }
  }

  finish(model: string): ChatReply {
    return {
      ...this.#draft.finish(this.#finish),
      usage: this.#usage,
      model: this.#model ?? model,
      ...(this.#responseId === null ? {} : { responseId: this.#responseId }),
      firstTokenMs: this.#draft.firstTokenMs,
      totalMs: this.#wire.elapsedMs(),
    };
  }

  /** https://platform.openai.com/docs/api-reference/responses-streaming; other types of event are passed over. */
  #ends(type: string, fields: Fields): boolean {
    const response = record(fields.response) ?? {};
    this.#model ??= text(response.model);
    switch (type) {
      case 'response.completed':
        this.#finish = 'stop';
        this.#responseId = this.#keptId(response);
        break;
      case 'response.incomplete':
        this.#finish = lookUp(INCOMPLETE, record(response.incomplete_details)?.reason) ?? 'other';
        break;
      case 'response.failed':
        throw new ReportedError({ ...record(response.error), error_type: response.error_type });
      case 'error':
        throw new ReportedError({ code: fields.code, message: fields.message });
      default:
        return false;
    }
    this.#usage = usageOf(response.usage);
    return true;
  }

  /** An organisation without data retention has nothing kept, whatever it asked for, and the response says so. */
  #keptId(response: Fields): string | null {
    return this.#origin.stored && response.store !== false ? text(response.id) : null;
  }

  /** Takes the call's place in the reply before its first delta. */
  #open(key: string, item: Fields): void {
    if (item.type === 'function_call') this.#draft.call(key, text(item.call_id), text(item.name));
  }

  /** Some servers send an item whole, without deltas. */
  #close(key: string, item: Fields): void {
    switch (item.type) {
      case 'message':
        list(item.content).forEach((part, index) => {
          const fields = record(part);
          this.#fill(partKey(key, index), 'text', text(fields?.text) ?? text(fields?.refusal));
        });
        return;
      case 'function_call':
        this.#draft.call(key, text(item.call_id), text(item.name));
        if (!this.#heard.has(key) && text(item.arguments) !== null) this.#args(key, item.arguments);
        return;
      case 'reasoning': {
        this.#fill(key, 'thinking', reasoningText(item));
        const signature = signatureOf(item);
        if (signature !== null) this.#draft.sign(key, signature, this.#origin.kind);
        return;
      }
    }
  }

  #fill(key: string, kind: 'text' | 'thinking', whole: string | null): void {
    if (whole !== null && !this.#heard.has(key)) this.#write(key, kind, whole);
  }

  #write(key: string, kind: 'text' | 'thinking', piece: unknown): void {
    this.#draft.write(key, kind, stringOf(piece));
    if (piece !== '') this.#heard.add(key);
  }

  #args(key: string, piece: unknown): void {
    this.#draft.args(key, stringOf(piece));
    if (piece !== '') this.#heard.add(key);
  }
}

function keyOf(fields: Fields): string {
  const index = tokenCount(fields.output_index);
  if (index === null) throw new MalformedReply('An event names no output item.');
  return String(index);
}

function partKey(itemKey: string, contentIndex: unknown): string {
  return `${itemKey}.${tokenCount(contentIndex) ?? 0}`;
}

function stringOf(value: unknown): string {
  if (typeof value !== 'string') throw new MalformedReply(`A delta is not text but ${typeof value}.`);
  return value;
}

/** https://platform.openai.com/docs/guides/prompt-caching: `input_tokens` includes what the cache gave and took. */
function usageOf(value: unknown): Usage | null {
  const usage = record(value);
  const promptTokens = tokenCount(usage?.input_tokens);
  const outputTokens = tokenCount(usage?.output_tokens);
  if (promptTokens === null || outputTokens === null) return null;
  const details = record(usage?.input_tokens_details);
  const cacheReadTokens = Math.min(tokenCount(details?.cached_tokens) ?? 0, promptTokens);
  const uncachedTokens = promptTokens - cacheReadTokens;
  const cacheWriteTokens = Math.min(tokenCount(details?.cache_write_tokens) ?? 0, uncachedTokens);
  const reasoningTokens = tokenCount(record(usage?.output_tokens_details)?.reasoning_tokens);
  return {
    inputTokens: uncachedTokens - cacheWriteTokens,
    cacheReadTokens,
    cacheWriteTokens,
    outputTokens,
    ...(reasoningTokens === null ? {} : { reasoningTokens: Math.min(reasoningTokens, outputTokens) }),
  };
}
