/** One pass from the lines of an Ollama chat to a reply. */
import type { ChatReply, FinishReason, Usage } from '../../context/request.ts';
import type { Wire } from '../exchange.ts';
import { type LineVerdict, type LineWatch, PASS } from '../line-scanner.ts';
import { MalformedReply } from '../malformed-reply.ts';
import { list, lookUp, record, text, tokenCount } from '../reading.ts';
import { ReplyDraft } from '../reply-draft.ts';

/** https://docs.ollama.com/api/chat */
const FINISH: Readonly<Record<string, FinishReason>> = { stop: 'stop', length: 'length' };
const NANOSECONDS_PER_MS = 1_000_000;

/**
 * Reads each line before the SDK, which prints lines that are no JSON to the console and skips them, and
 * rewords error lines into plain errors.
 */
export class ChatWatch implements LineWatch {
  readonly framing = 'ndjson';
  #error: unknown;

  /** The error line of a stream that began with 200: https://docs.ollama.com/api/errors. */
  get error(): unknown {
    return this.#error;
  }

  readonly see = (line: Buffer): LineVerdict => {
    const chunk = record(parsed(line));
    if (chunk === null) return { type: 'fault', message: 'A line of the stream is not a JSON object.' };
    if ('error' in chunk) this.#error = chunk;
    return chunk.done === true ? { type: 'end' } : PASS;
  };
}

export class OllamaReply {
  readonly #draft: ReplyDraft;
  readonly #wire: Wire;
  #calls = 0;

  constructor(wire: Wire) {
    this.#wire = wire;
    this.#draft = new ReplyDraft(wire.deliver, wire.elapsedMs);
  }

  /** The reply, at the chunk that says `done`. */
  take(chunk: unknown, model: string): ChatReply | null {
    const fields = record(chunk);
    if (fields === null) throw new MalformedReply('A line of the stream is not an object.');
    const message = record(fields.message) ?? {};
    this.#write('thinking', message.thinking);
    this.#write('text', message.content);
    for (const call of list(message.tool_calls)) this.#call(record(call) ?? {});
    return fields.done === true ? this.#finish(fields, model) : null;
  }

  #write(kind: 'text' | 'thinking', piece: unknown): void {
    if (piece === null || piece === undefined) return;
    if (typeof piece !== 'string')
      throw new MalformedReply(`A ${kind} delta is not text but ${typeof piece}.`);
    if (piece !== '') this.#draft.write(kind, kind, piece);
  }

  /** Calls come whole, most without an id. */
  #call(call: Readonly<Record<string, unknown>>): void {
    const details = record(call.function) ?? {};
    const key = `call ${this.#calls}`;
    this.#calls += 1;
    this.#draft.call(key, text(call.id), text(details.name));
    const args = details.arguments ?? {};
    this.#draft.args(key, typeof args === 'string' ? args : JSON.stringify(args));
  }

  #finish(last: Readonly<Record<string, unknown>>, model: string): ChatReply {
    const totalMs = this.#wire.elapsedMs();
    const stated = lookUp(FINISH, last.done_reason ?? 'stop') ?? 'other';
    return {
      ...this.#draft.finish(stated),
      usage: usageOf(last),
      model: text(last.model) ?? model,
      firstTokenMs: prefillMs(last.prompt_eval_duration, totalMs) ?? this.#draft.firstTokenMs,
      totalMs,
    };
  }
}

/** This wire counts the whole prompt and has no cache tiers; 0 is left out, as is an unknown count. */
function usageOf(last: Readonly<Record<string, unknown>>): Usage | null {
  const inputTokens = tokenCount(last.prompt_eval_count);
  const outputTokens = tokenCount(last.eval_count) ?? 0;
  if (inputTokens === null || inputTokens === 0) return null;
  return { inputTokens, cacheReadTokens: 0, cacheWriteTokens: 0, outputTokens };
}

/** The server's own prefill time, which loading the model and waiting for a slot do not distort. */
function prefillMs(durationNs: unknown, totalMs: number): number | null {
  if (typeof durationNs !== 'number' || !(durationNs > 0)) return null;
  const ms = Math.round(durationNs / NANOSECONDS_PER_MS);
  return ms >= 1 && ms <= totalMs ? ms : null;
}

function parsed(line: Buffer): unknown {
  try {
    return JSON.parse(line.toString('utf8'));
  } catch {
    return null;
  }
}
