/** One pass from the chunks of a chat completion to a reply, with the quirks of compatible servers. */
import type { ChatReply, FinishReason, Usage } from '../../context/request.ts';
import type { Wire } from '../exchange.ts';
import { type LineVerdict, type LineWatch, PASS } from '../line-scanner.ts';
import { MalformedReply } from '../malformed-reply.ts';
import { list, lookUp, record, text, tokenCount } from '../reading.ts';
import { ReplyDraft } from '../reply-draft.ts';
import type { ChatDialect } from './dialect.ts';
import { ReasoningDetails } from './thinking.ts';

/** https://platform.openai.com/docs/api-reference/chat-streaming */
const FINISH: Readonly<Record<string, FinishReason>> = {
  stop: 'stop',
  tool_calls: 'tool_calls',
  function_call: 'tool_calls',
  length: 'length',
  content_filter: 'content_filter',
};

type Fields = Readonly<Record<string, unknown>>;

/** Ends the body at `[DONE]`, which the SDK swallows and some servers leave the connection open after. */
export class DoneWatch implements LineWatch {
  readonly framing = 'sse';
  #done = false;

  get done(): boolean {
    return this.#done;
  }

  readonly see = (line: Buffer): LineVerdict => {
    if (line.length > 16 || !/^data: ?\[DONE\]/.test(line.toString('latin1'))) return PASS;
    this.#done = true;
    return { type: 'end' };
  };
}

export class OpenAiReply {
  readonly #draft: ReplyDraft;
  readonly #wire: Wire;
  readonly #calls = new CallKeys();
  readonly #details = new ReasoningDetails();
  readonly #dialect: ChatDialect;
  readonly #asked: string;
  #model: string | null = null;
  #finish: FinishReason | null = null;
  #usage: Usage | null = null;

  /** `model` is the one asked for. */
  constructor(wire: Wire, dialect: ChatDialect, model: string) {
    this.#wire = wire;
    this.#dialect = dialect;
    this.#asked = model;
    this.#draft = new ReplyDraft(wire.deliver, wire.elapsedMs);
  }

  take(chunk: unknown): void {
    const fields = record(chunk);
    if (fields === null) throw new MalformedReply('A chunk of the stream is not an object.');
    this.#model ??= text(fields.model);
    // Some servers send running totals with every chunk; the last one counts.
    this.#usage = usageOf(fields.usage, this.#dialect) ?? this.#usage;
    const choice = record(list(fields.choices)[0]);
    if (choice === null) return;
    this.#delta(record(choice.delta) ?? {});
    const reason = choice.finish_reason;
    if (reason !== null && reason !== undefined) this.#finish = lookUp(FINISH, reason) ?? 'other';
  }

  /** A reply whose finish came, and after it `[DONE]` or the usage: anything less was cut. */
  finish(done: boolean): ChatReply {
    if (this.#finish === null || (!done && this.#usage === null)) {
      throw new MalformedReply('The stream ended before its terminal event.');
    }
    const signature = this.#details.signature(this.#asked);
    if (signature !== null) this.#draft.sign('thinking', signature, 'openrouter');
    return {
      ...this.#draft.finish(this.#finish),
      usage: this.#usage,
      model: this.#model ?? this.#asked,
      firstTokenMs: this.#draft.firstTokenMs,
      totalMs: this.#wire.elapsedMs(),
    };
  }

