/** One pass from the events of an Anthropic message to a reply. */
import type { ChatReply, FinishReason, Usage } from '../../context/request.ts';
import type { Wire } from '../exchange.ts';
import { MalformedReply } from '../malformed-reply.ts';
import { lookUp, record, text, tokenCount } from '../reading.ts';
import { ReplyDraft } from '../reply-draft.ts';
import { isOfSearch } from './tool-search.ts';

/** https://docs.claude.com/en/api/handling-stop-reasons */
const FINISH: Readonly<Record<string, FinishReason>> = {
  end_turn: 'stop',
  stop_sequence: 'stop',
  tool_use: 'tool_calls',
  max_tokens: 'length',
  model_context_window_exceeded: 'length',
  refusal: 'content_filter',
};

/** After so many searches of its own in one reply, 10 unless the provider changes it. */
const PAUSED = 'pause_turn';

type Fields = Readonly<Record<string, unknown>>;
type BlockKind = 'text' | 'thinking' | 'call' | 'native' | 'ignored';

export class AnthropicReply {
  readonly #draft: ReplyDraft;
  readonly #wire: Wire;
  readonly #kinds = new Map<string, BlockKind>();
  readonly #counts = new Map<string, number>();
  #model: string | null = null;
  #finish: FinishReason = 'other';
  #redacted = false;
  #thinkingTokens: number | null = null;

  constructor(wire: Wire) {
    this.#wire = wire;
    this.#draft = new ReplyDraft(wire.deliver, wire.elapsedMs);
  }

  /**
   * True at the terminal event.
   *
   * @throws MalformedReply also for a reply that the provider paused: it holds no call, so taken as it is it would end
   * the turn with half an answer, and continuing it would be a second request.
   */
  take(event: unknown): boolean {
    const fields = record(event);
    const type = fields?.type;
    if (fields === null || typeof type !== 'string')
      throw new MalformedReply('An event of the stream has no type.');
    switch (type) {
      case 'message_start':
        this.#model ??= text(record(fields.message)?.model);
        this.#count(record(fields.message)?.usage);
        return false;
      case 'content_block_start':
        this.#start(keyOf(fields), record(fields.content_block) ?? {});
        return false;
      case 'content_block_delta':
        this.#delta(keyOf(fields), record(fields.delta) ?? {});
        return false;
      case 'message_delta':
        this.#stop(record(fields.delta)?.stop_reason);
        this.#count(fields.usage);
        return false;
      default:
        // https://docs.claude.com/en/docs/build-with-claude/streaming: event types unknown today are passed over.
        return type === 'message_stop';
    }
  }

  finish(model: string): ChatReply {
    // Redacted thinking has no form in the ledger, and what is left of a signed sequence would be refused.
    if (this.#redacted) this.#draft.unsign();
    return {
      ...this.#draft.finish(this.#finish),
      usage: this.#usage(),
      model: this.#model ?? model,
      firstTokenMs: this.#draft.firstTokenMs,
      totalMs: this.#wire.elapsedMs(),
    };
  }

  #start(key: string, block: Fields): void {
    const kind = kindOf(block);
    this.#kinds.set(key, kind);
    if (block.type === 'redacted_thinking') this.#redacted = true;
    if (kind === 'text') this.#draft.write(key, 'text', stringOf(block.text ?? ''));
    if (kind === 'thinking') this.#draft.write(key, 'thinking', stringOf(block.thinking ?? ''));
    if (kind === 'thinking' && text(block.signature) !== null) {
      this.#draft.sign(key, stringOf(block.signature), 'anthropic');
    }
    if (kind === 'native') this.#draft.native(key, block, 'anthropic');
    if (kind === 'call') {
      this.#draft.call(key, text(block.id), text(block.name));
      const input = record(block.input);
      // The input streams as deltas after an empty object; servers beside Anthropic may send it here.
      if (input !== null && Object.keys(input).length > 0) this.#draft.args(key, JSON.stringify(input));
    }
  }

  #delta(key: string, delta: Fields): void {
    const kind = this.#kinds.get(key);
    if (kind === undefined) throw new MalformedReply(`A delta came for block ${key}, which never started.`);
    if (kind === 'ignored') return;
    switch (delta.type) {
      case 'text_delta':
        this.#draft.write(key, 'text', stringOf(delta.text));
        return;
      case 'thinking_delta':
        this.#draft.write(key, 'thinking', stringOf(delta.thinking));
        return;
      case 'signature_delta':
        this.#draft.sign(key, stringOf(delta.signature), 'anthropic');
        return;
      case 'input_json_delta':
        this.#draft.args(key, stringOf(delta.partial_json));
        return;
    }
  }

  #stop(reason: unknown): void {
    if (reason === PAUSED) throw new MalformedReply('The provider paused the reply before it was done.');
    if (reason !== null && reason !== undefined) this.#finish = lookUp(FINISH, reason) ?? 'other';
  }

  /** Counts are cumulative and come twice; gateways leave one of the two at 0, so the larger is the count. */
  #count(usage: unknown): void {
    for (const [name, value] of Object.entries(record(usage) ?? {})) {
      const count = tokenCount(value);
      if (count !== null) this.#counts.set(name, Math.max(count, this.#counts.get(name) ?? 0));
    }
    const details = record(record(usage)?.output_tokens_details);
    this.#thinkingTokens = tokenCount(details?.thinking_tokens) ?? this.#thinkingTokens;
  }

  /** https://docs.claude.com/en/docs/build-with-claude/prompt-caching: `input_tokens` excludes both cache tiers. */
  #usage(): Usage | null {
    const inputTokens = this.#counts.get('input_tokens');
    const outputTokens = this.#counts.get('output_tokens');
    if (inputTokens === undefined || outputTokens === undefined) return null;
    const cacheReadTokens = this.#counts.get('cache_read_input_tokens') ?? 0;
    const cacheWriteTokens = this.#counts.get('cache_creation_input_tokens') ?? 0;
    const reasoning = this.#thinkingTokens === null ? {} : { reasoningTokens: this.#thinkingTokens };
    return { inputTokens, cacheReadTokens, cacheWriteTokens, outputTokens, ...reasoning };
  }
}

function keyOf(fields: Fields): string {
  const index = tokenCount(fields.index);
  if (index === null) throw new MalformedReply('An event names no content block.');
  return String(index);
}

function kindOf(block: Fields): BlockKind {
  const { type } = block;
  if (type === 'text' || type === 'thinking') return type;
  if (type === 'tool_use') return 'call';
  return isOfSearch(block) ? 'native' : 'ignored';
}

function stringOf(value: unknown): string {
  if (typeof value !== 'string') throw new MalformedReply(`A delta is not text but ${typeof value}.`);
  return value;
}