  #delta(delta: Fields): void {
    // https://api-docs.deepseek.com/guides/reasoning_model and https://openrouter.ai/docs/use-cases/reasoning-tokens
    this.#write('thinking', delta.reasoning_content ?? delta.reasoning);
    this.#keep(list(delta.reasoning_details));
    this.#write('text', delta.content);
    // https://platform.openai.com/docs/guides/structured-outputs#refusals: a refusal streams beside the content.
    this.#write('text', delta.refusal);
    for (const item of list(delta.tool_calls)) this.#call(record(item) ?? {});
  }

  #keep(details: readonly unknown[]): void {
    if (this.#dialect.thinking !== 'reasoning_details' || details.length === 0) return;
    this.#draft.write('thinking', 'thinking', '');
    this.#details.take(details);
  }

  #write(kind: 'text' | 'thinking', piece: unknown): void {
    if (piece === null || piece === undefined) return;
    if (typeof piece !== 'string')
      throw new MalformedReply(`A ${kind} delta is not text but ${typeof piece}.`);
    if (piece !== '') this.#draft.write(kind, kind, piece);
  }

  #call(item: Fields): void {
    const details = record(item.function) ?? {};
    const id = text(item.id);
    const name = text(details.name);
    const key = this.#calls.keyOf(item.index, id, name, (known) => this.#draft.callId(known));
    this.#sign(key, item);
    this.#draft.call(key, id, name);
    const args = details.arguments;
    if (args === null || args === undefined) return;
    // Some servers send the whole object instead of its text.
    this.#draft.args(key, typeof args === 'string' ? args : JSON.stringify(args));
  }

  /** https://ai.google.dev/gemini-api/docs/thought-signatures: kept as thinking that stands in front of the call. */
  #sign(key: string, item: Fields): void {
    if (this.#dialect.thinking !== 'thought_signature') return;
    const place = `signature of ${key}`;
    this.#draft.write(place, 'thinking', '');
    const signature = text(record(record(item.extra_content)?.google)?.thought_signature);
    if (signature !== null) this.#draft.sign(place, signature, 'google');
  }
}

/**
 * Which call a delta continues. By its index; but some compatible servers send none, or 0 for every call, and
 * then a new id with a name begins a new call.
 */
class CallKeys {
  readonly #keys = new Map<number, string>();
  #last: string | null = null;
  #count = 0;

  keyOf(
    index: unknown,
    id: string | null,
    name: string | null,
    idOf: (key: string) => string | null,
  ): string {
    const position = tokenCount(index);
    const known = position === null ? this.#last : (this.#keys.get(position) ?? null);
    const differs = known !== null && id !== null && name !== null && idOf(known) !== id;
    const key = known === null || differs ? this.#begin() : known;
    if (position !== null) this.#keys.set(position, key);
    this.#last = key;
    return key;
  }

  #begin(): string {
    this.#count += 1;
    return `call ${this.#count}`;
  }
}

/** https://platform.openai.com/docs/guides/prompt-caching: `prompt_tokens` includes what the cache gave. */
function usageOf(value: unknown, { countsThinkingApart }: ChatDialect): Usage | null {
  const usage = record(value);
  const promptTokens = tokenCount(usage?.prompt_tokens);
  const completionTokens = tokenCount(usage?.completion_tokens);
  if (promptTokens === null || completionTokens === null) return null;
  const details = record(usage?.prompt_tokens_details);
  // https://api-docs.deepseek.com/guides/kv_cache names it its own way.
  const cached = tokenCount(details?.cached_tokens) ?? tokenCount(usage?.prompt_cache_hit_tokens) ?? 0;
  const cacheReadTokens = Math.min(cached, promptTokens);
  const cacheWriteTokens = Math.min(
    tokenCount(details?.cache_write_tokens) ?? 0,
    promptTokens - cacheReadTokens,
  );
  const total = countsThinkingApart ? (tokenCount(usage?.total_tokens) ?? 0) : 0;
  const outputTokens = Math.max(completionTokens, total - promptTokens);
  const reasoningTokens =
    tokenCount(record(usage?.completion_tokens_details)?.reasoning_tokens) ??
    (outputTokens > completionTokens ? outputTokens - completionTokens : null);
  return {
    inputTokens: promptTokens - cacheReadTokens - cacheWriteTokens,
    cacheReadTokens,
    cacheWriteTokens,
    outputTokens,
    ...(reasoningTokens === null ? {} : { reasoningTokens: Math.min(reasoningTokens, outputTokens) }),
  };
}
